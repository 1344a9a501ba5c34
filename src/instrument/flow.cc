#include "instrument/flow.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "event/unit.h"
#include "instrument/flow_facts.h"
#include "instrument/flow_graph.h"

namespace syndrome::instrument {
namespace {

// A function with more than this is generated code: its slices would take longer than the compiler.
constexpr std::size_t kMostFlowInstructions = 8'000;
constexpr std::size_t kMostFlowSteps = 500;
constexpr std::size_t kMostFlowBlocks = 1'500;

/// What a step's value comes to.
struct Slice {
  llvm::BitVector data;      // instructions whose value is made of it
  llvm::BitVector implicit;  // or decided by it, where branches meet
  llvm::BitVector decided;   // blocks whose execution it decides
};

class FunctionFlow {
 public:
  FunctionFlow(const llvm::Function& function, FlowFacts& facts)
      : facts_(facts), graph_(function) {
    for (const llvm::Instruction& each : llvm::instructions(function)) {
      numbers_[&each] = static_cast<unsigned>(all_.size());
      all_.push_back(&each);
    }
  }

  [[nodiscard]] Slice slice(const llvm::Instruction& seed) {
    Slice slice{llvm::BitVector(size()), llvm::BitVector(size()),
                llvm::BitVector(graph_.blocks())};
    slice_ = &slice;
    seed_ = &seed;
    work_.clear();
    branched_.clear();
    memory_.clear();
    add_users(seed, true);
    if (const auto* const call = llvm::dyn_cast<llvm::CallBase>(&seed)) write_through(*call, true);
    while (!work_.empty()) {
      const auto [at, data] = work_.back();
      work_.pop_back();
      visit(*at, data);
    }
    return slice;
  }

