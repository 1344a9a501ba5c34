#include "instrument/flow_slice.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace syndrome::instrument {
namespace {

/// What an instruction that only computes makes of one of its operands.
std::uint8_t computed(const llvm::Instruction& at, unsigned operand, std::uint8_t carries) {
  std::uint8_t result = carries;
  if (llvm::isa<llvm::GetElementPtrInst>(at)) {
    if (operand == 0) return carries;
    result = carries & kImplied;
    if ((carries & ~kImplied) != 0) result |= kIndex;
  } else if (llvm::isa<llvm::CmpInst>(at) || at.getOpcode() == llvm::Instruction::Sub) {
    result = carries & kImplied;
    if ((carries & ~kImplied) != 0) result |= kValue;
  } else if (llvm::isa<llvm::SelectInst>(at) && operand == 0) {
    result = kImplied;
  }
  return result;
}

/// Whether what comes in there is put together with something else.
bool is_join(const llvm::Instruction& at, unsigned operand) {
  if (llvm::isa<llvm::BinaryOperator>(at) || llvm::isa<llvm::CmpInst>(at) ||
      llvm::isa<llvm::InsertValueInst>(at) || llvm::isa<llvm::ReturnInst>(at)) {
    return true;
  }
  return llvm::isa<llvm::SelectInst>(at) && operand <= 2;
}

/// What ends the life of an object uses nothing of it.
bool ends_object(const llvm::CallBase& call) {
  const llvm::Function* const callee = call.getCalledFunction();
  return callee != nullptr && callee->getName().starts_with("_ZN") &&
         (callee->getName().contains("D1Ev") || callee->getName().contains("D2Ev"));
}

/// std::lock_guard and its like: what they hold is nobody's result.
bool is_guard_type(const llvm::Value& object) {
  const auto* const local = llvm::dyn_cast<llvm::AllocaInst>(&object);
  const auto* const type =
      local == nullptr ? nullptr : llvm::dyn_cast<llvm::StructType>(local->getAllocatedType());
  if (type == nullptr || !type->hasName()) return false;
  for (const char* name : {"lock_guard", "unique_lock", "scoped_lock", "shared_lock"}) {
    if (type->getName().contains(name)) return true;
  }
  return false;
}

}  // namespace

FlowSlicer::FlowSlicer(const llvm::Function& body, const FlowBodies& bodies, FlowFacts& facts,
                       const FlowGraph& graph, std::size_t steps, const llvm::Argument* self)
    : bodies_(bodies), facts_(facts), graph_(graph), self_(self), body_(body) {
  const auto number = [this](const llvm::Value& value) {
    numbers_[&value] = static_cast<std::uint32_t>(values_.size());
    values_.push_back(&value);
  };
  for (const llvm::Argument& argument : body.args()) number(argument);
  llvm::SmallPtrSet<const llvm::Value*, 8> escaped;
  for (const llvm::Instruction& instruction : llvm::instructions(body)) {
    number(instruction);
    if (const auto step = bodies.step_of(instruction)) steps_[&instruction] = *step;
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      if (store->getValueOperand()->getType()->isPointerTy()) {
        const llvm::Value* const base = llvm::getUnderlyingObject(store->getValueOperand());
        if (llvm::isa<llvm::AllocaInst>(base)) escaped.insert(base);
      }
    }
  }
  for (const llvm::Instruction& instruction : llvm::instructions(body)) {
    const auto reads = [&](const llvm::Value* pointer, unsigned argument) {
      const llvm::Value* const base = object_of(pointer);
      if (base != nullptr && !escaped.contains(base)) {
        objects_[base].push_back({&instruction, argument});
      }
    };
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      reads(load->getPointerOperand(), 0);
    } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      if (ends_object(*call)) continue;
      const bool memory = llvm::isa<llvm::MemTransferInst>(call);
      if (llvm::isa<llvm::IntrinsicInst>(call) && !memory) continue;
      for (unsigned i = memory ? 1 : 0; i < (memory ? 2 : call->arg_size()); ++i) {
        if (call->getArgOperand(i)->getType()->isPointerTy() &&
            !call->paramHasAttr(i, llvm::Attribute::StructRet)) {
          reads(call->getArgOperand(i), i);
        }
      }
    }
  }
  carries_.resize(values_.size());
  followed_.resize(values_.size());
  arrivals_.resize(steps);
  arrived_.resize(static_cast<unsigned>(steps));
  decided_.resize(static_cast<unsigned>(graph.size()));
  branches_.resize(static_cast<unsigned>(graph.size()));
}

