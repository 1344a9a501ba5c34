// Small traces with a known verdict. No comments inside, so an event's number is its line.

#pragma once

#include <string_view>

namespace syndrome::test {

/// t1 reads x, t2's block changes it, t1 writes it: the cycle 2 -> 4 -> 6, and `transfer` violates.
inline constexpr std::string_view kViolated =
    "t1|begin(transfer)|bank.c:1:1\n"
    "t1|r(x)|bank.c:2:1\n"
    "t2|begin(pay)|bank.c:11:1\n"
    "t2|w(x)|bank.c:12:1\n"
    "t2|end(pay)|bank.c:13:1\n"
    "t1|w(x)|bank.c:3:1\n"
    "t1|end(transfer)|bank.c:4:1\n";

/// The same events, one block after the other.
inline constexpr std::string_view kClean =
    "t1|begin(transfer)|bank.c:1:1\n"
    "t1|r(x)|bank.c:2:1\n"
    "t1|w(x)|bank.c:3:1\n"
    "t1|end(transfer)|bank.c:4:1\n"
    "t2|begin(pay)|bank.c:11:1\n"
    "t2|w(x)|bank.c:12:1\n"
    "t2|end(pay)|bank.c:13:1\n";

/// Event 3 releases what its thread does not hold; the rest is kViolated.
inline constexpr std::string_view kIllFormed =
    "t1|begin(transfer)|bank.c:1:1\n"
    "t1|r(x)|bank.c:2:1\n"
    "t2|rel(m)|bank.c:10:1\n"
    "t2|begin(pay)|bank.c:11:1\n"
    "t2|w(x)|bank.c:12:1\n"
    "t2|end(pay)|bank.c:13:1\n"
    "t1|w(x)|bank.c:3:1\n"
    "t1|end(transfer)|bank.c:4:1\n";

/// Line 3 is no event.
inline constexpr std::string_view kMalformed =
    "t1|begin(transfer)|bank.c:1:1\n"
    "t1|r(x)|bank.c:2:1\n"
    "t1|frobnicate(x)|bank.c:3:1\n"
    "t1|end(transfer)|bank.c:4:1\n";

}  // namespace syndrome::test
