#include "instrument/instrument.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/AttributeMask.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/EscapeEnumerator.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <string>
#include <vector>

#include "event/sources.h"
#include "event/unit.h"
#include "event/wire.h"
#include "instrument/abi.h"
#include "instrument/accessors.h"
#include "instrument/flow.h"
#include "instrument/plan.h"
#include "instrument/probes.h"
#include "instrument/recognize.h"
#include "instrument/sites.h"
#include "instrument/summary.h"
#include "instrument/twins.h"
#include "instrument/unit_builder.h"

namespace syndrome::instrument {
namespace {

// Memory intrinsics up to this long stay as they are, with access words before them: they are the
// copies of small structs, which the optimizer turns into a few moves.
constexpr std::uint64_t kMostInline = Shape::kMostBytes;

struct Annotations {
  std::uint32_t flags = 0;
  std::string label;
};

/// What SYNDROME_ATOMIC and so on have left: llvm.global.annotations.
llvm::DenseMap<const llvm::Function*, Annotations> annotations_of(const llvm::Module& module) {
  llvm::DenseMap<const llvm::Function*, Annotations> found;
  const llvm::GlobalVariable* list = module.getGlobalVariable("llvm.global.annotations");
  if (list == nullptr || !list->hasInitializer()) return found;
  const auto* entries = llvm::dyn_cast<llvm::ConstantArray>(list->getInitializer());
  if (entries == nullptr) return found;
  for (const llvm::Use& use : entries->operands()) {
    const auto* entry = llvm::dyn_cast<llvm::ConstantStruct>(use.get());
    if (entry == nullptr || entry->getNumOperands() < 2) continue;
    const auto* function =
        llvm::dyn_cast<llvm::Function>(entry->getOperand(0)->stripPointerCasts());
    const auto* text =
        llvm::dyn_cast<llvm::GlobalVariable>(entry->getOperand(1)->stripPointerCasts());
    if (function == nullptr || text == nullptr || !text->hasInitializer()) continue;
    const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(text->getInitializer());
    if (data == nullptr || !data->isCString()) continue;
    llvm::StringRef annotation = data->getAsCString();
    Annotations& of = found[function];
    if (annotation == abi::kAnnotateAtomic) of.flags |= unit::kAtomic;
    if (annotation == abi::kAnnotateDeterministic) of.flags |= unit::kDeterministic;
    if (annotation.consume_front(abi::kAnnotateUnit)) {
      of.flags |= unit::kUnitOfWork;
      for (const char c : annotation) {
        if (c != ' ') of.label += c;
      }
    }
  }
  return found;
}

std::uint32_t order_of(llvm::AtomicOrdering order) {
  return order == llvm::AtomicOrdering::Unordered || order == llvm::AtomicOrdering::NotAtomic
             ? 0
             : static_cast<std::uint32_t>(llvm::toCABI(order));
}

std::uint32_t what(wire::Sync kind, std::uint64_t bytes, std::uint32_t order) {
  return static_cast<std::uint32_t>(kind) |
         (static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, 0xff)) << 8) | (order << 16);
}

/// A function that has probes does what its attributes deny.
void strip_attributes(llvm::Module& module) {
  llvm::AttributeMask mask;
  mask.addAttribute(llvm::Attribute::Memory);
  mask.addAttribute(llvm::Attribute::NoSync);
  mask.addAttribute(llvm::Attribute::NoFree);
  mask.addAttribute(llvm::Attribute::WillReturn);
  mask.addAttribute(llvm::Attribute::Speculatable);
  for (llvm::Function& function : module) {
    if (function.isIntrinsic() || function.isDeclaration()) continue;
    function.removeFnAttrs(mask);
    // A probe may push a return address below the stack pointer.
    function.addFnAttr(llvm::Attribute::NoRedZone);
    // A loop whose accesses are recorded must not become a call that the runtime records again.
    for (const char* name : {"no-builtin-memset", "no-builtin-memcpy", "no-builtin-memmove"}) {
      function.addFnAttr(name);
    }
    for (llvm::Use& use : function.uses()) {
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
          call != nullptr && call->isCallee(&use)) {
        call->setAttributes(call->getAttributes().removeFnAttributes(module.getContext(), mask));
      }
    }
  }
}