const llvm::Value* FlowSlicer::object_of(const llvm::Value* pointer) const {
  const llvm::Value* const base = llvm::getUnderlyingObject(pointer);
  if (llvm::isa<llvm::AllocaInst>(base)) return is_guard_type(*base) ? nullptr : base;
  const auto* const call = llvm::dyn_cast<llvm::CallBase>(base);
  return call != nullptr && allocates(*call) ? base : nullptr;
}

void FlowSlicer::begin() {
  for (const std::uint32_t value : touched_) carries_[value] = followed_[value] = 0;
  touched_.clear();
  for (const std::uint32_t step : reached_) arrivals_[step] = {};
  reached_.clear();
  arrived_.reset();
  joins_.clear();
  filled_.clear();
  decided_.reset();
  branches_.reset();
  result_ = false;
}

void FlowSlicer::add_source(const llvm::Value& source) {
  if (const auto* memory = llvm::dyn_cast<llvm::MemTransferInst>(&source)) {
    into_object(memory->getRawDest(), *memory, kValue);
    return;
  }
  if (!source.getType()->isVoidTy()) {
    mark(source, source.getType()->isPointerTy() ? kPointer : kValue);
  }
  const auto* const call = llvm::dyn_cast<llvm::CallBase>(&source);
  if (call == nullptr) return;
  for (unsigned i = 0; i < call->arg_size(); ++i) {
    const llvm::Value* const argument = call->getArgOperand(i);
    if (!argument->getType()->isPointerTy() || !facts_.writes(*call, i)) continue;
    into_object(argument, *call, kValue);
    const llvm::Value* const base = llvm::getUnderlyingObject(argument);
    if (llvm::isa<llvm::Argument>(base) && base != self_ && !ends_object(*call)) {
      // A call that is handed where a result goes to.
      result_ = result_ || call->paramHasAttr(i, llvm::Attribute::StructRet) ||
                !call->getType()->isVoidTy() || call->arg_size() > 1;
    }
  }
}

bool FlowSlicer::run() {
  while (!work_.empty()) {
    const std::uint32_t at = work_.back();
    work_.pop_back();
    const std::uint8_t carries = carries_[at] & static_cast<std::uint8_t>(~followed_[at]);
    if (carries == 0) continue;
    followed_[at] |= carries;
    if (++visits_ > kMostVisits) {
      work_.clear();
      return false;
    }
    follow(*values_[at], carries);
  }
  return true;
}

void FlowSlicer::mark(const llvm::Value& value, std::uint8_t carries) {
  const auto found = numbers_.find(&value);
  if (found == numbers_.end() || (carries & ~carries_[found->second]) == 0) return;
  if (carries_[found->second] == 0) touched_.push_back(found->second);
  carries_[found->second] |= carries;
  work_.push_back(found->second);
}

Arrival* FlowSlicer::arrive(const llvm::Instruction& at) {
  const auto found = steps_.find(&at);
  if (found == steps_.end()) return nullptr;
  if (!arrived_.test(found->second)) {
    arrived_.set(found->second);
    reached_.push_back(found->second);
  }
  return &arrivals_[found->second];
}

void FlowSlicer::follow(const llvm::Value& value, std::uint8_t carries) {
  for (const llvm::Use& use : value.uses()) {
    const auto* const user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
    if (user == nullptr) continue;
    const unsigned operand = use.getOperandNo();
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
      Arrival* const step = arrive(*store);
      if (operand != 0) {
        if (step != nullptr) step->address = true;
        continue;
      }
      if (step != nullptr) step->data |= carries;
      into_object(store->getPointerOperand(), *store, carries);
    } else if (llvm::isa<llvm::LoadInst>(user)) {
      if (Arrival* const step = arrive(*user)) step->address = true;
      std::uint8_t read = carries & kImplied;
      if ((carries & kIndex) != 0) read |= kValue;
      if ((carries & (kPointer | kFar)) != 0) read |= kFar;
      mark(*user, read);
    } else if (llvm::isa<llvm::AtomicRMWInst>(user)) {
      if (Arrival* const step = arrive(*user)) {
        if (operand == 0)
          step->address = true;
        else
          step->data |= carries;
      }
    } else if (llvm::isa<llvm::AtomicCmpXchgInst>(user)) {
      if (Arrival* const step = arrive(*user)) {
        if (operand == 0)
          step->address = true;
        else if (operand == 1)
          step->compared |= carries;
        else
          step->data |= carries;
      }
    } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user)) {
      if (call->isArgOperand(&use)) {
        pass(*call, call->getArgOperandNo(&use), carries);
      } else if (Arrival* const step = arrive(*call)) {
        step->address = true;  // which function it calls
      }
    } else if (llvm::isa<llvm::BranchInst>(user) || llvm::isa<llvm::SwitchInst>(user)) {
      decide(*user->getParent());
    } else {
      if (llvm::isa<llvm::ReturnInst>(user)) result_ = true;
      if ((carries & (kValue | kPointer)) != 0 && is_join(*user, operand)) {
        joins_.push_back(numbers_.lookup(user));
      }
      mark(*user, computed(*user, operand, carries));
    }
  }
}

