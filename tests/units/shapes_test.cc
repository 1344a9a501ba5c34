// Each shape of shapes.cc gets the verdict that it must get: by `run` and by `record` and `check`,
// by default and with --check atomic-sets, at every level, with and without -g.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using nlohmann::json;

struct Shape {
  std::string_view name;
  std::string_view location;  // of the finding; empty: there is none
};
constexpr Shape kShapes[] = {
    {"helpers", "stock"},  {"sections", "visits"}, {"atomic", "tickets"}, {"base", ""},
    {"virtual", ""},       {"member", ""},         {"union", ""},         {"array", ""},
    {"static", "Site::"},  {"vector", ""},         {"map", ""},           {"owned", ""},
    {"rounds-of-map", ""}, {"torn", "Position"},   {"lock", "money"},
};
constexpr std::string_view kRight[] = {"recheck", "cas", "gauge", "rounds", "requeue", "print"};

class Shapes : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string folder = (source_directory() / "tests").string();
    const Outcome built = shell_.run("syndrome c++ -std=c++20 -pthread -Wall -Wextra -Werror " +
                                     std::string(GetParam()) + " -I'" + folder + "/programs' '" +
                                     folder + "/units/shapes.cc' -o shapes");
    ASSERT_EQ(built.code, 0) << built.err;
  }
  /// The findings of atomic sets.
  [[nodiscard]] json findings(const std::string& call, int code) const {
    const Outcome outcome = shell_.run(call);
    EXPECT_EQ(outcome.code, code) << call << '\n' << outcome.out << outcome.err;
    const std::string& text =
        outcome.out.find("\"checks\"") == std::string::npos ? outcome.err : outcome.out;
    json found = json::array();
    const json report = json::parse(text);
    for (const json& check : report["checks"]) {
      if (check["check"] == "atomic-sets") found = check["findings"];
    }
    return found;
  }
  [[nodiscard]] const Shell& shell() const { return shell_; }

 private:
  Shell shell_;
};

TEST_P(Shapes, AreFound) {
  for (const Shape& shape : kShapes) {
    const std::string name(shape.name);
    const json live = findings("syndrome run --format json -- ./shapes " + name, 66);
    ASSERT_FALSE(live.empty()) << name;
    const std::string tier = live[0]["tier"];
    EXPECT_THAT(tier, testing::AnyOf("certain", "likely")) << name;
    EXPECT_FALSE(live[0]["connection"].get<std::string>().empty()) << name;
    const std::string location = live[0]["locations"][0];
    EXPECT_NE(location.find(shape.location), std::string::npos) << name << ": " << location;

    ASSERT_EQ(shell().run("syndrome record -q -o run.syn -- ./shapes " + name).code, 0) << name;
    for (const char* const checks : {"", "--check atomic-sets "}) {
      const json recorded =
          findings("syndrome check --format json " + std::string(checks) + "run.syn", 1);
      ASSERT_FALSE(recorded.empty()) << name;
      EXPECT_EQ(recorded[0]["tier"], live[0]["tier"]) << name;
      EXPECT_EQ(recorded[0]["connection"], live[0]["connection"]) << name;
    }
  }
}

TEST_P(Shapes, ThatAreRightAreClean) {
  for (const std::string_view name : kRight) {
    EXPECT_TRUE(findings("syndrome run --format json -- ./shapes " + std::string(name), 0).empty())
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Shapes, testing::Values("-O0", "-O1 -g", "-O2", "-O3 -g"));

}  // namespace
}  // namespace syndrome::test
