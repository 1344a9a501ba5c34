#include "instrument/flow.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>
#include <map>
#include <utility>

#include "event/unit.h"
#include "instrument/flow_graph.h"
#include "instrument/flow_objects.h"
#include "instrument/flow_slice.h"
#include "instrument/flow_steps.h"
#include "instrument/sites.h"

namespace syndrome::instrument {
namespace {

/// Functions with more steps are generated code, and pairs grow with the square.
constexpr std::size_t kMostSteps = 1024;
/// Sources beside the steps: parameters, and what is read that is no step.
constexpr std::size_t kMostSources = 256;
/// Steps that come together in one place, or have one source, in pairs.
constexpr std::size_t kMostTogether = 32;
constexpr std::size_t kMostFlows = 1u << 14;  // of a function

bool in_system(const llvm::DILocation& location) {
  const llvm::DIFile* const file = location.getFile();
  return file != nullptr && in_system_header(source_path(file));
}

/// Numbers the steps of a function.
class StepFinder {
 public:
  StepFinder(FunctionFlow& flow, StepNumbers& numbers) : flow_(flow), numbers_(numbers) {}

  void find(const Plan& plan) {
    for (const PlannedAccess& access : plan.accesses) {
      const bool both = access.kind == unit::SiteKind::kReadWrite;
      Step step{access.instruction, both || access.kind == unit::SiteKind::kRead,
                both || access.kind == unit::SiteKind::kWrite, false};
      const std::uint32_t number = add(step);
      if (access.stores != nullptr) numbers_[access.stores] = number;
    }
    for (const PlannedRange& range : plan.ranges) {
      add({range.instruction, range.reads, range.writes, false});
    }
    for (const PlannedAtomic& atomic : plan.atomics) {
      const bool store = llvm::isa<llvm::StoreInst>(atomic.instruction);
      const bool load = llvm::isa<llvm::LoadInst>(atomic.instruction);
      add({atomic.instruction, !store, !load, false});
    }
    for (const llvm::CallBase* call : plan.calls) add({call, true, true, true});
    for (const auto& [again, first] : plan.repeated) {
      const auto found = numbers_.find(first);
      if (found != numbers_.end() && llvm::isa<llvm::LoadInst>(first)) {
        const std::uint32_t number = found->second;
        numbers_[again] = number;
      }
    }
  }

 private:
  /// Of what is inlined from a system header, the call in the program; null: itself.
  const llvm::DILocation* program_call(const llvm::Instruction& instruction) {
    const llvm::DILocation* at = instruction.getDebugLoc().get();
    if (at == nullptr || at->getInlinedAt() == nullptr || !is_system(*at)) return nullptr;
    while (at != nullptr && is_system(*at)) at = at->getInlinedAt();
    return at;
  }
  bool is_system(const llvm::DILocation& location) {
    const auto [known, added] = system_.try_emplace(location.getFile(), false);
    if (added) known->second = in_system(location);
    return known->second;
  }
  std::uint32_t add(const Step& step) {
    const auto next = static_cast<std::uint32_t>(flow_.steps.size());
    std::uint32_t number = next;
    if (const llvm::DILocation* const call = program_call(*step.instruction)) {
      number = calls_.try_emplace(call, next).first->second;
    }
    if (number == next) {
      flow_.steps.push_back(step);
    } else {
      Step& known = flow_.steps[number];
      known.reads |= step.reads;
      known.writes |= step.writes;
      known.call |= step.call;
    }
    if (looks_again(*step.instruction)) flow_.steps[number].looks_again = true;
    numbers_[step.instruction] = number;
    return number;
  }

  FunctionFlow& flow_;
  StepNumbers& numbers_;
  llvm::DenseMap<const llvm::DILocation*, std::uint32_t> calls_;
  llvm::DenseMap<const llvm::DIFile*, bool> system_;
};

/// `this`, as far as debug information knows it.
const llvm::Argument* self_of(const llvm::Function& function, const llvm::Function& body) {
  const llvm::DISubprogram* const program = function.getSubprogram();
  if (program == nullptr || function.arg_empty()) return nullptr;
  const llvm::DISubroutineType* const type = program->getType();
  if (type == nullptr || type->getTypeArray().size() < 2) return nullptr;
  const auto* const first = llvm::dyn_cast_or_null<llvm::DIType>(type->getTypeArray()[1]);
  if (first == nullptr || !first->isObjectPointer()) return nullptr;
  const unsigned at = function.hasStructRetAttr() && function.arg_size() > 1 ? 1 : 0;
  return body.getArg(at);
}

/// Connects the steps of one function.
class Connector {
 public:
  Connector(const llvm::Function& function, const llvm::Function& body, const FlowBodies& bodies,
            FlowFacts& facts, FunctionFlow& flow)
      : body_(body),
        flow_(flow),
        graph_(body),
        slicer_(body, bodies, facts, graph_, flow.steps.size(), self_of(function, body)),
        instructions_(flow.steps.size()) {
    for (const llvm::Instruction& instruction : llvm::instructions(body)) {
      if (const auto step = bodies.step_of(instruction)) {
        instructions_[*step].push_back(&instruction);
      } else if (is_source(instruction)) {
        sources_.push_back(&instruction);
      }
    }
    for (const llvm::Argument& argument : body.args()) {
      if (!argument.getType()->isPointerTy()) sources_.push_back(&argument);
    }
    for (const auto& step : instructions_) facts_.push_back(facts_of(step));
    used_.resize(static_cast<unsigned>(instructions_.size()));
  }

