#include "instrument/plan.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <algorithm>

#include "event/sources.h"
#include "instrument/abi.h"
#include "instrument/recognize.h"

namespace syndrome::instrument {
namespace {

bool has_prefix(const llvm::Value* value, llvm::StringRef prefix) {
  return value != nullptr && value->getName().starts_with(prefix);
}

/// A variable that is a pointer, and so no object with a table of virtual functions.
bool is_pointer_variable(const llvm::Value* object) {
  if (const auto* local = llvm::dyn_cast<llvm::AllocaInst>(object)) {
    return local->getAllocatedType()->isPointerTy();
  }
  const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object);
  return global != nullptr && global->getValueType()->isPointerTy();
}

/// Whether an address before that of a table is where the offset of a virtual base lies, that of
/// the whole object, or its type, and is read as that: not the element before one of an array.
bool lies_before_functions(const llvm::GetElementPtrInst& address, std::int64_t index) {
  const llvm::Type* element = address.getSourceElementType();
  const bool type = element->isPointerTy() && index == -1;
  const bool whole = element->isIntegerTy(64) && index == -2;
  const bool base = element->isIntegerTy(8) && index <= -24 && index % 8 == 0;
  if (!type && !whole && !base) return false;
  return llvm::all_of(address.users(), [&](const llvm::User* user) {
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(user);
    return load != nullptr &&
           (type ? load->getType()->isPointerTy() : load->getType()->isIntegerTy(64));
  });
}

/// A load of the pointer to the table of virtual functions, told by what is done with it (at -O0
/// there is no type-based alias information): a function is loaded from the table and called on the
/// object, or what lies before the first function is read.
bool loads_virtual_table(const llvm::LoadInst& load) {
  if (!load.getType()->isPointerTy() || load.use_empty()) return false;
  if (const llvm::MDNode* tag = load.getMetadata(llvm::LLVMContext::MD_tbaa);
      tag != nullptr && tag->isTBAAVtableAccess()) {
    return true;
  }
  const llvm::Value* object = load.getPointerOperand();
  if (is_pointer_variable(object)) return false;
  const auto called_on_object = [object](const llvm::Value* slot) {
    for (const llvm::User* user : slot->users()) {
      const auto* entry = llvm::dyn_cast<llvm::LoadInst>(user);
      if (entry == nullptr) return false;
      for (const llvm::Use& use : entry->uses()) {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
        if (call == nullptr || !call->isCallee(&use)) return false;
        const unsigned self = call->hasStructRetAttr() ? 1 : 0;
        if (call->arg_size() <= self || call->getArgOperand(self) != object) return false;
      }
    }
    return !slot->use_empty();
  };
  for (const llvm::User* user : load.users()) {
    const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(user);
    if (address == nullptr || address->getNumIndices() != 1) return false;
    const auto* index = llvm::dyn_cast<llvm::ConstantInt>(address->getOperand(1));
    if (index == nullptr) return false;
    if (index->isNegative()) {
      if (!lies_before_functions(*address, index->getSExtValue())) return false;
      continue;
    }
    if (!address->getSourceElementType()->isPointerTy() || !called_on_object(address)) return false;
  }
  return true;
}

/// Constant memory: constants, tables of virtual functions.
bool is_constant_memory(const llvm::Value* pointer) {
  const llvm::Value* object = llvm::getUnderlyingObject(pointer, 0);
  if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
    return global->isConstant() || global->getName().starts_with("llvm.") ||
           global->getName().starts_with(abi::kPrefix);
  }
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(object)) return loads_virtual_table(*load);
  return false;
}

bool stores_virtual_table(const llvm::StoreInst& store) {
  const llvm::Value* value = llvm::getUnderlyingObject(store.getValueOperand(), 0);
  return llvm::isa<llvm::GlobalVariable>(value) &&
         (has_prefix(value, "_ZTV") || has_prefix(value, "_ZTC"));
}

/// Guards of static locals: the runtime interposes what sets them.
bool is_guard(const llvm::Value* pointer) {
  return has_prefix(pointer->stripPointerCasts(), "_ZGV");
}

/// What a pointer is computed from, and how far it is from there.
struct Root {
  const llvm::Value* base;
  std::int64_t offset;
  std::uint64_t bytes;
  friend bool operator==(const Root&, const Root&) = default;
};

/// Whether a load from a slot gives what `store` has put there: nothing else is ever stored into
/// it, and this has been, in this run of the block.
bool surely_before(const llvm::StoreInst& store, const llvm::LoadInst& load) {
  if (store.getParent() == load.getParent()) return store.comesBefore(&load);
  return store.getParent()->isEntryBlock();
}

