// A trace that the user named: a file, or "-" for standard input. Knows its format by content,
// opens gzip and zstd files as they are, and can be opened again for a second pass.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "event/result.h"
#include "trace/source.h"

namespace syndrome::trace {

enum class Format : std::uint8_t { kSyn, kStd, kCsv, kRoadRunner };

[[nodiscard]] std::string_view name_of(Format format);  // "syn", "std", "csv", "roadrunner"

struct ReadOptions {
  /// Threads that read, the caller's included: with 1, no other is started. 0: as many as cores.
  unsigned jobs = 0;
};

class Input {
 public:
  /// Looks at the first bytes. Standard input is copied to an unlinked temporary file while it is
  /// read for the first time, so that it can be opened again.
  [[nodiscard]] static Result<Input> open(const std::string& path, ReadOptions options = {});

  Input(Input&&) noexcept;
  Input& operator=(Input&&) noexcept;
  ~Input();

  /// A new source at the first event. May be called again once the source before is gone.
  [[nodiscard]] Result<std::unique_ptr<Source>> read();

  [[nodiscard]] Format format() const;
  [[nodiscard]] const std::string& path() const;
  /// Whether it is the recording of a program, as `syndrome record` makes it.
  [[nodiscard]] Result<bool> is_recorded();
  [[nodiscard]] std::uint64_t bytes() const;  // as stored; 0 when unknown

 private:
  struct State;
  explicit Input(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace syndrome::trace
