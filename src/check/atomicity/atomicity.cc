#include "check/atomicity/atomicity.h"
#include "check/witnesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <utility>

#include "check/atomicity/aerodrome.h"
#include "check/atomicity/engine.h"
#include "check/atomicity/evidence.h"
#include "check/atomicity/reach.h"
#include "check/atomicity/velodrome.h"
#include "check/atomicity/verify.h"

namespace syndrome::check {

namespace {

template <AtomicityEngine Engine>
class Atomicity final : public Check {
 public:
  Atomicity(const Options& options, std::string_view engine)
      : options_(options), engine_name_(engine), engine_(std::make_unique<Engine>()) {}

  void take(const Batch& batch, const Names&) override {
    switch (pass_) {
      case Pass::kDecide:
        dispatch(*engine_, batch, [this] { return decided(); });
        last_event_ = batch.first + batch.events.size() - 1;
        return;
      case Pass::kFind: {
        Batch part = batch;
        if (only_first() && batch.first + batch.events.size() > violation_.event) {
          part.events = batch.events.first(
              violation_.event < batch.first ? 0 : violation_.event - batch.first + 1);
        }
        last_event_ = part.first + part.events.size() - 1;
        dispatch(*evidence_, part);
        return;
      }
      case Pass::kVerify: verifier_->take(batch); return;
    }
  }

  [[nodiscard]] bool satisfied() const override {
    switch (pass_) {
      case Pass::kDecide: return decided();
      case Pass::kFind: return only_first() && last_event_ >= violation_.event;
      case Pass::kVerify: return verifier_->satisfied();
    }
    return false;
  }

  [[nodiscard]] bool end_of_pass(const Names&) override {
    switch (pass_) {
      case Pass::kDecide:
        if (gave_up()) {
          result_.verdict = Verdict::kUndecided;
          result_.notes.push_back(fmt::format(
              "more threads are alive together than --engine {} can hold; the default, {}, can",
              engine_name_, atomicity_engines().front()));
          return false;
        }
        if (!decided()) engine_->finish(last_event_);
        result_.stats = engine_->stats();
        violation_ = engine_->violation();
        engine_.reset();
        if (violation_.event == 0) return false;
        result_.verdict = Verdict::kViolated;
        begin_evidence();
        last_event_ = 0;
        pass_ = Pass::kFind;
        return true;
      case Pass::kFind:
        end_evidence();
        // So much to search that nothing was found: then only where the engine saw it.
        if (result_.findings.empty() && !one_is_enough_) {
          one_is_enough_ = true;
          begin_evidence();
          last_event_ = 0;
          return true;
        }
        verifier_.emplace(result_.findings);
        pass_ = Pass::kVerify;
        return true;
      case Pass::kVerify: verify(); return false;
    }
    return false;
  }

  [[nodiscard]] CheckResult result() override {
    result_.check = "atomicity";
    result_.engine = engine_name_;
    return std::move(result_);
  }

 private:
  enum class Pass : std::uint8_t { kDecide, kFind, kVerify };

  [[nodiscard]] bool gave_up() const {
    if constexpr (requires { engine_->too_many_threads(); }) return engine_->too_many_threads();
    return false;
  }
  [[nodiscard]] bool decided() const { return engine_->violation().event != 0 || gave_up(); }

  /// Whether what comes after the first violation is of no interest.
  [[nodiscard]] bool only_first() const { return options_.first || one_is_enough_; }

  void begin_evidence() {
    Evidence::Options options;
    options.wide = options_.all;
    if (one_is_enough_) {
      options.one_of = violation_.thread;
    } else {
      options.budget = options_.effort;
    }
    evidence_ = std::make_unique<Evidence>(options, [this](Cycle cycle) { add(std::move(cycle)); });
  }

  void add(Cycle cycle) {
    ++cycles_;
    Finding finding;
    finding.check = "atomicity";
    finding.rule = "conflict-cycle";
    finding.block = cycle.block;
    finding.cycle = std::move(cycle.edges);
    for (const Edge& edge : finding.cycle) finding.event = std::max(finding.event, edge.to);
    if (!options_.all) {
      const auto [at, added] =
          group_of_.try_emplace(std::move(cycle.sites), result_.findings.size());
      if (!added) {  // the earliest one stands for the group
        Finding& group = result_.findings[at->second];
        finding.count = group.count + 1;
        if (finding.event < group.event) {
          group = std::move(finding);
        } else {
          group.count = finding.count;
        }
        return;
      }
    }
    result_.findings.push_back(std::move(finding));
  }

  void end_evidence() {
    evidence_->finish();
    if (!one_is_enough_) {
      result_.stats.push_back({"components with a cycle", evidence_->components()});
      result_.stats.push_back({"violating blocks", cycles_});
    }
    if (const std::string& note = evidence_->incomplete(); !note.empty()) {
      result_.complete = false;
      if (std::ranges::find(result_.notes, note) == result_.notes.end()) {
        result_.notes.push_back(note);
      }
    }
    evidence_.reset();
    group_of_.clear();
    std::ranges::sort(result_.findings, {},
                      [](const Finding& f) { return std::pair(f.event, f.block); });
    if (options_.first && result_.findings.size() > 1) result_.findings.resize(1);
  }

  void verify() { keep_accepted(*verifier_, result_); }

  Options options_;
  std::string engine_name_;
  Pass pass_ = Pass::kDecide;
  std::unique_ptr<Engine> engine_;
  Violation violation_;
  EventNumber last_event_ = 0;  // that this pass has seen
  std::unique_ptr<Evidence> evidence_;
  std::map<std::vector<std::uint64_t>, std::size_t> group_of_;
  std::uint64_t cycles_ = 0;
  bool one_is_enough_ = false;
  std::optional<CycleVerifier> verifier_;
  CheckResult result_;
};

}  // namespace

const std::vector<std::string_view>& atomicity_engines() {
  static const std::vector<std::string_view> engines = {"reach", "aerodrome", "velodrome"};
  return engines;
}

std::unique_ptr<Check> make_atomicity(const Options& options) {
  if (options.engine == "aerodrome") {
    return std::make_unique<Atomicity<Aerodrome>>(options, "aerodrome");
  }
  if (options.engine == "velodrome") {
    return std::make_unique<Atomicity<Velodrome>>(options, "velodrome");
  }
  assert(options.engine.empty() || options.engine == "reach");
  return std::make_unique<Atomicity<Reach>>(options, "reach");
}

}  // namespace syndrome::check
