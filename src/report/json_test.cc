// Guards against: a shape that other programs do not expect, a report that changes when it is
// saved and read again, a crash on findings that somebody else wrote.

#include "report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "report/testing.h"
#include "report/text.h"

namespace syndrome::report {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::string one(const Report& report) {
  return to_json({&report, 1}, false, {true});
}

TEST(Json, has_the_shape_of_the_contract) {
  const json document = json::parse(one(report_with({check_then_act()})));
  EXPECT_EQ(document["version"], 1);
  EXPECT_EQ(document["tool"], json({{"name", "syndrome"}, {"version", "0.1.0"}}));
  EXPECT_EQ(document["trace"]["file"], "bank.std");
  EXPECT_EQ(document["trace"]["events"], 1234567);
  const json& entry = document["checks"][0];
  EXPECT_EQ(entry["check"], "atomicity");
  EXPECT_EQ(entry["engine"], "reach");
  EXPECT_EQ(entry["verdict"], "violated");
  const json& finding = entry["findings"][0];
  EXPECT_EQ(finding["rule"], "conflict-cycle");
  EXPECT_EQ(finding["certainty"], "observed");
  EXPECT_EQ(finding["event"], 12);
  EXPECT_EQ(finding["block"], 2);
  EXPECT_EQ(finding["message"],
            "transfer (T1) is not atomic: T1 read balance at 4 before T2 wrote balance at 9; T2 "
            "wrote balance at 9 before T1 wrote balance at 12; no serial order gives this result");
  EXPECT_EQ(finding["cycle"], json::parse(R"([{"from":4,"to":9},{"from":9,"to":12}])"));
  EXPECT_EQ(finding["sites"][1], json::parse(R"({"event":4,"thread":"T1","op":"r",
      "target":"balance","file":"src/bank.cc","line":12,"column":7,"block":2,"locks":["m"]})"));
  EXPECT_EQ(finding["sites"][2]["function"], "deposit");
}

TEST(Json, sites_have_stack_locks_and_threads) {
  Report report = report_with({with_stacks()});
  report.sources = bank_source();
  const json document = json::parse(one(report));
  const json& finding = document["checks"][0]["findings"][0];
  const json frame = {
      {"file", "src/bank.cc"}, {"line", 12}, {"column", 7}, {"function", "get(int)"}};
  EXPECT_EQ(finding["sites"][1]["stack"][0], frame);
  EXPECT_EQ(finding["sites"][1]["locks"], json::array({"m"}));
  EXPECT_EQ(finding["sites"][1]["held"],
            json::parse(R"([{"lock":"m","event":3,"file":"src/bank.cc","line":11,"column":3}])"));
  EXPECT_EQ(finding["sites"][2]["deeper"], 3);
  EXPECT_EQ(finding["threads"][0]["creator"], "T1");
  EXPECT_EQ(finding["threads"][0]["stack"][1]["function"], "start(int)");
  EXPECT_EQ(document["sources"][0]["lines"][0]["line"], 10);
}

TEST(Json, several_reports_are_an_array) {
  const std::vector<Report> reports = {report_with({}), report_with({two_fields()})};
  const json document = json::parse(to_json(reports, true, {}));
  ASSERT_EQ(document.size(), 2U);
  EXPECT_EQ(document[0]["checks"][0]["verdict"], "clean");
  EXPECT_FALSE(document[0].contains("stats"));
}

TEST(Json, bytes_that_are_not_utf8_are_replaced) {
  Finding finding = check_then_act();
  finding.sites[1].target = "\xff\xfe";
  finding.sites[2].place = parse_place("\x80");
  const json document = json::parse(one(report_with({finding})));
  EXPECT_EQ(document["checks"][0]["findings"][0]["sites"][1]["target"], "��");
  EXPECT_EQ(document["checks"][0]["findings"][0]["sites"][2]["location"], "�");
}

TEST(Json, what_is_read_again_gives_the_same_json_and_the_same_text) {
  Report report = report_with(
      {check_then_act(), two_fields(), with_unary(), three_threads(), with_stacks(), race()});
  report.sources = bank_source();
  report.sources[0].changed = true;
  report.trace.candidates = {"f"};
  report.checks[0].findings[4].sites[1].held[0].shared = true;
  report.checks[0].findings[1].count = 7;
  report.checks[0].findings[2].certainty = check::Certainty::kPredicted;
  report.checks[0].stats = {{"edges", 3}};
  report.checks[0].notes = {"a note"};
  report.trace.warnings = {"cut off"};
  report.trace.whole = false;
  report.trace.interrupted = true;
  report.seconds = 0.5;
  report.peak_memory = 1000;
  const auto saved = from_json(one(report));
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  EXPECT_FALSE(saved->array);
  ASSERT_EQ(saved->reports.size(), 1U);
  EXPECT_EQ(one(saved->reports[0]), one(report));
  EXPECT_EQ(to_text(saved->reports[0], {false, true}), to_text(report, {false, true}));
}

TEST(Json, an_error_says_where_and_what_was_expected) {
  const auto error_of = [](const json& document) {
    const auto saved = from_json(document.dump());
    return saved ? std::string() : saved.error().message;
  };
  const json good = json::parse(one(report_with({check_then_act()})));
  EXPECT_EQ(error_of(good), "");

  json bad = good;
  bad["checks"][0]["findings"][0]["cycle"][1]["from"] = "nine";
  EXPECT_EQ(error_of(bad),
            "report.checks[0].findings[0].cycle[1].from: expected a whole number, found a string");
  bad = good;
  bad["checks"][0]["findings"][0]["cycle"][1]["to"] = 13;
  EXPECT_THAT(error_of(bad), HasSubstr("cycle[1]: expected events that `sites` has, found 13"));
  bad = good;
  bad["checks"][0]["findings"][0]["sites"][1]["event"] = 1;
  EXPECT_THAT(error_of(bad), HasSubstr("sites[1].event: expected a greater number"));
  bad = good;
  bad["checks"][0]["findings"][0]["sites"][1]["op"] = "jump";
  EXPECT_THAT(error_of(bad), HasSubstr("sites[1].op: expected one of r, w, rmw"));
  bad = good;
  bad["checks"][0]["findings"][0]["sites"][1]["line"] = 1e30;
  EXPECT_THAT(error_of(bad), HasSubstr("sites[1].line: expected a whole number"));
  bad = good;
  bad["checks"][0]["findings"][0]["events"] = {4, 5};
  EXPECT_THAT(error_of(bad), HasSubstr("events[1]: expected an event that `sites` has, found 5"));
  bad["checks"][0]["findings"][0]["events"] = {"4"};
  EXPECT_THAT(error_of(bad), HasSubstr("events[0]: expected the number of an event"));
  bad = good;
  bad["checks"][0]["verdict"] = "fine";
  EXPECT_THAT(error_of(bad), HasSubstr("verdict: expected one of clean, violated, undecided"));
  bad = good;
  bad["version"] = 2;
  EXPECT_THAT(error_of(bad), HasSubstr("report.version: expected 1"));
  bad = good;
  bad.erase("trace");
  EXPECT_THAT(error_of(bad), HasSubstr("report.trace: expected a value, found nothing"));
  EXPECT_THAT(error_of(json::array({good, 3})), HasSubstr("report[1]: expected an object"));
  EXPECT_THAT(from_json("{\"version\": 1,").error().message, HasSubstr("byte "));
  EXPECT_FALSE(from_json("").ok());
}

/// A place in the document, chosen at random.
json* anywhere(json& document, std::mt19937& random) {
  json* at = &document;
  while (at->is_structured() && !at->empty() && random() % 5 != 0) {
    auto it = at->begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random() % at->size()));
    at = &*it;
  }
  return at;
}

