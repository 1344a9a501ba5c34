// How reports speak of events, threads and blocks.

#pragma once

#include <string>
#include <string_view>

#include "event/event.h"
#include "report/report.h"

namespace syndrome::report {

/// "reads balance", "takes lock m", "begins transfer".
[[nodiscard]] std::string says(EventKind op, std::string_view target);

/// The same after the target was named: "reads it", "takes it".
[[nodiscard]] std::string says_it(EventKind op);

/// "T1"; "thread 1" for a bare number.
[[nodiscard]] std::string thread_words(std::string_view thread);

/// A function or block as people say it: without parameters and return type.
[[nodiscard]] std::string function_words(std::string_view label);

/// What a block is called in a finding: its label, or where it begins; with its thread when another
/// block of the finding has the same name.
[[nodiscard]] std::string block_words(const Finding& finding, const Block& block);

/// The transaction of a site: its block, or the event alone.
[[nodiscard]] std::string transaction_words(const Finding& finding, const Site& site);

/// Why an edge orders its two transactions: "T1 reads x (event 4, a.cc:3) before T2 writes it
/// (event 9, a.cc:7)".
[[nodiscard]] std::string edge_words(const Site& from, const Site& to);

/// The two accesses of a race: "T1 writes x (event 4, a.cc:3), T2 reads it (event 9, a.cc:7)".
[[nodiscard]] std::string race_words(const Finding& finding);
/// "data race on x"
[[nodiscard]] std::string race_headline(const Finding& finding);

/// Of a conflict in a block: the two, and why they are unordered.
[[nodiscard]] std::string conflict_words(const Finding& finding);

/// What the block of a finding is not: "atomic" or "deterministic".
[[nodiscard]] std::string_view property_of(const Finding& finding);

/// The one-line message of a finding.
[[nodiscard]] std::string message_of(const Finding& finding);

/// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t number);

/// "1 block", "2 blocks".
[[nodiscard]] std::string many(std::uint64_t number, std::string_view noun);
/// "1 unit of work", "2 units of work".
[[nodiscard]] std::string many(std::uint64_t number, std::string_view one, std::string_view more);

}  // namespace syndrome::report