  void connect() {
    for (std::uint32_t i = 0; i < flow_.steps.size() && i < kMostSteps; ++i) {
      if (flow_.steps[i].reads && !from_step(i)) break;
    }
    for (std::size_t i = 0; i < sources_.size() && i < kMostSources; ++i) {
      slicer_.begin();
      slicer_.add_source(*sources_[i]);
      const bool whole = slicer_.run();
      connect_written();
      if (llvm::isa<llvm::Argument>(sources_[i])) find_steered();
      if (!whole) break;
    }
    for (const auto& [at, steps] : joined_) pairs(steps, unit::kFlowJoined);
    connect_places();
    for (const auto& [pair, how] : found_) flow_.flows.push_back({pair.first, pair.second, how});
  }

 private:
  static bool is_source(const llvm::Instruction& instruction) {
    return llvm::isa<llvm::LoadInst>(instruction) && !instruction.getType()->isPointerTy();
  }
  /// Whether a run of `a` may be followed by one of `b` in the same round.
  [[nodiscard]] bool comes_before(std::uint32_t a, std::uint32_t b) const {
    for (const llvm::Instruction* from : instructions_[a]) {
      for (const llvm::Instruction* to : instructions_[b]) {
        if (from != to && graph_.comes_before(*from, *to)) return true;
      }
    }
    return false;
  }
  void add(std::uint32_t from, std::uint32_t to, std::uint32_t how) {
    if ((how & unit::kFlowData) != 0 && keeps_bits(instructions_[from], instructions_[to])) {
      how &= ~std::uint32_t{unit::kFlowData};
    }
    constexpr std::uint32_t kNeedless = unit::kFlowData | unit::kFlowControl;
    if (flow_.steps[to].looks_again && (how & kNeedless) != 0) how = unit::kFlowCompared;
    if ((how & unit::kFlowControl) != 0 &&
        (facts_[to].sets_constant ||
         is_compared_with_written(instructions_[from], instructions_[to]))) {
      how |= unit::kFlowConstant;
    }
    if (from != to && how != 0 && found_.size() < kMostFlows) found_[{from, to}] |= how;
  }
  /// Each two of them, the one that comes first first.
  void pairs(const std::vector<std::uint32_t>& steps, std::uint32_t how) {
    for (std::size_t i = 0; i < steps.size() && i < kMostTogether; ++i) {
      for (std::size_t k = i + 1; k < steps.size() && k < kMostTogether; ++k) {
        if (steps[i] == steps[k]) continue;
        if (comes_before(steps[i], steps[k])) {
          add(steps[i], steps[k], how);
        } else if (comes_before(steps[k], steps[i])) {
          add(steps[k], steps[i], how);
        }
      }
    }
  }
  /// What comes from one source that is no pointer.
  void connect_written() {
    std::vector<std::uint32_t> written;
    for (const std::uint32_t step : slicer_.reached()) {
      if (flow_.steps[step].writes && (slicer_.arrival(step).data & kValue) != 0) {
        written.push_back(step);
      }
    }
    std::sort(written.begin(), written.end());
    pairs(written, unit::kFlowSource);
  }

  /// What comes from two accesses of one place: what was read is reset, or what was updated is read
  /// again.
  void connect_places() {
    for (std::uint32_t a = 0; a < facts_.size() && a < kMostSteps; ++a) {
      const StepFacts& first = facts_[a];
      if (first.base == nullptr || !((first.reads && used_.test(a)) || first.updates_unseen)) {
        continue;
      }
      for (std::uint32_t b = 0; b < facts_.size() && b < kMostSteps; ++b) {
        if (a == b || !first.same_place(facts_[b]) || !comes_before(a, b)) continue;
        if (first.reads && facts_[b].sets_constant) add(a, b, unit::kFlowReset);
        if (first.updates_unseen && facts_[b].reads) add(a, b, unit::kFlowReread);
      }
    }
  }