class Instrumenter {
 public:
  Instrumenter(llvm::Module& module, Mode mode)
      : module_(module),
        mode_(mode),
        unit_(module),
        sites_(module, unit_),
        probes_(module),
        annotations_(annotations_of(module)),
        cxx_(is_cxx(module)) {}

  /// `flow`: null when its steps are not known.
  void function(llvm::Function& function, const Plan& plan, const FunctionFlow* flow) {
    migrates_ = function.isPresplitCoroutine();
    // Without enter and exit, each access names its function itself.
    leaves_ = plan.leaf || !plan.framed;
    std::uint32_t flags = 0;
    std::string label;
    if (const auto found = annotations_.find(&function); found != annotations_.end()) {
      flags = found->second.flags;
      label = found->second.label;
    }
    // Functions of the unit as well, and those are built one after another.
    for (const llvm::CallBase* call : plan.sources) source_of(*call);
    // A block needs its beginning and end.
    if (flags != 0 && plan.framed) leaves_ = false;
    if (leaves_) flags |= unit::kLeafOnly;
    address_ = unit_.address_of(sites_.begin(function, flags, label));

    step_sites_.clear();
    llvm::Value* caller = nullptr;  // the site of the call that led here
    llvm::AllocaInst* frame = nullptr;
    if (!leaves_) {
      llvm::IRBuilder<> at(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
      at.SetCurrentDebugLocation({});
      caller = probes_.load_call(at, false);
      probes_.control(at, wire::Control::kEnter, address_, caller, false);
      if (flow != nullptr) {
        for (const FlowObject& object : flow->objects) {
          llvm::Argument* const pointer = function.getArg(object.parameter);
          const std::uint32_t site = sites_.object(function, object.name, object.bytes);
          probes_.access(at, pointer, site, {}, false);
        }
      }
      if (!plan.setjmps.empty()) {
        llvm::IRBuilder<> top(&*function.getEntryBlock().begin());
        frame = top.CreateAlloca(top.getInt64Ty());
        at.CreateStore(probes_.runtime(at, abi::kFrame, at.getInt64Ty(), {}), frame, true);
      }
    }
    llvm::ValueToValueMapTy twins;
    if (!leaves_) make_twins(function, plan, twins);
    twins_ = &twins;
    for (const PlannedLocal& local : plan.locals) add(local, function);
    for (const PlannedAccess& access : plan.accesses) add(access);
    for (const PlannedRange& range : plan.ranges) add(range);
    for (const PlannedAtomic& atomic : plan.atomics) add(atomic);
    for (llvm::FenceInst* fence : plan.fences) add(*fence);
    for (llvm::CallBase* call : plan.calls) {
      const std::uint32_t site = sites_.call(*call, plan.last.lookup(call));
      know_step(*call, site, true, true);
      llvm::IRBuilder<> at(call);
      // In a coroutine nobody knows which function the number belongs to.
      const bool known = !leaves_ && site <= 0xffff;
      if (llvm::is_contained(plan.sources, call)) announce_source(at, *call, known ? site : 0);
      probes_.store_call(at, at.getInt32(known ? site : 0), migrates_);
    }
    for (llvm::CallBase* call : plan.setjmps) {
      if (frame == nullptr || !llvm::isa<llvm::CallInst>(call)) continue;
      llvm::IRBuilder<> at(call->getNextNode());
      probes_.runtime(at, abi::kResume, at.getVoidTy(),
                      {at.CreateLoad(at.getInt64Ty(), frame, true)});
    }
    if (flow != nullptr) add_flows(*flow);
    if (leaves_) return;
    // C++'s own, even where the source has nothing to clean up: the inliner joins only functions of
    // one personality.
    if (cxx_ && !function.hasPersonalityFn() && !function.doesNotThrow()) {
      function.setPersonalityFn(llvm::cast<llvm::Constant>(
          module_
              .getOrInsertFunction(
                  "__gxx_personality_v0",
                  llvm::FunctionType::get(llvm::Type::getInt32Ty(module_.getContext()), true))
              .getCallee()));
    }
    // Last, because it makes invokes of calls.
    llvm::EscapeEnumerator exits(function, "syndrome.unwind", !function.doesNotThrow());
    while (llvm::IRBuilder<>* at = exits.Next()) {
      probes_.exit(*at, address_);
      // Whoever called us may call another function without saying so (qsort does).
      if (!plan.calls.empty()) probes_.store_call(*at, caller, false);
    }
  }

  void finish() {
    if (unit_.empty()) {
      unit_.finish(0, 0, 0)->eraseFromParent();
      return;
    }
    std::uint32_t flags = mode_ == Mode::kFast ? std::uint32_t{unit::kFastMode} : 0;
    llvm::SmallString<128> directory;
    const auto compile_units = module_.debug_compile_units();
    if (compile_units.begin() == compile_units.end()) {
      flags |= unit::kNoDebugInfo;
    } else {
      directory = (*compile_units.begin())->getDirectory();
    }
    if (directory.empty() && llvm::sys::fs::current_path(directory)) directory.clear();
    std::vector<std::pair<llvm::GlobalVariable*, std::uint32_t>> globals;
    for (llvm::GlobalVariable& global : module_.globals()) {
      if (is_variable(global)) {
        globals.emplace_back(&global, unit_.string(sites_.names().of_global(global)));
      }
    }
    const std::uint32_t name = unit_.string(module_.getSourceFileName());
    const std::uint32_t folder = unit_.string(directory.str());
    llvm::Constant* table = table_of(globals);
    llvm::GlobalVariable* unit = unit_.finish(name, folder, flags);

    // Before any initializer of the program, which may run code with probes.
    llvm::Function* constructor = llvm::Function::createWithDefaultAttr(
        llvm::FunctionType::get(llvm::Type::getVoidTy(module_.getContext()), false),
        llvm::GlobalValue::InternalLinkage, 0, "syndrome.module_ctor", &module_);
    constructor->addFnAttr(llvm::Attribute::NoUnwind);
    llvm::IRBuilder<> at(llvm::BasicBlock::Create(module_.getContext(), "", constructor));
    probes_.runtime(at, abi::kUnit, at.getVoidTy(), {unit, table, at.getInt64(globals.size())});
    at.CreateRetVoid();
    llvm::appendToGlobalCtors(module_, constructor, 0);
  }

 private:
  static bool is_variable(const llvm::GlobalVariable& global) {
    if (global.isDeclaration() || global.isConstant() || global.isThreadLocal() ||
        global.hasAvailableExternallyLinkage() || global.getAddressSpace() != 0) {
      return false;
    }
    // Our table must not name a local symbol of a group that the linker may drop.
    if (global.hasComdat() && global.hasLocalLinkage()) return false;
    const llvm::StringRef name = global.getName();
    return !name.empty() && !name.starts_with("llvm.") && !name.starts_with("syndrome.") &&
           !name.starts_with("_ZGV") && !name.starts_with("__llvm_") &&
           !name.starts_with("__prof") && !name.starts_with(".str");
  }

  llvm::Constant* table_of(
      const std::vector<std::pair<llvm::GlobalVariable*, std::uint32_t>>& globals) {
    llvm::LLVMContext& context = module_.getContext();
    auto* pointer = llvm::PointerType::getUnqual(context);
    if (globals.empty()) return llvm::ConstantPointerNull::get(pointer);
    llvm::Type* word = llvm::Type::getInt64Ty(context);
    llvm::Type* half = llvm::Type::getInt32Ty(context);
    auto* entry = llvm::StructType::get(context, {pointer, word, half, half});
    std::vector<llvm::Constant*> entries;
    for (const auto& [global, name] : globals) {
      const std::uint64_t bytes =
          module_.getDataLayout().getTypeAllocSize(global->getValueType()).getFixedValue();
      entries.push_back(llvm::ConstantStruct::get(
          entry,
          {global, llvm::ConstantInt::get(word, bytes),
           llvm::ConstantInt::get(half, unit_.offset_of(name)), llvm::ConstantInt::get(half, 0)}));
    }
    auto* type = llvm::ArrayType::get(entry, entries.size());
    return new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::InternalLinkage,
                                    llvm::ConstantArray::get(type, entries), "syndrome.globals");
  }

