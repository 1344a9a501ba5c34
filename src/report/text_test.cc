// Guards against: a report that a person cannot read. What it looks like is in testdata/*.txt; to
// change that on purpose, run this test with SYNDROME_UPDATE_GOLDEN=1 and look at the difference.

#include "report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "report/cells.h"
#include "report/diagram.h"
#include "report/testing.h"

namespace syndrome::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

void expect_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path =
      std::filesystem::path(__FILE__).parent_path() / "testdata" / name;
  if (std::getenv("SYNDROME_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
}

std::string plain(const Report& report) {
  return to_text(report, {});
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, width(line));
  return widest;
}

TEST(Text, check_then_act_under_a_lock) {
  Report report = report_with({check_then_act()});
  report.checks[0].findings[0].count = 12;
  expect_golden("check_then_act.txt", plain(report));
}

TEST(Text, a_data_race) {
  Report report = report_with({race()});
  report.checks[0].check = "races";
  report.checks[0].engine.clear();
  expect_golden("race.txt", plain(report));
  report.checks[0].verdict = check::Verdict::kClean;
  report.checks[0].findings.clear();
  EXPECT_THAT(plain(report), StartsWith("Races clean: no race in bank.std."));
  EXPECT_THAT(plain(report), Not(HasSubstr("block ran")));
}

TEST(Text, a_variable_has_one_race_told_in_full) {
  Finding other = race();
  other.event = 12;
  other.events = {4, 12};
  other.sites[1] = site(12, "T3", EventKind::kRead, "balance", "src/bank.cc:33", 0);
  Finding field = race();
  for (Site& each : field.sites) each.target = "Account::limit@5581c0";
  Finding of_another = field;
  for (Site& each : of_another.sites) each.target = "Account::limit@5581f0";
  Report report = report_with({race(), field, other, of_another});
  report.checks[0].check = "races";
  const std::string text = plain(report);
  EXPECT_THAT(text, HasSubstr("\n3. data race on balance  (events 4 and 12)\n"
                              "   T1 writes balance (event 4, bank.cc:12), T3 reads it (event 12, "
                              "bank.cc:33).\n   See 1, on the same variable or field.\n\n4. "));
  EXPECT_THAT(text, HasSubstr("See 2, on the same variable or field."));
  EXPECT_THAT(text, HasSubstr("\n2. data race on Account::limit@5581c0  (events 4 and 9)\n\n"));
}

TEST(Text, the_fix_of_a_race_is_what_its_locks_say) {
  const auto fix_of = [](std::vector<std::string> earlier, std::vector<std::string> later) {
    Finding finding = race();
    finding.sites[0].locks = std::move(earlier);
    finding.sites[1].locks = std::move(later);
    std::string text = plain(report_with({finding}));
    std::ranges::replace(text, '\n', ' ');
    return text;
  };
  EXPECT_THAT(fix_of({"m"}, {}), HasSubstr("Hold lock m at event 9, too, as event 4 does."));
  EXPECT_THAT(fix_of({}, {"m"}), HasSubstr("Hold lock m at event 4, too, as event 9 does."));
  EXPECT_THAT(fix_of({"m"}, {"n"}), HasSubstr("The two hold different locks, m and n"));
  EXPECT_THAT(fix_of({"m"}, {"m"}), HasSubstr("Both hold lock m, but"));
  EXPECT_THAT(fix_of({}, {}), HasSubstr("Hold one lock at both"));
}

TEST(Text, source_stacks_locks_and_threads_of_a_recording) {
  Report report = report_with({with_stacks()});
  report.sources = bank_source();
  expect_golden("stacks.txt", plain(report));
  report.sources[0].changed = true;
  EXPECT_THAT(plain(report), HasSubstr("bank.cc has changed since the recording"));
  EXPECT_THAT(to_text(report, {false, false, 0}), HasSubstr("called from a5"));
  EXPECT_THAT(to_text(report, {false, false, 1}), Not(HasSubstr("called from run")));
}

