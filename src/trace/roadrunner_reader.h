// RoadRunner's text log, as its Print tool writes it between the program's own output.
//
//   @ Enter(0,test/Test.run()V) from Test.java:3:1
//   @   Rd(0,@05.test/Test.x_I)[1]  kind  Test.java:12:5
//   @ Start(0,1)
//
// A line that begins with '@' and goes on with Word( is an event; other lines are skipped. The
// thread is a number, up to the first comma; the target goes on to the parenthesis that closes the
// first one (targets are balanced: f(II)V), or to the last one of the line when none does. What
// follows is not parsed, but for the site: the last word, if it ends in :line or :line:column.
//
// The Print tool writes Start, Join, Wait and Notify twice, before and after the call. When the
// next event of a thread repeats its last one, then
//   Start    the first counts: the child's events come behind it
//   Join     the second counts: the child's events come before it. As soon as one Start of the log
//            was doubled, a first Join is passed over for that reason; in other logs it counts
//   Wait     the first is the release of the lock, the second the wait and the acquire
//   Notify   the first counts
// Of events that no check of ours uses (Sleep, Interrupt, ClassInited, …) a warning tells how many
// were passed over. An unknown event is an error.

#pragma once

#include <memory>
#include <string_view>

#include "trace/bytes.h"
#include "trace/source.h"

namespace syndrome::trace {

[[nodiscard]] std::unique_ptr<Source> read_roadrunner(std::unique_ptr<ByteSource> bytes);

/// Whether a line among the first of a file is an event of this format.
[[nodiscard]] bool looks_like_roadrunner(std::string_view head);

}  // namespace syndrome::trace
