#pragma once

namespace syndrome::rt {

/// Becomes `syndrome run` when SYNDROME_OPTIONS asks for it; returns otherwise. For a process that
/// nothing records, before main().
void start_tool(int count, char** arguments, char** environment);

}  // namespace syndrome::rt
