// RAPID's CSV: one column for each thread, one event in each row.
//
//   T1,T2,T3          a header, optional: a first row in which no cell has a '('
//   r(x),,
//   ,w(x),
//   start(T2),,
//   ,,sync(l)         acquire, read, write, release of l
//
// Operations: r w acq rel start (or fork) join sync; the format has no blocks. Without a header the
// threads are T1, T2, … by column. Cells may be quoted ("r(a[1,2])") and may have blanks around
// them. A row may have fewer cells than the first, never more. Rows without an event are allowed
// only after the last one.
//
// The site of an event is its row as a person finds it in an editor or spreadsheet, "row 12",
// counted from 1 with the header. That is a name for each row, which traces of this format, written
// by hand, can afford.

#pragma once

#include <memory>
#include <string_view>

#include "trace/bytes.h"
#include "trace/source.h"

namespace syndrome::trace {

[[nodiscard]] std::unique_ptr<Source> read_csv(std::unique_ptr<ByteSource> bytes);

/// Whether the beginning of a file looks like this format: its first row that is no header has a
/// cell that begins with an operation and '('.
[[nodiscard]] bool looks_like_csv(std::string_view head);

}  // namespace syndrome::trace
