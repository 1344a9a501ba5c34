#include "check/refine.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "check/atomicity/atomicity.h"
#include "spec/pattern.h"

namespace syndrome::check {
namespace {

bool is_main(std::string_view name) {
  return spec::simple_name(name) == "main" &&
         spec::spoken_name(name).find("::") == std::string_view::npos;
}

/// The name of the block that a finding blames; "" when it has none.
std::string_view blamed(const Finding& finding, const Names& names) {
  for (const Witness& witness : finding.witnesses) {
    if (witness.block == finding.block && finding.block != 0) {
      return names.label(witness.block_begin.label());
    }
  }
  return {};
}

}  // namespace

Sureness sureness_of(const Candidate& candidate) {
  if (candidate.use.contended == 0) return Sureness::kNotTested;
  return candidate.use.contended < Refinement::kTested ? Sureness::kLittleTested
                                                       : Sureness::kTested;
}

std::string_view name_of(Sureness sureness) {
  switch (sureness) {
    case Sureness::kTested: return "tested";
    case Sureness::kLittleTested: return "little tested";
    case Sureness::kNotTested: return "not tested";
  }
  return "";
}

void Refinement::survey(const std::map<std::string, FunctionUse>& seen) {
  for (const auto& [name, use] : seen) {
    if (is_mark(name)) continue;
    Candidate& candidate = functions_[name];
    candidate.use.calls += use.calls;
    candidate.use.contended += use.contended;
    candidate.use.threads = std::max(candidate.use.threads, use.threads);
    candidate.use.marked |= use.marked;
    candidate.use.entry |= use.entry;
    if (std::exchange(last_run_[name], runs_) != runs_) ++candidate.runs;
    if (candidate.state != Candidate::State::kAtomic) continue;
    // What the program itself calls a block is one, wherever it is called.
    if (candidate.use.marked) continue;
    if (is_main(name)) {
      candidate.state = Candidate::State::kMain;
    } else if (use.entry) {
      candidate.state = Candidate::State::kEntry;
      candidate.run = runs_;
    }
  }
}

std::unordered_set<std::string> Refinement::atomic() const {
  std::unordered_set<std::string> names;
  for (const auto& [name, candidate] : functions_) {
    if (candidate.state == Candidate::State::kAtomic) names.insert(name);
  }
  return names;
}

Result<Refinement::Outcome> Refinement::add(trace::Input& input, const Options& options) {
  return add([&input] { return input.read(); }, input.format(), options);
}

Result<Refinement::Outcome> Refinement::add(const Opener& open, trace::Format format,
                                            const Options& options) {
  Outcome outcome;
  {
    FunctionSurvey functions;
    Result<std::unique_ptr<trace::Source>> source = open();
    if (!source) return source.error();
    for (;;) {
      const Result<Batch> batch = (*source)->next();
      if (!batch) return batch.error();
      if (batch->empty()) break;
      functions.take(*batch, (*source)->names());
      if (options.interrupted && options.interrupted()) {
        outcome.interrupted = true;
        return outcome;
      }
    }
    survey(functions.result((*source)->names()));
  }

  for (;;) {
    const std::unordered_set<std::string> blocks = atomic();
    std::vector<std::unique_ptr<Check>> checks;
    checks.push_back(make_atomicity({}));
    PassOptions pass;
    pass.only = &blocks;
    pass.lenient = options.lenient;
    pass.on_progress = options.on_progress;
    pass.interrupted = options.interrupted;
    const Result<PassResult> result = run_pass(open, format, checks, pass);
    if (!result) return result.error();
    ++outcome.checks;
    if (outcome.checks == 1) outcome.warnings = result->warnings;
    outcome.events = result->trace.counts.events();
    if (result->interrupted) {
      outcome.interrupted = true;
      return outcome;
    }
    const CheckResult& atomicity = result->results.front();
    if (atomicity.verdict == Verdict::kClean) return outcome;

    const std::vector<std::string> reasons =
        options.explain ? options.explain(*result) : std::vector<std::string>();
    bool dropped = false;
    for (std::size_t i = 0; i < atomicity.findings.size(); ++i) {
      const auto at = functions_.find(std::string(blamed(atomicity.findings[i], result->names)));
      if (at == functions_.end()) continue;
      Candidate& candidate = at->second;
      candidate.blocks += atomicity.findings[i].count;
      if (candidate.state != Candidate::State::kAtomic) continue;
      candidate.state = Candidate::State::kViolated;
      candidate.run = runs_;
      if (i < reasons.size()) candidate.reason = reasons[i];
      outcome.dropped.push_back(at->first);
      dropped = true;
    }
    if (!dropped) {
      outcome.warnings.emplace_back(
          "this run is not atomic, and which function is at fault could not be found out: what is "
          "left may still violate it");
      return outcome;
    }
  }
}

}  // namespace syndrome::check