  void access(llvm::IRBuilder<>& at, llvm::Value* pointer, std::uint32_t site, Shape shape = {}) {
    if (leaves_) {
      llvm::Value* caller = migrates_ ? nullptr : probes_.load_call(at, false);
      probes_.control(at, wire::Control::kLeaf, address_, caller, migrates_);
      shape = {};
    }
    probes_.access(at, pointer, site, shape, migrates_);
  }

  static Shape shape_of(const PlannedAccess& planned) {
    Shape shape;
    shape.writes = planned.kind != unit::SiteKind::kRead;
    if (planned.bytes <= Shape::kMostBytes) {
      shape.bytes = static_cast<unsigned>(planned.bytes);
      shape.crosses = llvm::getLoadStoreAlignment(planned.instruction).value() < planned.bytes;
    }
    return shape;
  }

  /// The site of a step; memory intrinsics have one for each direction.
  struct StepSites {
    std::uint32_t reads = 0;
    std::uint32_t writes = 0;
  };
  void know_step(const llvm::Instruction& at, std::uint32_t site, bool reads, bool writes) {
    StepSites& sites = step_sites_[&at];
    if (reads) sites.reads = site;
    if (writes) sites.writes = site;
  }
  void add_flows(const FunctionFlow& flow) {
    const auto site = [&](std::uint32_t step, bool writes) {
      const StepSites sites = step_sites_.lookup(flow.steps[step].instruction);
      const std::uint32_t wanted = writes ? sites.writes : sites.reads;
      return sites_.program_site(wanted != 0 ? wanted : sites.reads + sites.writes);
    };
    for (const StepFlow& pair : flow.flows) {
      const bool source = (pair.how & unit::kFlowSource) != 0;
      const bool joined = (pair.how & unit::kFlowJoined) != 0;
      const std::uint32_t from = site(pair.from, source && pair.how == unit::kFlowSource);
      const std::uint32_t to = site(pair.to, !(joined && pair.how == unit::kFlowJoined));
      if (from != 0 && to != 0 && from != to) unit_.add_flow(from, to, pair.how);
    }
    for (std::uint32_t step = 0; step < flow.steps.size(); ++step) {
      if (!flow.steps[step].steered) continue;
      if (const std::uint32_t number = site(step, false); number != 0) {
        unit_.site(number).flags |= unit::kSteered;
      }
    }
    for (const std::uint32_t step : flow.results) {
      if (const std::uint32_t number = site(step, false); number != 0) {
        unit_.site(number).flags |= unit::kReachesResult;
      }
    }
  }

