// Folders are the stages that an event passes through, and arrows go one way: a file may include
// only from its own stage and from those before it. Guards against the first "just this once".

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Beside itself, what a stage may include. "check/*" stands for the folder of one analysis; of
// src/check itself that folder sees only the interface. An analysis never sees another one, but for
// the race detector, which is a filter for others, the traces that all are tested with, and what
// determinism shares with atomicity: what conflicts, and the engine and search for cycles.
const std::map<std::string, std::vector<std::string>, std::less<>> kMayInclude = {
    {"event", {}},
    {"engine", {"event"}},
    {"engine/differential", {"event", "engine", "check/*"}},
    {"runtime", {"event"}},
    {"instrument", {"event"}},
    {"trace", {"event"}},
    {"record", {"event", "runtime", "trace"}},
    {"clock", {"event"}},
    {"spec", {"event", "trace"}},
    {"check/*",
     {"event", "clock", "check/analysis.h", "check/check.h", "check/finding.h", "check/witnesses.h",
      "check/spread.h", "check/patterns.h", "spec", "check/races/detector.h",
      "check/races/happens_before.h", "check/units/units.h", "check/samples/random_trace.h",
      "check/samples/shrink.h", "check/atomicity/conflict.h", "check/atomicity/reach.h",
      "check/atomicity/evidence.h"}},
    {"check", {"event", "trace", "clock", "spec", "check/*"}},
    {"live", {"event", "clock", "record", "spec", "trace", "check", "check/*"}},
    {"report", {"event", "trace", "spec", "check"}},
    {"explore", {"event", "trace", "report"}},
    {"enforce", {"event"}},
    {"enforce/infer", {"event", "enforce"}},
    {"enforce/plan", {"event", "enforce", "trace"}},
    {"enforce/lock_runtime", {"event"}},
    {"enforce/steps", {"enforce/lock_runtime"}},
    {"cli",
     {"event", "runtime", "trace", "record", "clock", "spec", "check", "check/*", "live", "report",
      "explore", "enforce", "enforce/infer", "enforce/plan"}},
};

// The folder of a path relative to src/: "trace" of trace/source.h, "check/count" of
// check/count/count.h.
std::string folder_of(const std::string& path) {
  return fs::path(path).parent_path().generic_string();
}

std::string stage_of(const std::string& folder) {
  return folder.starts_with("check/") ? "check/*" : folder;
}

bool may_include(const std::string& file, const std::string& included) {
  const std::string from = folder_of(file);
  const std::string to = folder_of(included);
  if (from == to) return true;
  if (file.ends_with("_test.cc") && to == "trace") return true;
  const auto rule = kMayInclude.find(stage_of(from));
  if (rule == kMayInclude.end()) return false;
  return std::ranges::any_of(rule->second, [&](const std::string& allowed) {
    return allowed == included || allowed == stage_of(to);
  });
}

// What stands between the quotes of an #include "…", or nothing.
std::string_view quoted_include(std::string_view line) {
  const std::string_view spaces = " \t";
  line.remove_prefix(std::min(line.find_first_not_of(spaces), line.size()));
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  line.remove_prefix(std::min(line.find_first_not_of(spaces), line.size()));
  if (!line.starts_with("include")) return {};
  const std::size_t open = line.find('"');
  if (open == std::string_view::npos) return {};
  line.remove_prefix(open + 1);
  return line.substr(0, line.find('"'));
}

struct Graph {
  int includes = 0;
  std::vector<std::string> violations;  // "file:line includes what", sorted
};

Graph include_graph(const fs::path& root) {
  Graph graph;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    const fs::path& path = entry.path();
    if (path.extension() != ".h" && path.extension() != ".cc") continue;
    const std::string file = path.lexically_relative(root).generic_string();
    std::ifstream stream(path);
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
      const std::string included(quoted_include(line));
      if (included.empty()) continue;
      ++graph.includes;
      if (!may_include(file, included)) {
        std::ostringstream violation;
        violation << file << ':' << number << " includes " << included;
        graph.violations.push_back(violation.str());
      }
    }
  }
  std::ranges::sort(graph.violations);
  return graph;
}

TEST(IncludeGraph, ArrowsGoOneWay) {
  const Graph graph = include_graph(fs::path(SYNDROME_SOURCE_DIR) / "src");
  EXPECT_THAT(graph.violations, testing::IsEmpty());
  EXPECT_GT(graph.includes, 10) << "no sources found: this test looks in the wrong place";
}

TEST(IncludeGraph, EveryWrongArrowIsSeen) {
  const Graph graph = include_graph(fs::path(SYNDROME_SOURCE_DIR) / "tests/include_graph/fixture");
  EXPECT_THAT(graph.violations, testing::ElementsAre("check/one/one.cc:2 includes check/two/two.h",
                                                     "check/one/one.cc:3 includes trace/source.h",
                                                     "check/one/one.cc:4 includes check/registry.h",
                                                     "elsewhere/new.cc:1 includes event/event.h",
                                                     "event/event.cc:2 includes trace/source.h",
                                                     "event/event.cc:3 includes event.h",
                                                     "trace/source_test.cc:2 includes cli/main.h"));
}

}  // namespace
