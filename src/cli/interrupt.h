// Ctrl-C asks a long command to come to an end and report; a second one ends it at once.

#pragma once

#include <chrono>

namespace syndrome::cli {

/// From here on the first SIGINT only asks.
void catch_interrupt();

/// Likewise the first SIGTERM and the first SIGHUP, for a command with something to clean up or to
/// say. interrupted() says so `grace` later: time to find something that can be said.
void catch_ending(std::chrono::milliseconds grace = std::chrono::milliseconds(0));

/// As if a signal had come now.
void end_soon();

[[nodiscard]] bool interrupted();

}  // namespace syndrome::cli