  /// What stands for a function without probes in the unit.
  llvm::Constant* source_of(const llvm::CallBase& call) {
    llvm::Constant*& known = sources_[call.getCalledFunction()];
    if (known == nullptr) {
      unit::Function entry;
      entry.name = unit_.string(std::string(sources::kExtern) + source_name(call));
      entry.flags = unit::kSystem;
      known = unit_.address_of(unit_.begin_function(entry));
    }
    return known;
  }

  /// That it is called. What the runtime records of the call belongs to the caller.
  void announce_source(llvm::IRBuilder<>& at, const llvm::CallBase& call, std::uint32_t site) {
    llvm::Constant* function = source_of(call);
    probes_.control(at, wire::Control::kEnter, function, at.getInt32(site), migrates_);
    probes_.control(at, wire::Control::kExit, function, nullptr, migrates_);
  }

  void add(const PlannedLocal& planned, llvm::Function& function) {
    llvm::IRBuilder<> at(planned.begin != nullptr
                             ? planned.begin->getNextNode()
                             : &*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    probes_.runtime(at, abi::kLocal, at.getVoidTy(), {planned.local, at.getInt64(planned.bytes)});
  }

  void add(const PlannedAccess& planned) {
    const std::uint32_t site =
        sites_.access(*planned.instruction, planned.pointer, planned.kind, planned.bytes);
    know_step(*planned.instruction, site, planned.kind != unit::SiteKind::kWrite,
              planned.kind != unit::SiteKind::kRead);
    if (const auto twin = twins_->find(planned.instruction); twin != twins_->end()) {
      mark(planned, llvm::cast<llvm::Instruction>(&*twin->second), site);
    }
    if (planned.once == nullptr) {
      llvm::IRBuilder<> at(planned.instruction);
      access(at, planned.pointer, site, shape_of(planned));
      return;
    }
    // A flag that becomes a register, or a loop of its own for the first round.
    llvm::IRBuilder<> top(&*planned.instruction->getFunction()->getEntryBlock().begin());
    llvm::AllocaInst* done = top.CreateAlloca(top.getInt1Ty());
    llvm::IRBuilder<> outside(planned.once->getTerminator());
    outside.CreateStore(outside.getFalse(), done);
    llvm::IRBuilder<> inside(planned.instruction);
    llvm::Value* first = inside.CreateNot(inside.CreateLoad(inside.getInt1Ty(), done));
    llvm::MDNode* rarely = llvm::MDBuilder(module_.getContext()).createBranchWeights(1, 1u << 20);
    llvm::IRBuilder<> at(
        llvm::SplitBlockAndInsertIfThen(first, planned.instruction, false, rarely));
    at.SetCurrentDebugLocation(planned.instruction->getDebugLoc());
    access(at, planned.pointer, site, shape_of(planned));
    at.CreateStore(at.getTrue(), done);
  }

  /// The same value in the twin of its loop.
  template <typename Value>
  Value* twin_of(Value* value) {
    const auto found = twins_->find(value);
    return found == twins_->end() ? value : llvm::cast<Value>(&*found->second);
  }

  void mark(const PlannedAccess& planned, llvm::Instruction* twin, std::uint32_t site) {
    llvm::AllocaInst* done = nullptr;
    if (planned.once != nullptr) {
      llvm::IRBuilder<> top(&*twin->getFunction()->getEntryBlock().begin());
      done = top.CreateAlloca(top.getInt8Ty());
      llvm::IRBuilder<> outside(twin_of(planned.once)->getTerminator());
      outside.CreateStore(outside.getInt8(0), done);
    }
    llvm::IRBuilder<> at(twin);
    probes_.mark(at, twin_of(planned.pointer), site, shape_of(planned), done, address_)
        ->setAAMetadata(twin->getAAMetadata());
  }

  void add(const PlannedRange& range) {
    llvm::MemIntrinsic& memory = *range.instruction;
    auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&memory);
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(memory.getLength());
    const std::uint64_t bytes = length == nullptr ? 0 : length->getZExtValue();
    llvm::IRBuilder<> at(&memory);
    const bool stays = length != nullptr && bytes <= kMostInline;
    const auto site = [&](llvm::Value* pointer, unit::SiteKind kind) {
      const std::uint32_t number = sites_.access(memory, pointer, kind, stays ? bytes : 0);
      know_step(memory, number, kind == unit::SiteKind::kRangeRead,
                kind == unit::SiteKind::kRangeWrite);
      return number;
    };
    if (stays || leaves_) {
      // Copies of a coroutine: of the beginning only, when the length is not known.
      const auto some = static_cast<unsigned>(stays ? bytes : 0);
      if (range.reads) {
        access(at, transfer->getRawSource(),
               site(transfer->getRawSource(), unit::SiteKind::kRangeRead), {some, false, true});
      }
      if (range.writes) {
        access(at, memory.getRawDest(), site(memory.getRawDest(), unit::SiteKind::kRangeWrite),
               {some, true, true});
      }
      return;
    }
    llvm::Value* count = at.CreateZExtOrTrunc(memory.getLength(), at.getInt64Ty());
    llvm::Value* writes = at.getInt32(site(memory.getRawDest(), unit::SiteKind::kRangeWrite));
    if (transfer != nullptr) {
      llvm::Value* reads = at.getInt32(site(transfer->getRawSource(), unit::SiteKind::kRangeRead));
      const bool moves = llvm::isa<llvm::MemMoveInst>(transfer);
      probes_.runtime(at, moves ? abi::kMemmove : abi::kMemcpy, at.getPtrTy(),
                      {memory.getRawDest(), transfer->getRawSource(), count, reads, writes});
    } else {
      llvm::Value* value =
          at.CreateZExt(llvm::cast<llvm::MemSetInst>(memory).getValue(), at.getInt32Ty());
      probes_.runtime(at, abi::kMemset, at.getPtrTy(), {memory.getRawDest(), value, count, writes});
    }
    memory.eraseFromParent();
  }

