#include "singletrack.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace syndrome::bench {

const std::vector<SingleTrackRow>& singletrack_rows() {
  using enum ProgramKind;
  static const std::vector<SingleTrackRow> rows = {
      {"crypt",
       {1241, 7, 0.3, 3.6, 18.5, 18.9, 4, 0},
       kPlain,
       "crypt",
       {"cipher"},
       {"main", "cipher::run", "cipher::kernel", "cipher::cipher_all"}},
      {"lufact",
       {1627, 4, 0.2, 6.9, 15.3, 15.2, 5, 0},
       kPlain,
       "lufact",
       {"lufact"},
       {"main", "lufact::run", "lufact::kernel", "lufact::factorize", "lufact::worker"}},
      {"series",
       {967, 4, 2.0, 1.3, 1.2, 1.4, 4, 0},
       kPlain,
       "series",
       {"series"},
       {"main", "series::run", "series::kernel"}},
      {"sor",
       {876, 4, 0.2, 3.8, 7.7, 7.5, 6, 6},
       kFaulty,
       "sor",
       {"sor"},
       {"main", "sor::run", "sor::kernel", "sor::relax", "sor::worker",
        "sor::Barrier::meet_neighbours", "sor::Barrier::meet_neighbours_fixed"}},
      {"sparse",
       {868, 4, 0.3, 7.7, 24.6, 24.4, 4, 0},
       kPlain,
       "sparse",
       {"sparse"},
       {"main", "sparse::run", "sparse::kernel"}},
      {"moldyn",
       {1402, 4, 0.7, 5.1, 18.6, 16.2, 6, 0},
       kPlain,
       "moldyn",
       {"moldyn"},
       {"main", "moldyn::run", "moldyn::kernel", "moldyn::worker"}},
      {"montecarlo",
       {2669, 4, 1.6, 2.2, 6.7, 6.9, 5, 0},
       kPlain,
       "montecarlo",
       {"montecarlo"},
       {"main", "montecarlo::run", "montecarlo::kernel"}},
      {"raytracer",
       {1970, 4, 0.9, 13.3, 19.5, 19.9, 5, 1},
       kFaulty,
       "raytracer",
       {"raytracer"},
       {"main", "raytracer::run", "raytracer::kernel"}},
      {"matrixmult",
       {301, 7, 0.04, 4.1, 5.8, 6.0, 5, 0},
       kPlain,
       "matrixmult",
       {"matrixmult"},
       {"main", "matrixmult::run", "matrixmult::multiply_random", "matrixmult::multiply"}},
      {"quicksort",
       {292, 29, 0.05, 4.2, 5.9, 5.8, 5, 0},
       kPlain,
       "quicksort",
       {"quicksort"},
       {"main", "quicksort::run", "quicksort::sort", "quicksort::sort_part"}},
      {"hedc", {6400, 6, 25.9, 1.0, 1.0, 1.0, 0, 0}, kTasks, "hedc", {"hedc"}, {}},
      {"queue-jg",
       {3906, 9, 4.1, 2.1, 9.6, 10.0, 28, 0},
       kTasks,
       "queue_jg",
       {"queue_jg", "cipher", "lufact", "series", "sor", "sparse"},
       {"queue_jg::run_task", "cipher::run", "cipher::kernel", "cipher::cipher_all", "lufact::run",
        "lufact::kernel", "lufact::factorize", "lufact::worker", "series::run", "series::kernel",
        "sor::run", "sor::kernel", "sor::relax", "sor::worker", "sor::Barrier::meet_neighbours",
        "sor::Barrier::meet_neighbours_fixed", "sparse::run", "sparse::kernel"}},
      {"queue-mm",
       {449, 11, 1.0, 1.3, 1.3, 1.3, 7, 0},
       kTasks,
       "queue_mm",
       {"queue_mm", "matrixmult"},
       {"queue_mm::run_task", "matrixmult::multiply_random", "matrixmult::multiply"}},
  };
  return rows;
}

std::string atomic_spec(const SingleTrackRow& row, const std::set<std::string>& excluded) {
  std::string spec = "[blocks]\natomic = [";
  if (row.kind != ProgramKind::kTasks) spec += "\"::main\", ";
  for (const std::string_view scope : row.scopes) spec += fmt::format("\"::{}::*\", ", scope);
  spec += "]\nexclude = [\"re:lambda|[$]_\", ";
  if (row.kind == ProgramKind::kTasks) spec += fmt::format("\"::{}::run\", ", row.program);
  for (const std::string& function : excluded) spec += fmt::format("\"::{}\", ", function);
  return spec + "]\n";
}

std::set<std::string> not_atomic(
    const SingleTrackRow& row,
    const std::function<std::set<std::string>(const std::string& spec)>& check) {
  std::set<std::string> all;
  while (true) {
    const std::size_t before = all.size();
    all.merge(check(atomic_spec(row, all)));
    if (all.size() == before) return all;
  }
}

std::set<std::string> blamed(const std::string& report) {
  const nlohmann::json json = nlohmann::json::parse(report);
  std::set<std::string> functions;
  for (const nlohmann::json& check : json.at("checks")) {
    for (const nlohmann::json& finding : check.at("findings")) {
      for (const nlohmann::json& block : finding.at("blocks")) {
        if (block.at("begin") != finding.at("block")) continue;
        const std::string label = block.at("label").get<std::string>();
        functions.insert(label.substr(0, label.find('(')));
      }
    }
  }
  return functions;
}

}  // namespace syndrome::bench