/// The value in a slot that is stored to once, as parameters are before optimization; or null.
const llvm::Value* content_of(const llvm::LoadInst& load) {
  const auto* slot = llvm::dyn_cast<llvm::AllocaInst>(load.getPointerOperand());
  if (slot == nullptr || load.isVolatile()) return nullptr;
  const llvm::StoreInst* only = nullptr;
  for (const llvm::User* user : slot->users()) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (instruction == nullptr) return nullptr;
    if (llvm::isa<llvm::LoadInst>(instruction) || instruction->isLifetimeStartOrEnd() ||
        instruction->isDebugOrPseudoInst()) {
      continue;
    }
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction);
    if (store == nullptr || store->getPointerOperand() != slot || only != nullptr) return nullptr;
    only = store;
  }
  return only != nullptr && surely_before(*only, load) ? only->getValueOperand() : nullptr;
}

Root root_of(const llvm::Value* pointer, std::uint64_t bytes, const llvm::DataLayout& layout) {
  Root root{pointer, 0, bytes};
  // As deep as accessors call each other.
  for (unsigned depth = 0; depth < 8; ++depth) {
    llvm::APInt offset(layout.getIndexTypeSizeInBits(root.base->getType()), 0);
    root.base = root.base->stripAndAccumulateConstantOffsets(layout, offset, true);
    root.offset += offset.getSExtValue();
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(root.base);
    const llvm::Value* content = load == nullptr ? nullptr : content_of(*load);
    if (content == nullptr || !content->getType()->isPointerTy()) break;
    root.base = content;
  }
  return root;
}

/// Whether a function of ours is called by the program itself (include/syndrome/syndrome.h): then
/// the call is a place in the source.
bool is_annotation(llvm::StringRef name) {
  return name == "__syndrome_happens_before" || name == "__syndrome_happens_after";
}

/// A guard's own fields are left out (is_of_lock_guard()).
bool is_lock_guard(const llvm::Type& type) {
  const auto* record = llvm::dyn_cast<llvm::StructType>(&type);
  if (record == nullptr || !record->hasName()) return false;
  llvm::StringRef name = record->getName();
  if (!name.consume_front("class.std::")) return false;
  name.consume_front("__1::");
  name = name.take_until([](char c) { return c == '.'; });
  return name == "lock_guard" || name == "unique_lock" || name == "shared_lock" ||
         name == "scoped_lock";
}

bool is_release(llvm::StringRef name) {
  return name == "pthread_mutex_unlock" || name == "pthread_rwlock_unlock" ||
         name == "pthread_spin_unlock" || name == "mtx_unlock";
}

bool in_cycle(const llvm::BasicBlock& block) {
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen;
  llvm::SmallVector<const llvm::BasicBlock*, 16> work(llvm::succ_begin(&block),
                                                      llvm::succ_end(&block));
  while (!work.empty()) {
    const llvm::BasicBlock* at = work.pop_back_val();
    if (at == &block) return true;
    if (!seen.insert(at).second) continue;
    work.append(llvm::succ_begin(at), llvm::succ_end(at));
  }
  return false;
}

}  // namespace

bool ends_cover(const llvm::Instruction& instruction) {
  if (instruction.isAtomic()) return true;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (call == nullptr) return false;
  const llvm::Function* callee = call->getCalledFunction();
  return callee == nullptr || !callee->isIntrinsic();
}

llvm::Value* atomic_call_object(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return nullptr;
  llvm::StringRef name = callee->getName();
  if (!name.consume_front("__atomic_")) return nullptr;
  if (!name.starts_with("load") && !name.starts_with("store") && !name.starts_with("exchange") &&
      !name.starts_with("compare_exchange") && !name.starts_with("fetch_")) {
    return nullptr;
  }
  // The generic forms (of any size) begin with the size; the sized ones (__atomic_load_16) do not.
  for (unsigned i = 0; i < call.arg_size() && i < 2; ++i) {
    if (call.getArgOperand(i)->getType()->isPointerTy()) return call.getArgOperand(i);
  }
  return nullptr;
}