  // Which Sync an atomic is, as a value: whether a compare-exchange succeeded shows when it runs.
  llvm::Value* what_of(llvm::IRBuilder<>& at, llvm::Instruction& atomic, std::uint64_t& bytes) {
    const llvm::DataLayout& layout = module_.getDataLayout();
    const auto size = [&](llvm::Type* type) {
      return bytes = layout.getTypeStoreSize(type).getFixedValue();
    };
    if (llvm::Value* count = what_of_count(at, atomic)) return count;
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&atomic)) {
      const bool guard =
          load->getPointerOperand()->stripPointerCasts()->getName().starts_with("_ZGV");
      return at.getInt32(what(guard ? wire::Sync::kHappensAfter : wire::Sync::kAtomicLoad,
                              size(load->getType()), order_of(load->getOrdering())));
    }
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&atomic)) {
      return at.getInt32(what(wire::Sync::kAtomicStore, size(store->getValueOperand()->getType()),
                              order_of(store->getOrdering())));
    }
    if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&atomic)) {
      return at.getInt32(
          what(wire::Sync::kAtomicRmw, size(update->getType()), order_of(update->getOrdering())));
    }
    if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&atomic)) {
      size(exchange->getNewValOperand()->getType());
      return at.CreateSelect(at.CreateExtractValue(exchange, 1),
                             at.getInt32(what(wire::Sync::kAtomicRmw, bytes,
                                              order_of(exchange->getSuccessOrdering()))),
                             at.getInt32(what(wire::Sync::kAtomicLoad, bytes,
                                              order_of(exchange->getFailureOrdering()))));
    }
    return what_of_call(at, llvm::cast<llvm::CallInst>(atomic), bytes);
  }

  // The owners of a shared_ptr, as the library counts them: whoever lets go comes before the last
  // one to do so, and nobody else waits for anybody.
  llvm::Value* what_of_count(llvm::IRBuilder<>& at, llvm::Instruction& atomic) {
    if (!counts_owners(*atomic.getFunction())) return nullptr;
    if (!lets_go_of_owner(*atomic.getFunction())) {
      return at.getInt32(what(wire::Sync::kOrdered, 4, 0));
    }
    llvm::Value* last = at.CreateICmpEQ(&atomic, llvm::ConstantInt::get(atomic.getType(), 1));
    return at.CreateSelect(last, at.getInt32(what(wire::Sync::kHappensAfter, 4, 0)),
                           at.getInt32(what(wire::Sync::kHappensBefore, 4, 0)));
  }

  llvm::Value* what_of_call(llvm::IRBuilder<>& at, llvm::CallInst& call, std::uint64_t& bytes) {
    llvm::StringRef name = call.getCalledFunction()->getName();
    name.consume_front("__atomic_");
    const llvm::StringRef suffix = name.rsplit('_').second;
    if (suffix.getAsInteger(10, bytes)) {
      const auto* size = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
      bytes = size == nullptr ? 0 : size->getZExtValue();
    }
    // Orders are the last arguments; one that is computed counts as the strongest.
    const auto order = [&call](unsigned from_end) {
      const auto* value =
          llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(call.arg_size() - from_end));
      constexpr std::uint64_t kStrongest = 5;
      return static_cast<std::uint32_t>(
          value == nullptr ? kStrongest : std::min(value->getZExtValue(), kStrongest));
    };
    if (name.starts_with("load")) {
      return at.getInt32(what(wire::Sync::kAtomicLoad, bytes, order(1)));
    }
    if (name.starts_with("store")) {
      return at.getInt32(what(wire::Sync::kAtomicStore, bytes, order(1)));
    }
    if (name.starts_with("compare_exchange")) {
      return at.CreateSelect(at.CreateIsNotNull(&call),
                             at.getInt32(what(wire::Sync::kAtomicRmw, bytes, order(2))),
                             at.getInt32(what(wire::Sync::kAtomicLoad, bytes, order(1))));
    }
    return at.getInt32(what(wire::Sync::kAtomicRmw, bytes, order(1)));
  }

  void add(const PlannedAtomic& atomic) {
    llvm::Instruction& instruction = *atomic.instruction;
    if (instruction.isTerminator()) return;  // an invoke: the library's functions do not throw
    llvm::IRBuilder<> before(&instruction);
    llvm::IRBuilder<> after(instruction.getNextNode());
    after.SetCurrentDebugLocation(instruction.getDebugLoc());
    std::uint64_t bytes = 0;
    llvm::Value* kind = what_of(after, instruction, bytes);
    const std::uint32_t site =
        sites_.access(instruction, atomic.pointer, unit::SiteKind::kAtomic, bytes);
    know_step(instruction, site, true, true);
    probes_.runtime(before, abi::kAtomicBegin, before.getVoidTy(), {atomic.pointer});
    probes_.runtime(after, abi::kAtomicEnd, after.getVoidTy(),
                    {atomic.pointer, after.getInt32(leaves_ ? 0 : site), kind});
  }

  void add(llvm::FenceInst& fence) {
    const std::uint32_t site = sites_.access(
        fence, llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(module_.getContext())),
        unit::SiteKind::kAtomic, 0);
    llvm::IRBuilder<> at(fence.getNextNode());
    at.SetCurrentDebugLocation(fence.getDebugLoc());
    probes_.runtime(at, abi::kFence, at.getVoidTy(),
                    {at.getInt32(leaves_ ? 0 : site), at.getInt32(order_of(fence.getOrdering()))});
  }

  llvm::Module& module_;
  Mode mode_;
  UnitBuilder unit_;
  Sites sites_;
  Probes probes_;
  llvm::DenseMap<const llvm::Function*, Annotations> annotations_;
  llvm::DenseMap<const llvm::Function*, llvm::Constant*> sources_;
  bool cxx_;
  // Of the function at hand.
  llvm::Constant* address_ = nullptr;
  bool leaves_ = false;
  bool migrates_ = false;
  llvm::ValueToValueMapTy* twins_ = nullptr;
  llvm::DenseMap<const llvm::Instruction*, StepSites> step_sites_;
};

}  // namespace

