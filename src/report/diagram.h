// A finding as a picture: time runs downwards, one line for each event. Up to three threads stand
// side by side, with the edges of the cycle drawn between them as arrows with letters; more threads
// than fit become one list, in which the letters stand beside the events.
//
//          T1                                 T2
//     2    ┌ begins transfer
//     4    │ reads balance ───┐
//     7    │                  │               ┌ begins deposit
//     9    │                  └─A────────────►│ writes balance
//          │                  ┌───────────────┤
//    12    │ writes balance ◄B┘

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/paint.h"
#include "report/report.h"

namespace syndrome::report {

/// The lines, each at most `columns` wide.
[[nodiscard]] std::vector<std::string> draw(const Finding& finding, std::size_t columns,
                                            const Paint& paint);

/// A for 0, B for 1, …, Z, AA, AB: how the edges of a cycle are called.
[[nodiscard]] std::string letter(std::size_t index);

}  // namespace syndrome::report
