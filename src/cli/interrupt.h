// Ctrl-C asks a long command to come to an end and report; a second one ends it at once.

#pragma once

namespace syndrome::cli {

/// From here on the first SIGINT only sets a flag.
void catch_interrupt();

/// Likewise the first SIGTERM and the first SIGHUP, for a command with something to clean up.
void catch_ending();

[[nodiscard]] bool interrupted();

}  // namespace syndrome::cli
