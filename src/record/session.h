// The folder through which programs and their recorder speak (runtime/session.h), from the
// recorder's side.

#pragma once

#include <cstdint>
#include <string>

#include "event/result.h"
#include "runtime/session.h"

namespace syndrome::record {

/// What the operating system says about an errno value.
[[nodiscard]] std::string system_text(int error);

class Session {
 public:
  /// In memory (/dev/shm) where there is room for a few rings, else where temporary files go, or in
  /// the current directory when nothing else can be written.
  /// `ring_words` is a power of two.
  [[nodiscard]] static Result<Session> create(std::uint64_t ring_words, rt::Order order,
                                              sieve::Checked checked);

  Session(Session&& other) noexcept;
  Session& operator=(Session&& other) noexcept = delete;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();  // unmaps; the folder stays for whoever calls remove()

  [[nodiscard]] rt::SessionHeader& header() { return *header_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

  /// Deletes the folder. Programs that have mapped their rings keep them.
  void remove();

 private:
  Session(std::string folder, rt::SessionHeader* header)
      : folder_(std::move(folder)), header_(header) {}

  std::string folder_;
  rt::SessionHeader* header_ = nullptr;
};

}  // namespace syndrome::record