bool is_cxx(const llvm::Module& module) {
  return module.getFunction("__gxx_personality_v0") != nullptr ||
         std::ranges::any_of(module, [](const llvm::Function& function) {
           return !function.isDeclaration() && function.getName().starts_with("_Z");
         });
}

void prepare(llvm::Module& module, llvm::SmallPtrSetImpl<llvm::Function*>& plain) {
  rewrite_synchronization(module, plain);
  llvm::SmallPtrSet<llvm::Function*, 16> kept(plain.begin(), plain.end());
  for (const auto& [function, annotations] : annotations_of(module)) {
    kept.insert(const_cast<llvm::Function*>(function));
  }
  inline_accessors(module, kept);
}

void add_probes(llvm::Module& module, const llvm::SmallPtrSetImpl<llvm::Function*>& plain,
                Mode mode) {
  const Planner planner(module, plain);
  add_summary(module, planner, mode == Mode::kFast);
  const FlowAnalysis flows(module, planner);
  Instrumenter instrumenter(module, mode);
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module) functions.push_back(&function);
  for (llvm::Function* function : functions) {
    if (const Plan* plan = planner.plan_of(*function)) {
      instrumenter.function(*function, *plan, flows.of(*function));
    }
  }
  instrumenter.finish();
  strip_attributes(module);
}

