// What the programs of this folder share. Each re-creates a program that Hammer, Dolby, Vaziri and
// Tip tried their analysis on (ICSE 2008), from what is known of it and its bug: run without
// arguments it has the bug, and the schedule in which it shows is forced; as `PROGRAM free` it has
// the bug and runs as it comes, as `PROGRAM fixed` it does the same without the bug.
//
// Turns are bytes through a pipe: nothing that a tool sees.

#pragma once

#include <syndrome/syndrome.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

namespace twins {

struct State {
  bool forced = false;
  int go[2] = {};    // from the one who is interrupted
  int back[2] = {};  // and to it
};

SYNDROME_NO_PROBES inline State& state() {
  static State state;
  return state;
}

/// At the begin of main.
SYNDROME_NO_PROBES inline bool start(int argc, char** argv) {
  State& own = state();
  own.forced = argc < 2;
  if (pipe(own.go) != 0 || pipe(own.back) != 0) std::abort();
  return argc > 1 && std::strcmp(argv[argc - 1], "fixed") == 0;
}

/// In the middle of what ought to be one: the first time, another thread's interrupting() runs
/// here.
SYNDROME_NO_PROBES inline void interrupted() {
  State& own = state();
  static thread_local bool once = false;
  if (!own.forced || once) return;
  once = true;
  char byte = 0;
  if (write(own.go[1], "g", 1) != 1 || read(own.back[0], &byte, 1) != 1) std::abort();
}

/// Begins and ends what comes in between.
SYNDROME_NO_PROBES inline void wait_for_turn() {
  char byte = 0;
  if (state().forced && read(state().go[0], &byte, 1) != 1) std::abort();
}
SYNDROME_NO_PROBES inline void turn_over() {
  if (state().forced && write(state().back[1], "b", 1) != 1) std::abort();
}

}  // namespace twins
