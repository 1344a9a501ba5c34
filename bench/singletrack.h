// The programs of the SingleTrack paper (bench/programs/singletrack) and what its Table 1 says of
// them: for `make results`, and for the test that they get the same verdicts in every run.

#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace syndrome::bench {

struct SingleTrackFigures {
  int lines, threads;
  double seconds;                             // without any tool
  double empty_tool, singletrack, velodrome;  // slowdowns
  int atomicity_warnings, determinism_warnings;
};

enum class ProgramKind {
  kPlain,
  kFaulty,  // has the fault that the paper found, unless called with --fixed
  kTasks,   // main() and run() are not deterministic; the tasks that they start are
};

/// A row of Table 1, and the program that stands for it here.
struct SingleTrackRow {
  std::string_view name;
  SingleTrackFigures paper;
  ProgramKind kind;
  std::string_view program;              // bench/programs/singletrack/PROGRAM.cc
  std::vector<std::string_view> scopes;  // where its functions are
  std::set<std::string> not_atomic;      // of these, and without the fault
};

[[nodiscard]] const std::vector<SingleTrackRow>& singletrack_rows();

/// The spec in which every function of a program is atomic that the paper checked, but for those
/// that are `excluded`; and no others. What a lambda does is part of whoever calls it.
[[nodiscard]] std::string atomic_spec(const SingleTrackRow& row,
                                      const std::set<std::string>& excluded);

/// The functions that are not atomic. Blocks count as their outermost one; so those that `check`
/// blames with a spec are taken out of the next one, until it blames none.
[[nodiscard]] std::set<std::string> not_atomic(
    const SingleTrackRow& row,
    const std::function<std::set<std::string>(const std::string& spec)>& check);

/// The functions whose blocks a report (JSON) says to violate something, without parameters.
[[nodiscard]] std::set<std::string> blamed(const std::string& report);

}  // namespace syndrome::bench