std::string source_name(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !(callee->isDeclaration() || callee->hasAvailableExternallyLinkage())) {
    return {};
  }
  const llvm::StringRef linkage = callee->getName();
  if (!linkage.starts_with("_Z")) return std::string(sources::name_of(linkage));
  // Demangling every call of the library would take its time.
  if (!linkage.contains("_clock3now") && !linkage.contains("_M_getval") &&
      !linkage.starts_with("_ZNSi") && !linkage.starts_with("_ZStrsI") &&
      !linkage.starts_with("_ZSt7getline")) {
    return {};
  }
  return std::string(sources::name_of(llvm::demangle(linkage.str())));
}

Planner::Planner(llvm::Module& module, const llvm::SmallPtrSetImpl<llvm::Function*>& plain)
    : layout_(module.getDataLayout()), plain_(plain) {
  std::vector<llvm::Function*> wanted_functions;
  for (llvm::Function& function : module) {
    if (!wanted(function)) continue;
    wanted_functions.push_back(&function);
    plans_.try_emplace(&function, draft(function));
  }
  // A function without probes that calls only such functions is silent, and a call of it needs no
  // site. The first round believes that nothing is silent; each finds more.
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::Function* function : wanted_functions) {
      if (silent_.contains(function)) continue;
      Plan& plan = plans_[function];
      std::erase_if(plan.calls, [this](const llvm::CallBase* call) { return quiet(*call); });
      if (plan.empty()) {
        silent_.insert(function);
        changed = true;
      }
    }
  }
  for (llvm::Function* function : wanted_functions) {
    Plan& plan = plans_[function];
    plan.leaf = plan.accesses.size() == 1 && plan.locals.empty() && plan.ranges.empty() &&
                plan.atomics.empty() && plan.fences.empty() && plan.calls.empty() &&
                plan.setjmps.empty() && !in_cycle(*plan.accesses.front().instruction->getParent());
    plan.framed = !function->isPresplitCoroutine();
  }
  for (llvm::Function* function : wanted_functions) plan_last(*function, plans_[function]);
}

const Plan* Planner::plan_of(const llvm::Function& function) const {
  const auto found = plans_.find(&function);
  return found == plans_.end() || found->second.empty() ? nullptr : &found->second;
}

bool Planner::wanted(const llvm::Function& function) const {
  if (function.isDeclaration() || function.hasAvailableExternallyLinkage()) return false;
  if (function.hasFnAttribute(llvm::Attribute::Naked)) return false;
  if (function.hasFnAttribute(llvm::Attribute::DisableSanitizerInstrumentation)) return false;
  if (function.getName().starts_with(abi::kPrefix)) return false;
  if (function.getName() == "__clang_call_terminate") return false;
  if (plain_.contains(&function) || is_internal(function)) return false;
  // What picks a function when the program is loaded runs before anything is initialized.
  return std::ranges::none_of(function.getParent()->ifuncs(), [&](const llvm::GlobalIFunc& ifunc) {
    return ifunc.getResolverFunction() == &function;
  });
}

bool Planner::quiet(const llvm::CallBase& call) const {
  const llvm::Function* callee = call.getCalledFunction();
  return callee != nullptr && silent_.contains(callee);
}

bool Planner::shared(const llvm::Value* pointer) {
  if (pointer->getType()->getPointerAddressSpace() != 0 || is_constant_memory(pointer) ||
      escape_.unshared(pointer)) {
    return false;
  }
  // An accessor's `this` that has become a slot of its caller.
  const llvm::Value* base = root_of(pointer, 0, layout_).base;
  return base == pointer || !escape_.unshared(base);
}

Plan Planner::draft(llvm::Function& function) {
  Plan plan;
  for (llvm::BasicBlock& block : function) plan_block(block, plan);
  plan_loops(function, plan);
  plan_locals(function, plan);
  return plan;
}

void Planner::plan_loops(llvm::Function& function, Plan& plan) {
  // Without the optimizer a flag for each such read would cost more than it saves.
  if (function.hasFnAttribute(llvm::Attribute::OptimizeNone) || plan.accesses.empty()) return;
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  llvm::DenseMap<const llvm::Loop*, bool> known;
  const auto is_quiet = [&known](const llvm::Loop* loop) {
    const auto [at, added] = known.try_emplace(loop, true);
    if (added) {
      at->second = llvm::none_of(loop->blocks(), [](const llvm::BasicBlock* block) {
        return llvm::any_of(*block, ends_cover);
      });
    }
    return at->second;
  };
  for (PlannedAccess& access : plan.accesses) {
    if (access.kind != unit::SiteKind::kRead || access.instruction->isVolatile()) continue;
    const Root root = root_of(access.pointer, access.bytes, layout_);
    const llvm::Loop* outermost = nullptr;
    for (const llvm::Loop* loop = loops.getLoopFor(access.instruction->getParent());
         loop != nullptr && loop->isLoopInvariant(root.base) && is_quiet(loop);
         loop = loop->getParentLoop()) {
      if (loop->getLoopPredecessor() != nullptr) outermost = loop;
    }
    if (outermost != nullptr) access.once = outermost->getLoopPredecessor();
  }
}

