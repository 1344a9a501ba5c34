// Traces with the shape of the programs in Tables 1 and 2 of the AeroDrome paper (Mathur and
// Viswanathan, ASPLOS 2020), whose own traces are hundreds of millions of events long and were not
// published with it.
//
// Taken from the table: threads, locks, and, scaled with the events, variables and transactions.
// What the paper does not say, and what we chose instead:
//
//   scopes      One tenth of a thread's events are outside of blocks. A block that has room for it
//               contains one lock scope, with 1 to 16 accesses to variables of that lock; all other
//               accesses are to variables of the thread's own. Half of the variables belong to
//               locks (fewer where blocks are few), the others to threads; 30% of the accesses are
//               writes. Where there are no blocks, lock scopes stand alone. So the trace is atomic:
//               ordering the transactions by their acquires is a serial order.
//   violation   One block reads and then writes a variable that another thread writes in between.
//               Where: the paper gives no position, but a time, and AeroDrome's time grows with the
//               events that it has seen. Its atomic rows give the rate: raytracer 0.84 and fop 1.04
//               million events a second, together 0.84. So the event is AeroDrome's seconds times
//               kPaperRate, or 95% of our trace where that is less. For avrora that is event 1.3
//               million; the paper says that 393,000 transactions come before its violation, which
//               at 4.8 events each is 1.9 million.
//   old blocks  On some programs the paper's Velodrome timed out or was many times slower, because
//               transactions accumulated in its graph: nothing is collected that an open block
//               reaches. For those rows, the first thread is in one block from beginning to end and
//               every other thread reads what that block has written.
//
// The same row and limit give the same events on every machine.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/source.h"

namespace syndrome::bench {

struct PaperRow {
  std::string_view name;
  int table;  // 1: specifications of DoubleChecker; 2: every method but main and run is a block
  std::string_view events_text;
  std::uint64_t events;
  std::uint32_t threads;
  std::uint32_t locks;
  std::uint64_t variables;
  std::uint64_t transactions;
  bool atomic;
  bool old_block;                   // see above
  std::optional<double> velodrome;  // seconds; none: over 10 hours
  double aerodrome;                 // seconds
  std::string_view speed_up;
};

[[nodiscard]] std::span<const PaperRow> paper_rows();

/// Events that the paper's AeroDrome passes in a second.
inline constexpr double kPaperRate = 840'000;

/// What a row becomes with at most `limit` events.
struct PaperShape {
  std::uint64_t events = 0;  // less a few for whole forks, joins and the violation
  std::uint32_t threads = 1;
  std::uint32_t locks = 1;
  std::uint32_t variables = 1;
  std::uint64_t transactions = 0;
  std::uint64_t violation = 0;  // about the event at which it is complete; 0: atomic
  bool old_block = false;
};
[[nodiscard]] PaperShape scaled(const PaperRow& row, std::uint64_t limit);

class PaperSource : public trace::Source {
 public:
  explicit PaperSource(const PaperShape& shape);
  ~PaperSource() override;

  [[nodiscard]] Result<Batch> next() override;
  [[nodiscard]] const Names& names() const override;
  [[nodiscard]] trace::Progress progress() const override;
  [[nodiscard]] const std::vector<std::string>& warnings() const override;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace syndrome::bench
