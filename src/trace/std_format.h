// RAPID's STD text, extended by us: one event a line, thread|op(target)|location.
//
//   line     := comment | event
//   comment  := '#' anything                       (no event; does not count)
//   event    := thread '|' op '(' target ')' '|' location
//             | thread '|' op '|' location          (begin, end, enter, exit: no label;
//                                                    thread_start, thread_stop: always)
//   thread   := what is before the first '|', not empty
//   target   := from the first '(' to the last ')' before the next '|'; empty only where the
//               form without parentheses is allowed
//   location := the rest of the line; empty or 0 when unknown
//
// Lines end in \n or \r\n, the last one may lack it. Blank lines are allowed only after the last
// event: elsewhere they are more likely a damaged file. A new name must be printable.
//
// Ours, beside those of contract.md: thread_start, thread_stop, alloc, free, enter, exit. The words
// are kEventKindNames.

#pragma once

#include <memory>
#include <string>

#include "event/result.h"
#include "trace/bytes.h"
#include "trace/sink.h"
#include "trace/source.h"

namespace syndrome::trace {

[[nodiscard]] std::unique_ptr<Source> read_std(std::unique_ptr<ByteSource> bytes);

/// Writes to `path`, or to standard output when that is "-". A file appears under its name, whole,
/// at close(); what is not a plain file (a device, a pipe) is written to directly.
///
/// A name that STD has no room for (with '|', a character that acts on the display (event/clean.h),
/// a byte that is not UTF-8 or, for threads, a '#' in front) is written with %7C and the like in
/// its place; an empty one as %. Should that make two names of one kind equal, append() fails.
[[nodiscard]] Result<std::unique_ptr<Sink>> write_std(const std::string& path);

}  // namespace syndrome::trace