// Variables that others may see are new in each call. Where their lifetime begins is marked when
// the program is optimized; without marks it begins with the function.
void Planner::plan_locals(llvm::Function& function, Plan& plan) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (local == nullptr || !local->isStaticAlloca() || is_lock_guard(*local->getAllocatedType()) ||
        !shared(local)) {
      continue;
    }
    const std::optional<llvm::TypeSize> size = local->getAllocationSize(layout_);
    if (!size.has_value() || size->isScalable() || size->isZero()) continue;
    bool marked = false;
    for (llvm::User* user : local->users()) {
      auto* mark = llvm::dyn_cast<llvm::IntrinsicInst>(user);
      if (mark == nullptr || mark->getIntrinsicID() != llvm::Intrinsic::lifetime_start) continue;
      plan.locals.push_back({local, mark, size->getFixedValue()});
      marked = true;
    }
    if (!marked) plan.locals.push_back({local, nullptr, size->getFixedValue()});
  }
}

void Planner::plan_last(llvm::Function& function, Plan& plan) {
  // Where longjmp comes to, a handler may do so at any time.
  if (plan.calls.empty() || !plan.framed || !plan.setjmps.empty()) return;
  llvm::SmallPtrSet<const llvm::Instruction*, 32> told;
  for (const PlannedLocal& local : plan.locals) told.insert(local.begin);
  for (const PlannedAccess& access : plan.accesses) told.insert(access.instruction);
  for (const PlannedRange& range : plan.ranges) told.insert(range.instruction);
  for (const PlannedAtomic& atomic : plan.atomics) told.insert(atomic.instruction);
  for (const llvm::FenceInst* fence : plan.fences) told.insert(fence);
  for (const llvm::CallBase* call : plan.calls) told.insert(call);
  const auto is_told = [&told](const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    // Who catches the exception goes on elsewhere than behind the call.
    return told.contains(&instruction) || llvm::isa<llvm::ResumeInst>(instruction) ||
           (call != nullptr && has_prefix(call->getCalledFunction(), abi::kPrefix));
  };
  // Blocks from whose beginning something is told on the way to a return.
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> tell;
  const auto goes_on = [&tell](const llvm::BasicBlock& block) {
    return llvm::any_of(llvm::successors(&block),
                        [&](const llvm::BasicBlock* next) { return tell.contains(next); });
  };
  for (bool changed = true; changed;) {
    changed = false;
    // Mostly from the last to the first: then once is nearly enough.
    for (const llvm::BasicBlock& block : llvm::reverse(function)) {
      if (tell.contains(&block) || (!goes_on(block) && !llvm::any_of(block, is_told))) continue;
      tell.insert(&block);
      changed = true;
    }
  }
  for (const llvm::CallBase* call : plan.calls) {
    const llvm::Function* callee = call->getCalledFunction();
    if (callee == nullptr) continue;
    const bool releases = is_release(callee->getName());
    const Plan* const of = plan_of(*callee);
    if (!releases && (of == nullptr || !of->framed)) continue;
    bool more = false;
    if (const auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(call)) {
      more = tell.contains(invoke->getNormalDest());
    } else {
      more = goes_on(*call->getParent());
      for (const llvm::Instruction* at = call->getNextNode(); at != nullptr && !more;
           at = at->getNextNode()) {
        more = is_told(*at);
      }
    }
    if (!more) plan.last[call] = releases ? unit::kLastRelease : unit::kLastCall;
  }
}