TEST(Json, whatever_is_accepted_can_be_rendered) {
  const json good = json::parse(one(
      report_with({check_then_act(), two_fields(), with_unary(), three_threads(), ring(5, 3)})));
  const std::vector<json> values = {nullptr,
                                    0,
                                    1,
                                    2,
                                    9,
                                    12,
                                    1000,
                                    -1,
                                    0.5,
                                    18446744073709551615U,
                                    "",
                                    "T2",
                                    "begin",
                                    "a.cc:1",
                                    true,
                                    json::array(),
                                    json::object()};
  std::mt19937 random(20240601);
  int accepted = 0;
  for (int i = 0; i < 2000; ++i) {
    json document = good;
    for (unsigned change = 0; change <= random() % 3; ++change) {
      json* place = anywhere(document, random);
      json* other = anywhere(document, random);
      switch (random() % 3) {
        case 0: *place = values[random() % values.size()]; break;
        case 1: *place = json(*other); break;
        default:
          if (place->is_array() && !place->empty()) place->erase(random() % place->size());
      }
    }
    const auto saved = from_json(document.dump());
    if (!saved) continue;
    ++accepted;
    for (const Report& report : saved->reports) {
      EXPECT_FALSE(to_text(report, {true, true}).empty() && !report.checks.empty());
    }
  }
  EXPECT_GT(accepted, 50) << "the changes must leave something to render";
}

TEST(Json, more_findings_than_memory_has_room_for_are_refused) {
  std::string text = "[0";
  text.reserve(2 * kMostSavedValues + 16);
  for (std::size_t i = 0; i < kMostSavedValues; ++i) text += ",0";
  const Result<SavedReports> saved = from_json(text + "]");
  ASSERT_FALSE(saved.ok());
  EXPECT_THAT(saved.error().message, HasSubstr("expected findings of at most 6000000 values"));
  // 100,000 findings are not too many, as the message says.
  const std::size_t bytes_of_one = one(report_with({check_then_act()})).size();
  EXPECT_LT(100'000 * bytes_of_one, std::size_t{1} << 30U);
}

TEST(Json, names_do_not_act_on_the_display) {
  Finding finding = check_then_act();
  const std::string name = "x\xE2\x80\xAE";
  finding.sites[0].target = name;
  const std::string text = one(report_with({finding}));
  EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos);
  EXPECT_THAT(text, HasSubstr(R"("x\u202e")"));
  const Result<SavedReports> saved = from_json(text);
  ASSERT_TRUE(saved.ok());
  EXPECT_EQ(saved->reports[0].checks[0].findings[0].sites[0].target, name);
}

}  // namespace
}  // namespace syndrome::report