TEST(Text, edges_name_the_lines_of_the_program_and_not_the_librarys) {
  Finding finding = with_stacks();
  const std::string library = "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h";
  for (Site& site : finding.sites) {
    if (site.stack.frames.empty()) continue;
    site.place = parse_place(library + ":749:12 __gthread_mutex_lock");
    site.stack.frames.insert(site.stack.frames.begin(), {"__gthread_mutex_lock", site.place});
  }
  Report report = report_with({finding});
  report.sources = bank_source();
  const std::string text = plain(report);
  EXPECT_THAT(text, HasSubstr("bank.cc:12) before T2 writes it"));
  EXPECT_THAT(text, HasSubstr("reads balance  bank.cc:12"));
  EXPECT_THAT(text, HasSubstr("1 frame of the library"));
  EXPECT_THAT(text, Not(HasSubstr("gthr-default.h")));
  EXPECT_LE(widest_line(text), 80U);
}

TEST(Text, two_fields_that_belong_together) {
  expect_golden("two_fields.txt", plain(report_with({two_fields()})));
}

TEST(Text, an_event_outside_of_blocks) {
  expect_golden("unary.txt", plain(report_with({with_unary()})));
}

TEST(Text, three_threads_side_by_side) {
  expect_golden("three_threads.txt", plain(report_with({three_threads()})));
}

TEST(Text, more_threads_than_fit_are_listed) {
  expect_golden("five_threads.txt", plain(report_with({ring(5, 0)})));
}

TEST(Text, a_clean_trace) {
  expect_golden("clean.txt", plain(report_with({})));
}

TEST(Text, stats) {
  Report report = report_with({});
  report.seconds = 0.02;
  report.peak_memory = 5200000;
  report.checks[0].stats = {{"edges", 12345}, {"edges that a row implied", 12}};
  expect_golden("stats.txt", to_text(report, {false, true}));
}

TEST(Text, a_trace_without_blocks_is_not_called_good) {
  Report report = report_with({});
  report.trace.blocks = 0;
  EXPECT_THAT(plain(report), HasSubstr("There was nothing to check"));
}

TEST(Text, a_recording_without_blocks_says_what_to_do) {
  Report report = report_with({});
  report.trace.blocks = 0;
  report.trace.candidates = {"bank::Account::transfer", "audit"};
  EXPECT_THAT(plain(report), HasSubstr("atomic = [\"bank::Account::transfer\", \"audit\"]"));
  EXPECT_THAT(plain(report), HasSubstr("syndrome check --spec blocks.toml bank.std"));
  report.trace.candidates.emplace_back(60, 'f');
  EXPECT_LE(widest_line(plain(report)), 80U);
}

TEST(Text, an_interruption_and_warnings_are_told) {
  Report report = report_with({});
  report.trace.interrupted = true;
  report.trace.whole = false;
  report.trace.warnings = {"the file ends in the middle"};
  EXPECT_THAT(plain(report), HasSubstr("Interrupted after 1,234,567 events"));
  EXPECT_THAT(plain(report), HasSubstr("Warning: the file ends in the middle"));
}

TEST(Text, the_first_line_names_the_blocks) {
  EXPECT_THAT(
      plain(report_with({check_then_act(), two_fields(), three_threads(), ring(2, 0)})),
      StartsWith("Atomicity violated in bank.std: transfer, audit, Ledger::post and 1 other "
                 "block\ndid not run as if alone.\n"));
}

TEST(Text, the_file_name_is_quoted_where_a_command_is_shown) {
  Report report = report_with({check_then_act()});
  report.trace.file = "it's a trace.std";
  EXPECT_THAT(plain(report), HasSubstr("--around 12 'it'\\''s a trace.std'"));
  report.trace.file = "-";
  EXPECT_THAT(plain(report), Not(HasSubstr("syndrome trace cat")));
}

TEST(Text, colour_changes_nothing_but_colour) {
  Report report = report_with(
      {check_then_act(), with_stacks(), two_fields(), with_unary(), three_threads(), ring(7, 2)});
  report.sources = bank_source();
  const std::string coloured = to_text(report, {true, true});
  EXPECT_THAT(coloured, HasSubstr("\x1b[1;31m"));
  EXPECT_EQ(std::regex_replace(coloured, std::regex("\x1b\\[[0-9;]*m"), ""),
            to_text(report, {false, true}));
}