void Planner::plan_block(llvm::BasicBlock& block, Plan& plan) {
  // What this straight line has accessed since it last called or synchronized. Reading it again
  // tells no analysis anything new: whoever could have written it in between has a race with the
  // first access already. (Writing again is recorded: others may have read in between.)
  llvm::SmallVector<Root, 16> covered;
  llvm::SmallVector<const llvm::Instruction*, 16> covering;  // the same, by the access
  std::size_t last = plan.accesses.size();  // the last access of this block, or one behind all
  const auto add = [&](llvm::Instruction& instruction, llvm::Value* pointer, unit::SiteKind kind,
                       llvm::Type* type) {
    const llvm::TypeSize size = layout_.getTypeStoreSize(type);
    if (size.isScalable() || size.isZero()) return;
    const Root root = root_of(pointer, size.getFixedValue(), layout_);
    // x[i] += 1: the element is read and then written, with nothing in between.
    const bool element = llvm::isa<llvm::GetElementPtrInst>(root.base);
    if (element && kind == unit::SiteKind::kWrite && last < plan.accesses.size() &&
        !covered.empty() && covered.back() == root && !instruction.isVolatile()) {
      PlannedAccess& before = plan.accesses[last];
      if (before.kind == unit::SiteKind::kRead && !before.instruction->isVolatile() &&
          root_of(before.pointer, before.bytes, layout_) == root) {
        before.kind = unit::SiteKind::kReadWrite;
        before.stores = &instruction;
        return;
      }
    }
    const auto known_at = llvm::find(covered, root);
    const bool known = known_at != covered.end();
    if (known && kind == unit::SiteKind::kRead && !instruction.isVolatile()) {
      plan.repeated.emplace_back(&instruction,
                                 covering[static_cast<std::size_t>(known_at - covered.begin())]);
      return;
    }
    last = plan.accesses.size();
    plan.accesses.push_back({&instruction, pointer, kind, size.getFixedValue()});
    if (!known) {
      covered.push_back(root);
      covering.push_back(&instruction);
    }
  };
  for (llvm::Instruction& instruction : block) {
    if (ends_cover(instruction)) {
      covered.clear();
      covering.clear();
      last = plan.accesses.size();
    }
    if (instruction.hasMetadata(llvm::LLVMContext::MD_nosanitize)) continue;
    const bool access =
        llvm::isa<llvm::LoadInst>(instruction) || llvm::isa<llvm::StoreInst>(instruction);
    if (access && is_of_lock_guard(instruction)) continue;
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      llvm::Value* pointer = load->getPointerOperand();
      if (load->isAtomic()) {
        if (shared(pointer)) plan.atomics.push_back({load, pointer});
        continue;
      }
      if (load->hasMetadata(llvm::LLVMContext::MD_invariant_load) || is_guard(pointer) ||
          !shared(pointer) || loads_virtual_table(*load)) {
        continue;
      }
      add(*load, pointer, unit::SiteKind::kRead, load->getType());
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      llvm::Value* pointer = store->getPointerOperand();
      if (store->isAtomic()) {
        if (shared(pointer)) plan.atomics.push_back({store, pointer});
        continue;
      }
      if (!shared(pointer)) continue;
      if (is_guard(pointer) || stores_virtual_table(*store)) continue;
      llvm::Type* type = store->getValueOperand()->getType();
      add(*store, pointer, unit::SiteKind::kWrite, type);
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      if (shared(update->getPointerOperand())) {
        plan.atomics.push_back({update, update->getPointerOperand()});
      }
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      if (shared(exchange->getPointerOperand())) {
        plan.atomics.push_back({exchange, exchange->getPointerOperand()});
      }
    } else if (auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) {
      if (fence->getSyncScopeID() != llvm::SyncScope::SingleThread) plan.fences.push_back(fence);
    } else if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      const auto* length = llvm::dyn_cast<llvm::ConstantInt>(memory->getLength());
      if (length != nullptr && length->isZero()) continue;
      const auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(memory);
      const bool reads = transfer != nullptr && shared(transfer->getSource());
      const bool writes = shared(memory->getDest());
      if (reads || writes) plan.ranges.push_back({memory, reads, writes});
    } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      const llvm::Function* callee = call->getCalledFunction();
      if (call->isInlineAsm() || (callee != nullptr && callee->isIntrinsic())) {
        continue;
      }
      if (llvm::Value* object = atomic_call_object(*call)) {
        if (shared(object)) plan.atomics.push_back({call, object});
        continue;
      }
      if (callee != nullptr && callee->getName().starts_with(abi::kPrefix) &&
          !is_annotation(callee->getName())) {
        continue;
      }
      if (call->hasFnAttr(llvm::Attribute::ReturnsTwice) && callee != nullptr &&
          callee->getName() != "vfork") {
        plan.setjmps.push_back(call);
      }
      if (!source_name(*call).empty()) {
        plan.sources.push_back(call);
      } else if (call->doesNotAccessMemory() && call->doesNotThrow() && callee != nullptr &&
                 callee->isDeclaration()) {
        continue;  // nothing that a pure function of another library does can be of interest
      }
      plan.calls.push_back(call);
    }
  }
}

}  // namespace syndrome::instrument
