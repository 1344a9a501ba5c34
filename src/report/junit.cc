#include "report/junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report/cells.h"
#include "report/story.h"
#include "report/text.h"

namespace syndrome::report {
namespace {

/// Clean text, or lines of it, as XML has it between tags and in attributes.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string attribute(std::string_view name, std::string_view value) {
  return fmt::format(" {}=\"{}\"", name, escaped(clean(value)));
}

/// Tests are known by their names from run to run: so these have the fingerprint, which is, too.
std::string test_name(const Finding& finding) {
  return fmt::format("{} [{}]", headline_of(finding), finding.fingerprint);
}

class Suite {
 public:
  explicit Suite(const Report& report) : report_(report) {}

  std::string write() {
    for (const CheckReport& entry : report_.checks) add(entry);
    return fmt::format(
               "  <testsuite{} tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
               "time=\"{:.6f}\">\n",
               attribute("name", report_.trace.file), tests, failures, skipped, report_.seconds) +
           body_ + "  </testsuite>\n";
  }

  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t skipped = 0;

 private:
  void add(const CheckReport& entry) {
    for (std::size_t i = 0; i < entry.findings.size(); ++i) {
      const Finding& finding = entry.findings[i];
      ++failures;
      test(entry, test_name(finding), 0,
           fmt::format("      <failure{}{}>{}</failure>\n", attribute("type", finding.rule),
                       attribute("message", finding.message),
                       escaped(finding_text(report_, finding, i + 1, {}))));
    }
    for (const LeftOut& one : entry.left_out) {
      const std::string why = one.line == 0 ? std::string("in the baseline")
                                            : fmt::format("suppressed by line {}", one.line);
      skip(entry, test_name(one.finding), why);
    }
    if (!entry.findings.empty()) return;
    const std::string name = fmt::format("{} of {}", entry.check, report_.trace.file);
    if (entry.verdict == check::Verdict::kUndecided) return skip(entry, name, "undecided");
    test(entry, name, entry.seconds, "");
  }

  void skip(const CheckReport& entry, std::string_view name, std::string_view why) {
    ++skipped;
    test(entry, name, 0, fmt::format("      <skipped{}/>\n", attribute("message", why)));
  }

  void test(const CheckReport& entry, std::string_view name, double seconds,
            std::string_view inside) {
    ++tests;
    body_ += fmt::format("    <testcase{}{} time=\"{:.6f}\"", attribute("name", name),
                         attribute("classname", "syndrome." + entry.check), seconds);
    body_ += inside.empty() ? "/>\n" : fmt::format(">\n{}    </testcase>\n", inside);
  }

  const Report& report_;
  std::string body_;
};

}  // namespace

std::string to_junit(std::span<const Report> reports) {
  std::string suites;
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t skipped = 0;
  for (const Report& report : reports) {
    Suite suite(report);
    suites += suite.write();
    tests += suite.tests;
    failures += suite.failures;
    skipped += suite.skipped;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"syndrome\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n"
      "{}</testsuites>\n",
      tests, failures, skipped, suites);
}

}  // namespace syndrome::report