llvm::PreservedAnalyses InstrumentPass::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
  if (module.getNamedMetadata(abi::kDone) != nullptr) return llvm::PreservedAnalyses::all();
  module.getOrInsertNamedMetadata(abi::kDone);
  llvm::SmallPtrSet<llvm::Function*, 16> plain;
  if (mode_ == Mode::kSource) prepare(module, plain);
  add_probes(module, plain, mode_);
  return llvm::PreservedAnalyses::none();
}

llvm::PreservedAnalyses SynchronizationPass::run(llvm::Module& module,
                                                 llvm::ModuleAnalysisManager&) {
  const auto annotations = annotations_of(module);
  llvm::SmallPtrSet<llvm::Function*, 16> plain;
  rewrite_synchronization(module, plain);
  // A block needs its beginning and end; inlined, it would have neither. And what is to have no
  // probes would get its caller's.
  for (llvm::Function& function : module) {
    const bool stays = annotations.contains(&function) ||
                       function.hasFnAttribute(llvm::Attribute::DisableSanitizerInstrumentation);
    if (!stays || function.isDeclaration()) continue;
    function.removeFnAttr(llvm::Attribute::AlwaysInline);
    function.addFnAttr(llvm::Attribute::NoInline);
  }
  return llvm::PreservedAnalyses::none();
}

}  // namespace syndrome::instrument
