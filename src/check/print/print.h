// The analysis that shows what an analysis is: one handler for each kind of event, each of which
// appends the event's STD line ("T1|r(x)|a.cc:3") to a text.

#pragma once

#include <memory>
#include <string>

#include "check/analysis.h"
#include "check/check.h"
#include "event/event.h"
#include "event/names.h"

namespace syndrome::check {

/// Appends `thread|op(target)|site`, without an end of line. An unknown site is "0".
void append_std(std::string& text, const Event& event, const Names& names);

class Print : public EventHandlers {
 public:
  /// `numbered`: each line begins with the event's number and a tab.
  explicit Print(bool numbered = false) : numbered_(numbered) {}

  /// Appends a line for each event of the batch to text().
  void take(const Batch& batch, const Names& names);

  /// What was printed since the caller last cleared it.
  [[nodiscard]] std::string& text() { return text_; }

  void on_read(const Event& e, EventNumber n) { line(e, n); }
  void on_write(const Event& e, EventNumber n) { line(e, n); }
  void on_rmw(const Event& e, EventNumber n) { line(e, n); }
  void on_acquire(const Event& e, EventNumber n) { line(e, n); }
  void on_release(const Event& e, EventNumber n) { line(e, n); }
  void on_acquire_shared(const Event& e, EventNumber n) { line(e, n); }
  void on_release_shared(const Event& e, EventNumber n) { line(e, n); }
  void on_fork(const Event& e, EventNumber n) { line(e, n); }
  void on_join(const Event& e, EventNumber n) { line(e, n); }
  void on_begin(const Event& e, EventNumber n) { line(e, n); }
  void on_end(const Event& e, EventNumber n) { line(e, n); }
  void on_barrier_arrive(const Event& e, EventNumber n) { line(e, n); }
  void on_barrier_leave(const Event& e, EventNumber n) { line(e, n); }
  void on_post(const Event& e, EventNumber n) { line(e, n); }
  void on_wait(const Event& e, EventNumber n) { line(e, n); }
  void on_cond_wait(const Event& e, EventNumber n) { line(e, n); }
  void on_cond_signal(const Event& e, EventNumber n) { line(e, n); }
  void on_cond_broadcast(const Event& e, EventNumber n) { line(e, n); }
  void on_thread_start(const Event& e, EventNumber n) { line(e, n); }
  void on_thread_stop(const Event& e, EventNumber n) { line(e, n); }
  void on_alloc(const Event& e, EventNumber n) { line(e, n); }
  void on_free(const Event& e, EventNumber n) { line(e, n); }
  void on_enter(const Event& e, EventNumber n) { line(e, n); }
  void on_exit(const Event& e, EventNumber n) { line(e, n); }
  void on_fence(const Event& e, EventNumber n) { line(e, n); }
  void on_happens_before(const Event& e, EventNumber n) { line(e, n); }
  void on_happens_after(const Event& e, EventNumber n) { line(e, n); }
  void on_nested(const Event& e, EventNumber n) { line(e, n); }

 private:
  void line(const Event& event, EventNumber number);

  bool numbered_;
  const Names* names_ = nullptr;  // of the batch being taken
  std::string text_;
};

/// Print as a check that can be asked for by name; it is always clean, and prints numbered lines to
/// Options::out.
[[nodiscard]] std::unique_ptr<Check> make_print(const Options& options);

}  // namespace syndrome::check