  /// How the slice of `from` ends in `to`.
  [[nodiscard]] std::uint32_t how(const Slice& slice, const llvm::Instruction& from,
                                  const llvm::Instruction& to) {
    std::uint32_t how = 0;
    bool value = false;  // one that is no pointer
    bool pointer = false;
    const auto take = [&](const llvm::Value* operand, bool is_address) {
      const bool data = is_data(slice, from, operand) || holds(slice, from, operand);
      if (!data) {
        const auto* const made = llvm::dyn_cast<llvm::Instruction>(operand);
        if (made != nullptr && !is_address && slice.implicit.test(numbers_.at(made))) {
          how |= unit::kFlowControl;
        }
        return;
      }
      if (is_address) {
        how |= unit::kFlowAddress;
        return;
      }
      how |= unit::kFlowData;
      const bool is_pointer =
          operand->getType()->isPointerTy() && is_data(slice, from, operand);
      (is_pointer ? pointer : value) = true;
    };
    if (const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&to)) {
      take(store->getValueOperand(), false);
      take(store->getPointerOperand(), true);
    } else if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&to)) {
      take(load->getPointerOperand(), true);
    } else if (const auto* const rmw = llvm::dyn_cast<llvm::AtomicRMWInst>(&to)) {
      take(rmw->getValOperand(), false);
      take(rmw->getPointerOperand(), true);
    } else if (const auto* const cas = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&to)) {
      if (is_data(slice, from, cas->getCompareOperand())) how |= unit::kFlowCompared;
      take(cas->getNewValOperand(), false);
    } else if (const auto* const call = llvm::dyn_cast<llvm::CallBase>(&to)) {
      const llvm::Function* const callee = call->getCalledFunction();
      if (callee != nullptr && callee->getName().contains("compare_exchange")) {
        for (const llvm::Value* argument : call->args()) {
          if (is_data(slice, from, argument) || holds(slice, from, argument)) {
            how |= unit::kFlowCompared;
          }
        }
      }
      if (!only_manages(*call)) {
        for (const llvm::Value* argument : call->args()) take(argument, false);
      }
      if (pointer) how |= unit::kFlowAddress;
    }
    if (pointer && !value) how |= unit::kFlowPointer;
    const unsigned block = graph_.number(to.getParent());
    const unsigned begin = graph_.number(from.getParent());
    if (slice.decided.test(block) && (block == begin ? from.comesBefore(&to) : graph_.follows(begin, block))) {
      how |= unit::kFlowControl;
    }
    return how;
  }

  /// Whether what both read is put together somewhere.
  [[nodiscard]] bool joined(const Slice& a, const llvm::Instruction& from, const Slice& b,
                            const llvm::Instruction& to) {
    for (const unsigned i : a.data.set_bits()) {
      const llvm::Instruction& at = *all_[i];
      const bool both = b.data.test(i);
      if (both && puts_together(at)) {
        // By two operands: what is made of one value that both have come to is no second time.
        for (const llvm::Value* one : at.operand_values()) {
          for (const llvm::Value* other : at.operand_values()) {
            if (one == other) continue;
            if (is_data(a, from, one) && !is_data(b, to, one) && is_data(b, to, other)) return true;
          }
        }
      }
    }
    // One decides, where branches meet, whether the other is the result: a && b.
    for (const unsigned i : b.data.set_bits()) {
      if (llvm::isa<llvm::PHINode>(all_[i]) && a.implicit.test(i) &&
          all_[i]->getType()->isIntegerTy(1)) {
        return true;
      }
    }
    return into_one_result(a, from, b, to);
  }

  /// What a write is made of that is no pointer: parameters, and what was read or returned.
  [[nodiscard]] std::set<const llvm::Value*> sources(const llvm::Instruction& write) {
    std::set<const llvm::Value*> found;
    llvm::SmallVector<const llvm::Value*, 16> work;
    std::set<const llvm::Value*> seen;
    if (const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&write)) {
      work.push_back(store->getValueOperand());
    } else if (const auto* const rmw = llvm::dyn_cast<llvm::AtomicRMWInst>(&write)) {
      work.push_back(rmw->getValOperand());
    } else if (const auto* const call = llvm::dyn_cast<llvm::CallBase>(&write)) {
      if (only_manages(*call)) return found;
      for (const llvm::Value* argument : call->args()) work.push_back(argument);
    }
    while (!work.empty()) {
      const llvm::Value* const value = work.pop_back_val();
      if (!seen.insert(value).second) continue;
      const bool pointer = value->getType()->isPointerTy();
      if (llvm::isa<llvm::Argument>(value)) {
        if (!pointer) found.insert(value);
        continue;
      }
      const auto* const made = llvm::dyn_cast<llvm::Instruction>(value);
      if (made == nullptr) continue;
      if (llvm::isa<llvm::LoadInst>(made) || llvm::isa<llvm::CallBase>(made) ||
          llvm::isa<llvm::AtomicRMWInst>(made)) {
        if (!pointer) found.insert(made);
        if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(made)) {
          const llvm::Value* const base = base_of(load->getPointerOperand());
          if (llvm::isa<llvm::AllocaInst>(base) && !pointer) found.insert(base);
          continue;
        }
        if (const auto* const call = llvm::dyn_cast<llvm::CallBase>(made)) {
          for (const llvm::Value* argument : call->args()) {
            if (!argument->getType()->isPointerTy()) work.push_back(argument);
          }
        }
        continue;
      }
      if (llvm::isa<llvm::AllocaInst>(made)) continue;
      for (const llvm::Value* operand : made->operand_values()) work.push_back(operand);
    }
    return found;
  }

  [[nodiscard]] bool reaches_result(const Slice& slice, const llvm::Instruction& from) {
    for (const llvm::Instruction* at : all_) {
      if (const auto* const ret = llvm::dyn_cast<llvm::ReturnInst>(at)) {
        const llvm::Value* const value = ret->getReturnValue();
        if (value == nullptr) continue;
        if (is_data(slice, from, value)) return true;
        const auto* const made = llvm::dyn_cast<llvm::Instruction>(value);
        if (made != nullptr && slice.implicit.test(numbers_.at(made))) return true;
        // Different constants are returned.
        if (slice.decided.test(graph_.number(ret->getParent()))) return true;
      } else if (const llvm::Argument* const out = result_of(*at)) {
        if (is_result(*out) && is_data(slice, from, llvm::cast<llvm::StoreInst>(at)->getValueOperand())) {
          return true;
        }
      }
    }
    return false;
  }

  [[nodiscard]] bool may_follow(const llvm::Instruction& from, const llvm::Instruction& to) {
    const unsigned a = graph_.number(from.getParent());
    const unsigned b = graph_.number(to.getParent());
    return a == b ? from.comesBefore(&to) : graph_.follows(a, b);
  }

 private:
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(all_.size()); }

  [[nodiscard]] bool is_data(const Slice& slice, const llvm::Instruction& seed,
                             const llvm::Value* value) const {
    if (value == &seed) return true;
    const auto* const made = llvm::dyn_cast<llvm::Instruction>(value);
    return made != nullptr && slice.data.test(numbers_.at(made));
  }
  /// Whether the pointer is to memory of the function that has something of the slice.
  [[nodiscard]] bool holds(const Slice& slice, const llvm::Instruction& seed,
                           const llvm::Value* pointer) const {
    if (!pointer->getType()->isPointerTy()) return false;
    const llvm::Value* const base = base_of(pointer);
    const auto* const made = llvm::dyn_cast<llvm::Instruction>(base);
    if (made == nullptr || (!llvm::isa<llvm::AllocaInst>(made) && !llvm::isa<llvm::CallBase>(made))) {
      return false;
    }
    const auto stored = memory_of_.find({&seed, base});
    (void)slice;
    return stored != memory_of_.end() && stored->second;
  }

  /// Memory of the caller that is there for the result: of a struct, or `int* out`.
  [[nodiscard]] static const llvm::Argument* result_of(const llvm::Instruction& at) {
    const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&at);
    return store == nullptr ? nullptr
                            : llvm::dyn_cast<llvm::Argument>(base_of(store->getPointerOperand()));
  }
  [[nodiscard]] static bool is_result(const llvm::Argument& argument) {
    return argument.hasStructRetAttr() || argument.getArgNo() > 0;
  }

  /// Fields of one struct that is returned.
  [[nodiscard]] bool into_one_result(const Slice& a, const llvm::Instruction& from, const Slice& b,
                                     const llvm::Instruction& to) {
    std::set<const llvm::Value*> first;
    for (const llvm::Instruction* at : all_) {
      const auto* const store = llvm::dyn_cast<llvm::StoreInst>(at);
      if (store == nullptr) continue;
      const llvm::Value* const base = base_of(store->getPointerOperand());
      const auto* const argument = llvm::dyn_cast<llvm::Argument>(base);
      if (argument == nullptr || !argument->hasStructRetAttr()) continue;
      if (is_data(a, from, store->getValueOperand())) first.insert(base);
    }
    if (first.empty()) return false;
    for (const llvm::Instruction* at : all_) {
      const auto* const store = llvm::dyn_cast<llvm::StoreInst>(at);
      if (store != nullptr && first.contains(base_of(store->getPointerOperand())) &&
          is_data(b, to, store->getValueOperand())) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] static bool puts_together(const llvm::Instruction& at) {
    return llvm::isa<llvm::BinaryOperator>(at) || llvm::isa<llvm::CmpInst>(at) ||
           llvm::isa<llvm::SelectInst>(at) || llvm::isa<llvm::InsertValueInst>(at);
  }

  void add(const llvm::Instruction& at, bool data) {
    const unsigned number = numbers_.at(&at);
    llvm::BitVector& set = data ? slice_->data : slice_->implicit;
    if (set.test(number) || (!data && slice_->data.test(number))) return;
    set.set(number);
    work_.emplace_back(&at, data);
  }

  void add_users(const llvm::Instruction& value, bool data) {
    for (const llvm::User* user : value.users()) {
      if (const auto* const at = llvm::dyn_cast<llvm::Instruction>(user)) {
        if (numbers_.contains(at)) add(*at, data);
      }
    }
  }

  /// The value of `at` is in the slice now, or what it does with one is.
  void visit(const llvm::Instruction& at, bool data) {
    if (&at == seed_) return;
    if (const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&at)) {
      const auto* const value = llvm::dyn_cast<llvm::Instruction>(store->getValueOperand());
      const bool stored = value == seed_ || (value != nullptr && slice_->data.test(numbers_.at(value)));
      if (stored) remember(store->getPointerOperand(), data);
      return;
    }
    if (const auto* const call = llvm::dyn_cast<llvm::CallBase>(&at)) {
      if (only_manages(*call)) return;
      write_through(*call, data);
    }
    if (at.isTerminator()) branch(at);
    add_users(at, data);
  }

  /// Memory that only this function sees keeps what is put into it.
  void remember(const llvm::Value* pointer, bool data) {
    const llvm::Value* const base = base_of(pointer);
    if (!is_private(base) || !memory_.insert({base, data}).second) return;
    memory_of_[{seed_, base}] = true;
    llvm::SmallVector<const llvm::Value*, 8> pointers = {base};
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      for (const llvm::User* user : pointers[i]->users()) {
        const auto* const at = llvm::dyn_cast<llvm::Instruction>(user);
        if (at == nullptr || !numbers_.contains(at)) continue;
        if (llvm::isa<llvm::GetElementPtrInst>(at) || llvm::isa<llvm::BitCastInst>(at)) {
          pointers.push_back(at);
        } else if (llvm::isa<llvm::LoadInst>(at)) {
          add(*at, data);
        } else if (const auto* const call = llvm::dyn_cast<llvm::CallBase>(at)) {
          const auto* const transfer = llvm::dyn_cast<llvm::MemTransferInst>(call);
          if (transfer != nullptr) {
            if (base_of(transfer->getRawSource()) == base) {
              add(*at, data);
              remember(transfer->getRawDest(), data);
            }
          } else if (!only_manages(*call)) {
            add(*at, data);
          }
        }
      }
    }
  }

  void write_through(const llvm::CallBase& call, bool data) {
    if (only_manages(call)) return;
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      const llvm::Value* const argument = call.getArgOperand(i);
      if (!argument->getType()->isPointerTy()) continue;
      if (llvm::isa<llvm::AllocaInst>(base_of(argument)) && facts_.may_write(call, i)) {
        remember(argument, data);
      }
    }
  }

  void branch(const llvm::Instruction& at) {
    const unsigned block = graph_.number(at.getParent());
    const bool decides = llvm::isa<llvm::BranchInst>(at) || llvm::isa<llvm::SwitchInst>(at);
    if (!decides || !graph_.branches(block) || !branched_.insert(block).second) return;
    const llvm::BitVector& decided = graph_.decided_by(block);
    slice_->decided |= decided;
    // Where the ways meet again, the value says which was taken.
    for (const llvm::Instruction* each : all_) {
      const auto* const phi = llvm::dyn_cast<llvm::PHINode>(each);
      if (phi == nullptr || phi->hasConstantOrUndefValue()) continue;
      for (const llvm::BasicBlock* incoming : phi->blocks()) {
        const unsigned from = graph_.number(incoming);
        if (from == block || decided.test(from)) {
          add(*phi, false);
          break;
        }
      }
    }
  }

  FlowFacts& facts_;
  FlowGraph graph_;
  llvm::DenseMap<const llvm::Instruction*, unsigned> numbers_;
  std::vector<const llvm::Instruction*> all_;
  std::map<std::pair<const llvm::Instruction*, const llvm::Value*>, bool> memory_of_;
  // Of the slice that is being made.
  Slice* slice_ = nullptr;
  const llvm::Instruction* seed_ = nullptr;
  std::vector<std::pair<const llvm::Instruction*, bool>> work_;
  std::set<unsigned> branched_;
  std::set<std::pair<const llvm::Value*, bool>> memory_;
};

