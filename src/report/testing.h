// Findings for the tests of the formats.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/fingerprint.h"
#include "report/report.h"
#include "report/words.h"

namespace syndrome::report {

inline Site site(EventNumber event, std::string thread, EventKind op, std::string target,
                 std::string_view place, EventNumber block, std::vector<std::string> locks = {}) {
  Site result;
  result.event = event;
  result.thread = std::move(thread);
  result.op = op;
  result.target = std::move(target);
  result.place = parse_place(place);
  result.block = block;
  result.locks = std::move(locks);
  return result;
}

inline Block block(EventNumber begin, EventNumber end, std::string thread, std::string label,
                   std::string_view place) {
  Block result;
  result.begin = begin;
  result.end = end;
  result.thread = std::move(thread);
  result.label = std::move(label);
  result.place = parse_place(place);
  return result;
}

inline Finding cycle(EventNumber block, std::vector<check::Edge> edges, std::vector<Site> sites,
                     std::vector<Block> blocks) {
  Finding finding;
  finding.check = "atomicity";
  finding.rule = "conflict-cycle";
  finding.event = edges.back().to;
  finding.block = block;
  finding.cycle = std::move(edges);
  finding.sites = std::move(sites);
  finding.blocks = std::move(blocks);
  finding.message = message_of(finding);
  finding.fingerprint = fingerprint_of(finding);
  return finding;
}

/// T1 reads and writes under a lock that it lets go of in between; T2 comes in.
inline Finding check_then_act() {
  return cycle(2, {{4, 9}, {9, 12}},
               {site(2, "T1", EventKind::kBegin, "transfer", "src/bank.cc:10", 2),
                site(4, "T1", EventKind::kRead, "balance", "src/bank.cc:12:7", 2, {"m"}),
                site(9, "T2", EventKind::kWrite, "balance", "src/bank.cc:21 deposit", 7, {"m"}),
                site(12, "T1", EventKind::kWrite, "balance", "src/bank.cc:14", 2, {"m"})},
               {block(2, 0, "T1", "transfer", "src/bank.cc:10"),
                block(7, 0, "T2", "deposit", "src/bank.cc:19")});
}

/// T1 writes under a lock, T2 reads without.
inline Finding race() {
  Finding finding;
  finding.check = "races";
  finding.rule = "race";
  finding.event = 9;
  finding.events = {4, 9};
  finding.sites = {site(4, "T1", EventKind::kWrite, "balance", "src/bank.cc:12:7", 0, {"m"}),
                   site(9, "T2", EventKind::kRead, "balance", "src/bank.cc:21 audit", 0)};
  finding.message = message_of(finding);
  finding.fingerprint = fingerprint_of(finding);
  return finding;
}

inline Stack stack(std::vector<std::pair<std::string, std::string_view>> frames) {
  Stack result;
  for (auto& [function, place] : frames) {
    result.frames.push_back({std::move(function), parse_place(place)});
  }
  return result;
}

/// The same with all that a recording knows: stacks, where locks were taken, who created whom.
inline Finding with_stacks() {
  Finding finding = check_then_act();
  const auto held = [](EventNumber event, std::string_view place) {
    return std::vector<HeldLock>{{"m", event, parse_place(place), false}};
  };
  finding.blocks[0].label = "void transfer<int>(Account&, int)";
  finding.sites[1].held = held(3, "src/bank.cc:11:3");
  finding.sites[1].stack = stack({{"get(int)", "src/bank.cc:12:7"},
                                  {"void transfer<int>(Account&, int)", "src/bank.cc:30:3"},
                                  {"main", "src/bank.cc:40:3"}});
  finding.sites[2].held = held(8, "src/bank.cc:20");
  finding.sites[2].stack = stack({{"deposit(Account&)", "src/bank.cc:21"},
                                  {"run()", "src/bank.cc:50:1"},
                                  {"std::invoke(void (*)())", "/usr/include/c++/12/invoke.h:9"},
                                  {"std::thread::_M_run()", ""},
                                  {"a1", "a.cc:1"},
                                  {"a2", "a.cc:2"},
                                  {"a3", "a.cc:3"},
                                  {"a4", "a.cc:4"},
                                  {"a5", "a.cc:5"}});
  finding.sites[2].stack.deeper = 3;
  finding.sites[3].held = held(11, "src/bank.cc:13:3");
  finding.sites[3].stack = finding.sites[1].stack;
  finding.sites[3].stack.frames[0].place = finding.sites[3].place;
  Thread& thread = finding.threads.emplace_back();
  thread.thread = "T2";
  thread.fork = 1;
  thread.creator = "T1";
  thread.place = parse_place("/usr/include/c++/12/thread:100:3");
  thread.stack = stack({{"std::thread::thread<>(int)", "/usr/include/c++/12/thread:100:3"},
                        {"start(int)", "src/bank.cc:38:12"},
                        {"main", "src/bank.cc:39:3"}});
  return finding;
}

inline std::vector<Source> bank_source() {
  return {{"src/bank.cc",
           false,
           {{10, "int get(int n) {"},
            {11, "\tlock_guard g(m);"},
            {12, "\treturn balance"},
            {13, "}"},
            {14, "  balance = " + std::string(60, 'x') + " + now;"},
            {20, ""},
            {21, "  balance += n;"}}}};
}

/// Two accounts, no locks, no sites; the ends of the blocks are known; the arrows cross.
inline Finding two_fields() {
  return cycle(2, {{4, 9}, {7, 12}},
               {site(2, "T1", EventKind::kBegin, "audit", "", 2),
                site(4, "T1", EventKind::kRead, "checking", "", 2),
                site(7, "T2", EventKind::kWrite, "savings", "", 6),
                site(9, "T2", EventKind::kWrite, "checking", "", 6),
                site(12, "T1", EventKind::kRead, "savings", "", 2)},
               {block(2, 15, "T1", "audit", ""), block(6, 10, "T2", "move", "")});
}

/// A block without label, and an event outside of blocks.
inline Finding with_unary() {
  return cycle(
      2, {{4, 9}, {9, 12}},
      {site(2, "1", EventKind::kBegin, "", "0", 2), site(4, "1", EventKind::kRead, "x", "0", 2),
       site(9, "2", EventKind::kWrite, "x", "0", 0), site(12, "1", EventKind::kWrite, "x", "0", 2)},
      {block(2, 15, "1", "", "0")});
}

inline Finding three_threads() {
  return cycle(2, {{4, 9}, {13, 20}, {22, 31}},
               {site(2, "T1", EventKind::kBegin, "Ledger::post", "ledger.cc:5", 2),
                site(4, "T1", EventKind::kWrite, "Ledger::total", "ledger.cc:9", 2),
                site(9, "T2", EventKind::kRead, "Ledger::total", "ledger.cc:31", 7),
                site(13, "T2", EventKind::kWrite, "Cache::entry", "cache.cc:8", 7),
                site(20, "T3", EventKind::kRead, "Cache::entry", "cache.cc:44", 18),
                site(22, "T3", EventKind::kRelease, "index_mutex", "cache.cc:51", 18),
                site(31, "T1", EventKind::kAcquire, "index_mutex", "ledger.cc:12", 2)},
               {block(2, 40, "T1", "Ledger::post", "ledger.cc:5"),
                block(7, 15, "T2", "Cache::refresh", "cache.cc:3"),
                block(18, 25, "T3", "Index::rebuild", "cache.cc:40")});
}

/// `threads` threads, each of which hands on to the next; names of `length` letters.
inline Finding ring(std::size_t threads, std::size_t length) {
  std::vector<check::Edge> edges;
  std::vector<Site> sites;
  std::vector<Block> blocks;
  const auto name = [length](std::string_view what, std::size_t i) {
    return std::string(what) + std::string(length, 'n') + std::to_string(i);
  };
  const EventNumber last = 1 + 3 * threads;
  for (std::size_t i = 0; i < threads; ++i) {
    const EventNumber begin = 1 + 3 * i;
    const std::string thread = name("T", i);
    blocks.push_back(block(begin, 0, thread, name("f", i), name("path/", i) + ":1"));
    if (i != 0) {
      sites.push_back(site(begin + 1, thread, EventKind::kRead, name("x", i - 1), "a.cc:2", begin));
      edges.push_back({begin - 1, begin + 1});
    }
    sites.push_back(
        site(begin + 2, thread, EventKind::kWrite, name("x", i), name("b", i) + ":3", begin));
  }
  edges.push_back({last - 1, last});
  sites.push_back(site(last, name("T", 0), EventKind::kRead, name("x", threads - 1), "", 1));
  return cycle(1, edges, sites, blocks);
}

inline Report report_with(std::vector<Finding> findings) {
  Report report;
  report.tool_version = "0.1.0";
  report.trace.file = "bank.std";
  report.trace.format = "std";
  report.trace.events = 1234567;
  report.trace.threads = 2;
  report.trace.variables = 3;
  report.trace.locks = 1;
  report.trace.blocks = 2;
  CheckReport& entry = report.checks.emplace_back();
  entry.check = "atomicity";
  entry.engine = "reach";
  entry.seconds = 0.0012;
  entry.verdict = findings.empty() ? check::Verdict::kClean : check::Verdict::kViolated;
  entry.findings = std::move(findings);
  return report;
}

}  // namespace syndrome::report
