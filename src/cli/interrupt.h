// Ctrl-C asks a long command to come to an end and report; a second one ends it at once.

#pragma once

namespace syndrome::cli {

/// From here on the first SIGINT only sets a flag.
void catch_interrupt();

[[nodiscard]] bool interrupted();

}  // namespace syndrome::cli