void FlowSlicer::pass(const llvm::CallBase& call, unsigned argument, std::uint8_t carries) {
  const bool memory = llvm::isa<llvm::MemIntrinsic>(call);
  if (Arrival* const step = arrive(call)) {
    if (memory && argument < 2 && llvm::isa<llvm::MemTransferInst>(call)) {
      step->address = true;
    } else if (compares_and_swaps(call) && argument == 1) {
      step->compared |= carries;
    } else {
      if ((carries & (kPointer | kIndex)) != 0) step->address = true;
      step->data |= carries & static_cast<std::uint8_t>(~kIndex);
    }
  }
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) {
    if (!memory && !call.getType()->isVoidTy()) mark(*intrinsic, carries);
    return;
  }
  if (ends_object(call)) return;
  if (facts_.returns(call, argument)) {
    const llvm::Function* const callee = call.getCalledFunction();
    if (callee != nullptr && !callee->isDeclaration() && (carries & (kValue | kPointer)) != 0) {
      joins_.push_back(numbers_.lookup(&call));
    }
    std::uint8_t returned = carries;
    if (!call.getType()->isPointerTy() && (carries & kIndex) != 0) returned |= kValue;
    mark(call, returned);
  }
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    if (i != argument && facts_.writes(call, i)) into_object(call.getArgOperand(i), call, carries);
  }
}

void FlowSlicer::into_object(const llvm::Value* pointer, const llvm::Instruction& at,
                             std::uint8_t carries) {
  const llvm::Value* const base = llvm::getUnderlyingObject(pointer);
  if (llvm::isa<llvm::Argument>(base)) {
    if (base != self_ && (llvm::isa<llvm::StoreInst>(at) || llvm::isa<llvm::MemIntrinsic>(at))) {
      result_ = true;
    }
    return;
  }
  const auto found = objects_.find(base);
  if (found == objects_.end()) return;
  std::uint8_t& known = filled_[{base, &at}];
  if ((carries & ~known) == 0) return;
  known |= carries;
  visits_ += found->second.size();
  for (const Reader& reader : found->second) {
    if (reader.instruction == &at || !graph_.reaches(at, *reader.instruction)) continue;
    const auto* const call = llvm::dyn_cast<llvm::CallBase>(reader.instruction);
    if (call == nullptr) {
      mark(*reader.instruction, carries);
    } else if (const auto* memory = llvm::dyn_cast<llvm::MemTransferInst>(call)) {
      if (Arrival* const step = arrive(*memory)) step->data |= carries;
      into_object(memory->getRawDest(), *memory, carries);
    } else {
      pass(*call, reader.argument, carries);
    }
  }
}

void FlowSlicer::decide(const llvm::BasicBlock& block) {
  const std::uint32_t at = graph_.block_of(block);
  if (!graph_.decides(at) || branches_.test(at)) return;
  branches_.set(at);
  const llvm::BitVector& decided = graph_.decided_by(at);
  decided_ |= decided;
  // Which value comes out where ways meet again.
  for (const llvm::BasicBlock& join : body_) {
    if (!llvm::isa<llvm::PHINode>(join.front()) || graph_.begins_loop(graph_.block_of(join))) {
      continue;
    }
    for (const llvm::PHINode& phi : join.phis()) {
      const llvm::Value* first = nullptr;
      bool differ = false;
      for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
        const std::uint32_t from = graph_.block_of(*phi.getIncomingBlock(i));
        if (from != at && !decided.test(from)) continue;
        differ = differ || (first != nullptr && first != phi.getIncomingValue(i));
        first = phi.getIncomingValue(i);
      }
      if (differ) mark(phi, kImplied);
    }
  }
}

}  // namespace syndrome::instrument