  /// Steps that the source, a parameter, is part of the address or the arguments of, decides about,
  /// or is compared with.
  void find_steered() {
    for (const std::uint32_t at : slicer_.joins()) {
      // To ask whether it is still the same is to look again.
      const auto* const compare = llvm::dyn_cast<llvm::ICmpInst>(&slicer_.join(at));
      if (compare == nullptr || compare->isEquality()) continue;
      const auto joined = joined_.find(at);
      if (joined == joined_.end()) continue;
      for (const std::uint32_t step : joined->second) flow_.steps[step].steered = true;
    }
    for (std::uint32_t i = 0; i < flow_.steps.size() && i < kMostSteps; ++i) {
      Step& step = flow_.steps[i];
      const Arrival& arrival = slicer_.arrival(i);
      step.steered = step.steered || arrival.address || (step.call && arrival.data != 0) ||
                     llvm::any_of(instructions_[i], [&](const llvm::Instruction* instruction) {
                       return slicer_.decided().test(graph_.block_of(*instruction->getParent()));
                     });
    }
  }

  bool from_step(std::uint32_t from) {
    slicer_.begin();
    bool pointer = true;
    for (const llvm::Instruction* instruction : instructions_[from]) {
      if (llvm::isa<llvm::StoreInst>(instruction)) continue;
      slicer_.add_source(*instruction);
      pointer = pointer && instruction->getType()->isPointerTy();
    }
    const bool whole = slicer_.run();
    const Step& step = flow_.steps[from];
    const bool returns = step.writes;  // a call, or an atomic that reads and writes
    for (const std::uint32_t to : slicer_.reached()) {
      const Arrival& arrival = slicer_.arrival(to);
      std::uint32_t how = 0;
      if (arrival.data == kImplied) {
        // Which of several values it is, and not what it is made of.
        how |= unit::kFlowControl;
        if (returns) how |= unit::kFlowResult;
      } else if (arrival.data != 0) {
        how |= unit::kFlowData;
        if ((arrival.data & (kValue | kImplied)) == 0) how |= unit::kFlowPointer;
        if (returns) how |= unit::kFlowResult;
      }
      if (arrival.address && (arrival.data == 0 || !flow_.steps[to].call)) {
        how |= unit::kFlowAddress;
      }
      if (arrival.compared != 0) how |= unit::kFlowCompared;
      add(from, to, how);
    }
    if (slicer_.decided().any()) {
      for (std::uint32_t to = 0; to < flow_.steps.size() && to < kMostSteps; ++to) {
        const bool decided = to != from && is_decided(from, to);
        if (decided) {
          add(from, to,
              unit::kFlowControl | unit::kFlowDecides |
                  (returns ? std::uint32_t{unit::kFlowResult} : 0));
        }
      }
    }
    if (!pointer) connect_written();
    if (slicer_.reaches_result() || !slicer_.reached().empty()) used_.set(from);
    if (slicer_.reaches_result()) flow_.results.push_back(from);
    for (const std::uint32_t at : slicer_.joins()) {
      std::vector<std::uint32_t>& there = joined_[at];
      if (there.empty() || there.back() != from) there.push_back(from);
    }
    return whole;
  }
  /// All of it: what a library's function that was inlined decides for itself is its own matter.
  [[nodiscard]] bool is_decided(std::uint32_t from, std::uint32_t to) const {
    return !instructions_[to].empty() && comes_before(from, to) &&
           llvm::all_of(instructions_[to], [&](const llvm::Instruction* instruction) {
             const std::uint32_t block = graph_.block_of(*instruction->getParent());
             return slicer_.decided().test(block) || !graph_.runs(block);
           });
  }

  const llvm::Function& body_;
  FunctionFlow& flow_;
  FlowGraph graph_;
  FlowSlicer slicer_;
  std::vector<std::vector<const llvm::Instruction*>> instructions_;  // by step
  std::vector<StepFacts> facts_;                                     // likewise
  llvm::BitVector used_;                                        // likewise: what it reads is used
  std::vector<const llvm::Value*> sources_;                     // that are no steps
  std::map<std::uint32_t, std::vector<std::uint32_t>> joined_;  // by value
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> found_;
};

bool of_program(const llvm::Function& function) {
  const llvm::DISubprogram* const program = function.getSubprogram();
  return program == nullptr || !in_system_header(source_path(program->getFile()));
}

}  // namespace

FlowAnalysis::FlowAnalysis(llvm::Module& module, const Planner& planner) {
  std::vector<const llvm::Function*> functions;
  for (const llvm::Function& function : module) {
    const Plan* const plan = planner.plan_of(function);
    if (plan == nullptr || !plan->framed || !of_program(function)) continue;
    functions.push_back(&function);
  }
  FlowBodies bodies(module);
  FlowFacts facts(bodies);
  // Each with its steps, before a fact asks for it without them.
  for (const llvm::Function* function : functions) {
    FunctionFlow& flow = flows_[function];
    StepNumbers numbers;
    StepFinder(flow, numbers).find(*planner.plan_of(*function));
    bodies.of(*function, &numbers);
  }
  for (const llvm::Function* function : functions) {
    FunctionFlow& flow = flows_[function];
    const llvm::Function& body = bodies.of(*function);
    if (flow.steps.size() >= 2) flow.objects = objects_of(*function, facts);
    if (body.size() > FlowGraph::kMostBlocks) continue;
    Connector(*function, body, bodies, facts, flow).connect();
  }
}

}  // namespace syndrome::instrument
