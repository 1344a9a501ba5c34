// `syndrome record`: runs a program with a recorder beside it.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "record/taker.h"
#include "runtime/session.h"

namespace syndrome::record {

struct Options {
  std::string output;
  std::vector<std::string> command;   // the program and its arguments; not empty
  std::uint64_t buffer = 512u << 10;  // bytes for each thread; a power of two
  rt::Order order = rt::Order::kFeasible;
  bool quiet = false;
  /// A process's trace ends where it would become larger, and the process goes on; 0: no limit.
  std::uint64_t most_bytes = 0;
  std::optional<std::uint64_t> noise;  // its seed (runtime/noise.h); none: no noise
  /// Takes the words instead of a trace; empty: none. Then `output` is what it writes.
  MakeTaker make_taker;
  sieve::Checked checked =
      sieve::Checked::kNothing;  // what it wants to know, when the program can tell
  /// Of a process that runs long only the end is kept, and windows (runtime/live.h): `output`.w1, …
  bool flight = false;
  std::uint32_t window_every = 0;  // for tests: each thread asks for one after so many lines
  bool ignore_pipe = false;      // the program starts with SIGPIPE ignored
  /// Called before the program starts, while no signal comes: may set handlers for those that come
  /// when it has ended. Without a gap: until then, they are passed on to it.
  std::function<void()> set_handlers;
};

struct Ended {
  /// The program's exit code, or 128 + the signal that killed it; 126 or 127 when it cannot be run,
  /// as shells have it; 2, without running it, when another recording writes to the output.
  int exit_code = 0;
  bool killed = false;        // by a signal
  bool asked_to_end = false;  // somebody has sent us, or us as well, SIGINT, SIGTERM or SIGHUP
  bool in_a_hurry = false;    // SIGTERM or SIGHUP, or one more when the program had ended
};

/// Messages go to standard error. Signals are as they were before when it returns, or as
/// `set_handlers` has set them.
[[nodiscard]] Ended record(const Options& options);

}  // namespace syndrome::record