TEST(Text, names_from_a_trace_cannot_move_the_cursor) {
  Finding finding = check_then_act();
  finding.sites[1].target = "\x1b[2J\r\n";
  finding.sites[2].thread = "\x1b]0;title\x07";
  finding.blocks[0].label = "\x1b[31mred\n";
  finding.sites[3].locks = {"\x1b[1m"};
  EXPECT_THAT(plain(report_with({finding})), Not(HasSubstr("\x1b")));
  EXPECT_THAT(plain(report_with({finding})), Not(HasSubstr("\r")));
  finding = with_stacks();
  finding.sites[1].stack.frames[1].function = "\x1b[2J";
  finding.sites[1].stack.frames[2].place = parse_place("\x1b[2J\r:1");
  finding.sites[2].held[0].lock = "\x1b[2J";
  finding.threads[0].creator = "\x1b[2J";
  Report report = report_with({finding});
  report.sources = bank_source();
  report.sources[0].lines[12] = "\x1b[2J\r return";
  EXPECT_THAT(plain(report), Not(HasSubstr("\x1b")));
  EXPECT_THAT(plain(report), Not(HasSubstr("\r")));
}

TEST(Text, a_number_of_two_digits_stands_apart) {
  const Report report = report_with(std::vector<Finding>(10, race()));
  EXPECT_THAT(plain(report), HasSubstr("\n10. data race on balance"));
}

TEST(Text, never_wider_than_80_columns) {
  for (std::size_t threads = 2; threads < 60; threads += threads < 6 ? 1 : 7) {
    for (const std::size_t length : {0U, 1U, 5U, 9U, 14U, 20U, 33U, 60U, 200U}) {
      const std::string text = plain(report_with({ring(threads, length)}));
      EXPECT_LE(widest_line(text), 80U) << threads << " " << length << "\n" << text;
    }
  }
}

TEST(Text, stacks_and_source_are_never_wider_than_80_columns) {
  for (const std::size_t length : {1U, 9U, 33U, 60U, 79U, 200U}) {
    const std::string name(length, 'n');
    Finding finding = with_stacks();
    for (Site& site : finding.sites) {
      for (HeldLock& held : site.held) held.lock += name;
      for (Frame& frame : site.stack.frames) {
        frame.function = name + "::" + frame.function;
        if (frame.place.known()) frame.place = parse_place("src/" + name + ":12:100");
      }
    }
    Report report = report_with({finding});
    report.sources = {{"src/" + name, false, {{12, "\t" + std::string(300, 'x')}}}};
    EXPECT_LE(widest_line(plain(report)), 80U) << plain(report);
  }
}

TEST(Diagram, edges_are_called_by_letters) {
  EXPECT_EQ(letter(0), "A");
  EXPECT_EQ(letter(25), "Z");
  EXPECT_EQ(letter(26), "AA");
  EXPECT_EQ(letter(27), "AB");
}

TEST(Diagram, every_edge_has_its_letter_whatever_the_order) {
  // All cycles of two and three threads over eight events, forwards in time.
  for (EventNumber a = 2; a < 8; ++a) {
    for (EventNumber b = a + 1; b < 9; ++b) {
      for (EventNumber c = 2; c < 8; ++c) {
        for (EventNumber d = c + 1; d < 9; ++d) {
          if (b == c ? false : (a == c || b == d || a == d)) continue;
          std::vector<Site> sites;
          for (EventNumber e = 2; e < 9; ++e) {
            const bool first = e == a || e == d;
            const bool second = e == b || e == c;
            if (first) sites.push_back(site(e, "T1", EventKind::kWrite, "x", "", 1));
            if (second) sites.push_back(site(e, "T2", EventKind::kRead, "x", "", 0));
          }
          const Finding finding = cycle(1, {{a, b}, {c, d}}, sites, {block(1, 20, "T1", "f", "")});
          std::string text;
          for (const std::string& line : draw(finding, 77, Paint(false))) text += line + "\n";
          EXPECT_THAT(text, HasSubstr("A")) << text;
          EXPECT_THAT(text, HasSubstr("B")) << text;
          EXPECT_EQ(std::ranges::count(text, '\xBA'), 1) << "one head to the right\n" << text;
        }
      }
    }
  }
}

}  // namespace
}  // namespace syndrome::report