bool reads(const llvm::Instruction& step) {
  return llvm::isa<llvm::LoadInst>(step) || llvm::isa<llvm::AtomicRMWInst>(step) ||
         llvm::isa<llvm::AtomicCmpXchgInst>(step) || llvm::isa<llvm::CallBase>(step);
}
bool writes(const llvm::Instruction& step) {
  return llvm::isa<llvm::StoreInst>(step) || llvm::isa<llvm::AtomicRMWInst>(step) ||
         llvm::isa<llvm::CallBase>(step);
}

}  // namespace

struct FlowAnalysis::State {
  llvm::ValueToValueMapTy values;
  std::unique_ptr<llvm::Module> copy;
  std::unique_ptr<FlowFacts> facts;
};

FlowAnalysis::FlowAnalysis(const llvm::Module& module) : state_(std::make_unique<State>()) {
  state_->copy = llvm::CloneModule(module, state_->values);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  for (llvm::Function& function : *state_->copy) {
    if (function.isDeclaration() || function.isPresplitCoroutine()) continue;
    (void)llvm::SROAPass(llvm::SROAOptions::PreserveCFG).run(function, functions);
  }
  functions.clear();
  state_->facts = std::make_unique<FlowFacts>(*state_->copy);
}

FlowAnalysis::~FlowAnalysis() = default;

