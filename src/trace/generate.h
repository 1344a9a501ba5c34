// Traces made to measure, so that figures compare: `syndrome trace generate`.
//
// The shape. Thread T0 forks all others first and joins them last; all of them work. The work of a
// thread is one lock scope after another: nine in ten are blocks, `begin acq … rel end`, one in ten
// is `acq … rel` outside of blocks. A scope has 4 to 16 accesses, uniformly, to variables of its
// lock; 30% are writes. Lock L of n owns the variables from L*v/n up to (L+1)*v/n. Which thread
// makes the next event is uniform among those that are not waiting for a lock.
//
// A scope is a call of one of 130 functions (26 outside of blocks), whose sites have consecutive
// ids and whose reads and writes are fixed, as in a program; the lock and the variables are those
// of the object that it is called on.
//
// Why it is clean: every event of a scope that can conflict lies between its acquire and release,
// so ordering the transactions by their acquires is a serial order.
//
// A planted violation is a check-then-act on a variable and a lock of its own (named P0, PL0), with
// sites of its own, so that it is found as one finding and blames no other block:
//
//   A: begin(planted_0) acq(PL0) r(P0) rel(PL0)                  acq(PL0) w(P0) rel(PL0) end
//   B:                                   acq(PL0) w(P0) rel(PL0)
//
// B's scope is outside of blocks. All accesses are locked: there is no data race.
//
// The same options give the same events on every machine.

#pragma once

#include <cstdint>
#include <memory>

#include "event/result.h"
#include "trace/source.h"

namespace syndrome::trace {

struct GenerateOptions {
  std::uint64_t events = 1'000'000;  // exactly so many
  std::uint32_t threads = 8;
  std::uint32_t variables = 10'000;  // without those of planted violations
  std::uint32_t locks = 100;         // likewise
  std::uint64_t seed = 1;
  std::uint32_t violations = 0;
};

// Beyond any use, and small enough that the names fit into memory (about 2 GB at the limits).
inline constexpr std::uint64_t kMaxGeneratedEvents = 1'000'000'000'000;
inline constexpr std::uint32_t kMaxGeneratedThreads = 1'000'000;
inline constexpr std::uint32_t kMaxGeneratedVariables = 50'000'000;
inline constexpr std::uint32_t kMaxGeneratedViolations = 1'000'000;

class GeneratedSource : public Source {
 public:
  /// An error when no trace is like that, saying which option to change.
  [[nodiscard]] static Result<std::unique_ptr<GeneratedSource>> make(
      const GenerateOptions& options);

  ~GeneratedSource() override;

  [[nodiscard]] Result<Batch> next() override;
  /// All names, from the start, in natural order: T0, T1, …; V0, …; L0, ….
  [[nodiscard]] const Names& names() const override;
  /// In events.
  [[nodiscard]] Progress progress() const override;
  [[nodiscard]] const std::vector<std::string>& warnings() const override;

 private:
  class State;
  explicit GeneratedSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace syndrome::trace
