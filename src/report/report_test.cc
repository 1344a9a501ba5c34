// Guards against: a report whose cost grows with its findings instead of with its places, stacks
// that lack what was inlined, sites that are not those of the events.

#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "check/registry.h"
#include "trace/input.h"

namespace syndrome::report {
namespace {

namespace fs = std::filesystem;

class MakeReport : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = fs::path(testing::TempDir()) / (std::string("syndrome-report-") + test->name());
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  void TearDown() override { fs::remove_all(path_); }

  check::PassResult run(const std::string& trace) {
    const std::string file = (path_ / "t.std").string();
    std::ofstream(file) << trace;
    Result<trace::Input> input = trace::Input::open(file);
    EXPECT_TRUE(input.ok());
    const auto chosen = check::parse_checks("atomicity");
    std::vector<std::unique_ptr<check::Check>> checks;
    for (const check::Registration* each : *chosen) checks.push_back(each->make({}));
    Result<check::PassResult> result = check::run_pass(*input, checks, {});
    EXPECT_TRUE(result.ok());
    return std::move(*result);
  }

  /// A lost update at lines of its own: a finding for each `i`.
  static std::string lost_update(int i) {
    const std::string at = "bank.cc:" + std::to_string(i * 4 + 1);
    std::string text;
    const auto add = [&](const std::string& event) { text += event + at + ":1 f\n"; };
    const std::string x = "x" + std::to_string(i);
    add("a|enter(f)|");
    add("a|begin(t" + std::to_string(i) + ")|");
    add("a|r(" + x + ")|");
    add("b|enter(g)|");
    add("b|w(" + x + ")|");
    add("b|exit(g)|");
    add("a|w(" + x + ")|");
    add("a|end(t" + std::to_string(i) + ")|");
    add("a|exit(f)|");
    return text;
  }

  fs::path path_;
};

TEST_F(MakeReport, a_thousand_findings_cost_one_more_look_and_one_read_of_each_file) {
  {
    std::ofstream source(path_ / "bank.cc");
    for (int i = 0; i < 5000; ++i) source << "line " << i + 1 << "\n";
  }
  std::string trace = "main|fork(a)|bank.cc:1:1\nmain|fork(b)|bank.cc:2:1\n";
  const unsigned passes_for_one = run(trace + lost_update(0)).passes;
  for (int i = 0; i < 1000; ++i) trace += lost_update(i);
  const check::PassResult pass = run(trace);
  EXPECT_EQ(pass.passes, passes_for_one);
  Work work;
  const AllowedSources allowed = {.folders = {path_.string()}};
  const Report report = make_report((path_ / "t.std").string(), pass, allowed, &work);
  ASSERT_EQ(report.checks[0].findings.size(), 1000U);
  EXPECT_EQ(work.files_read, 1U);
  EXPECT_EQ(work.symbolizers_run, 0U);
  for (const Finding& finding : report.checks[0].findings) {
    for (const Site& site : finding.sites) EXPECT_FALSE(site.stack.frames.empty());
    EXPECT_EQ(finding.threads.size(), 2U);
  }
  ASSERT_EQ(report.sources.size(), 1U);
  EXPECT_EQ(report.sources[0].lines.at(5), "line 5");
}

TEST_F(MakeReport, a_clean_trace_is_looked_at_once) {
  EXPECT_EQ(run("a|enter(f)|0\na|begin(t)|0\na|r(x)|0\na|end(t)|0\na|exit(f)|0\n").passes, 1U);
}

TEST_F(MakeReport, a_function_that_was_inlined_is_a_frame) {
  const check::PassResult pass =
      run("a|enter(outer(int))|m.cc:9:1 main\n"
          "a|begin(t)|m.cc:1:1 outer\n"
          "a|r(x)|m.h:3:5 inner\n"
          "b|w(x)|m.cc:7:1\n"
          "a|w(x)|m.cc:5:1 outer\n"
          "a|end(t)|0\n"
          "a|exit(outer(int))|0\n");
  const Report report = make_report("t.std", pass);
  ASSERT_EQ(report.checks[0].findings.size(), 1U);
  const Site* read = report.checks[0].findings[0].site_at(3);
  ASSERT_NE(read, nullptr);
  std::vector<std::string> functions;
  for (const Frame& frame : read->stack.frames) functions.push_back(frame.function);
  EXPECT_THAT(functions, testing::ElementsAre("inner", "outer(int)", "main"));
  EXPECT_EQ(read->stack.frames[0].place.line, 3U);
  EXPECT_EQ(read->stack.frames[2].place.line, 9U);
  const Site* write = report.checks[0].findings[0].site_at(5);
  ASSERT_NE(write, nullptr);
  EXPECT_EQ(write->stack.frames.size(), 2U);
  EXPECT_TRUE(report.checks[0].findings[0].site_at(4)->stack.frames.empty());
}

TEST_F(MakeReport, a_mark_on_a_function_is_no_frame) {
  const check::PassResult pass =
      run("a|enter(f(int))|m.cc:9:1 main\n"
          "a|enter(deterministic f(int))|m.cc:9:1 main\n"
          "a|begin(t)|m.cc:1:1 f\n"
          "a|r(x)|m.cc:3:5 f\n"
          "b|w(x)|m.cc:7:1\n"
          "a|w(x)|m.cc:5:1 f\n"
          "a|end(t)|0\n"
          "a|exit(deterministic f(int))|0\n"
          "a|exit(f(int))|0\n");
  const Report report = make_report("t.std", pass);
  ASSERT_EQ(report.checks[0].findings.size(), 1U);
  const Site* read = report.checks[0].findings[0].site_at(4);
  ASSERT_NE(read, nullptr);
  std::vector<std::string> functions;
  for (const Frame& frame : read->stack.frames) functions.push_back(frame.function);
  EXPECT_THAT(functions, testing::ElementsAre("f(int)", "main"));
}

}  // namespace
}  // namespace syndrome::report