Flows FlowAnalysis::of(const llvm::Function& function,
                       llvm::ArrayRef<const llvm::Instruction*> steps) {
  Flows flows;
  const auto found = state_->values.find(&function);
  if (found == state_->values.end() || function.isPresplitCoroutine()) return flows;
  const auto& copy = *llvm::cast<llvm::Function>(&*found->second);
  for (const llvm::Argument& argument : copy.args()) {
    FlowFacts::Object object = state_->facts->object_of(argument);
    if (object.bytes > 1) {
      flows.objects.push_back({argument.getArgNo(), object.bytes, std::move(object.type)});
    }
  }
  if (steps.size() > kMostFlowSteps || copy.getInstructionCount() > kMostFlowInstructions ||
      copy.size() > kMostFlowBlocks) {
    return flows;
  }
  // Steps with their copies; what became a value is no step.
  std::vector<std::pair<const llvm::Instruction*, const llvm::Instruction*>> known;
  for (const llvm::Instruction* step : steps) {
    const auto at = state_->values.find(step);
    if (at == state_->values.end() || at->second == nullptr) continue;
    const auto* const copied = llvm::dyn_cast<llvm::Instruction>(&*at->second);
    if (copied != nullptr && copied->getFunction() == &copy) known.emplace_back(step, copied);
  }
  FunctionFlow flow(copy, *state_->facts);
  std::vector<Slice> slices(known.size());
  std::vector<std::set<const llvm::Value*>> sources(known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (reads(*known[i].second)) {
      slices[i] = flow.slice(*known[i].second);
      if (flow.reaches_result(slices[i], *known[i].second)) flows.results.insert(known[i].first);
    }
    if (writes(*known[i].second)) sources[i] = flow.sources(*known[i].second);
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    const llvm::Instruction& from = *known[i].second;
    for (std::size_t j = 0; j < known.size(); ++j) {
      if (i == j) continue;
      const llvm::Instruction& to = *known[j].second;
      std::uint32_t how = 0;
      if (reads(from)) {
        how = flow.how(slices[i], from, to);
        if (reads(to) && flow.may_follow(from, to) &&
            flow.joined(slices[i], from, slices[j], to)) {
          how |= unit::kFlowJoined;
        }
        if ((how & (unit::kFlowData | unit::kFlowControl)) != 0 && llvm::isa<llvm::CallBase>(from)) {
          how |= unit::kFlowResult;
        }
      }
      if (writes(from) && writes(to) && flow.may_follow(from, to) &&
          std::ranges::any_of(sources[i], [&](const llvm::Value* source) {
            return sources[j].contains(source);
          })) {
        how |= unit::kFlowSource;
      }
      if (how != 0) flows.pairs.push_back({known[i].first, known[j].first, how});
    }
  }
  return flows;
}

}  // namespace syndrome::instrument
