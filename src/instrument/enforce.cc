#include "instrument/enforce.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/EscapeEnumerator.h>

#include <map>
#include <utility>
#include <vector>

#include "event/plan_limits.h"
#include "instrument/abi.h"
#include "instrument/instrument.h"
#include "instrument/plan.h"
#include "instrument/sites.h"
#include "instrument/summary.h"

namespace syndrome::instrument {
namespace {

// Before each access to memory that threads may share: argument 0; before a lock of the plan: 1.
constexpr char kStep[] = "__syndrome_step";

enum class Op : std::uint8_t { kRelease, kDegrade, kRead, kExclusive };

struct Operation {
  std::uint32_t node = 0;
  std::uint32_t lock = 0;
  Op op = Op::kRelease;
  std::vector<std::uint32_t> origins;
};

struct FunctionPlan {
  std::string name;  // for people
  std::string file;
  bool internal = false;
  std::uint32_t hash = 0;
  std::size_t nodes = 0;
  std::vector<Operation> operations;
};

struct PlanFile {
  std::multimap<std::string, FunctionPlan, std::less<>> functions;  // by linkage name
  std::string error;
};

bool read_op(llvm::StringRef word, Op& op) {
  constexpr std::pair<const char*, Op> kWords[] = {{"release", Op::kRelease},
                                                   {"degrade", Op::kDegrade},
                                                   {"read", Op::kRead},
                                                   {"exclusive", Op::kExclusive}};
  for (const auto& [known, meaning] : kWords) {
    if (word != known) continue;
    op = meaning;
    return true;
  }
  return false;
}

bool read_function(const llvm::json::Object& entry, PlanFile& plan) {
  const auto linkage = entry.getString("function");
  const auto name = entry.getString("name");
  const auto file = entry.getString("file");
  const auto internal = entry.getBoolean("internal");
  const auto hash = entry.getInteger("hash");
  const auto nodes = entry.getInteger("nodes");
  const llvm::json::Array* operations = entry.getArray("operations");
  if (!linkage || !name || !file || !internal || !hash || !nodes || operations == nullptr) {
    return false;
  }
  FunctionPlan function{name->str(),
                        file->str(),
                        *internal,
                        static_cast<std::uint32_t>(*hash),
                        static_cast<std::size_t>(*nodes),
                        {}};
  for (const llvm::json::Value& value : *operations) {
    const llvm::json::Object* object = value.getAsObject();
    if (object == nullptr) return false;
    const auto node = object->getInteger("node");
    const auto lock = object->getInteger("lock");
    const auto origin = object->getInteger("origin");
    const auto word = object->getString("op");
    Op op = Op::kRelease;
    if (!node || !lock || !origin || !word || !read_op(*word, op) || *node < 0 || *node >= *nodes ||
        *lock < 0 || *lock >= kMostPlanLocks) {
      return false;
    }
    const auto at = static_cast<std::uint32_t>(*node);
    const auto number = static_cast<std::uint32_t>(*lock);
    // What is done to one lock for several origins at one place is one operation on their bits:
    // where many paths come together, there are many.
    std::vector<Operation>& known = function.operations;
    if (known.empty() || known.back().node != at || known.back().lock != number ||
        known.back().op != op) {
      known.push_back({at, number, op, {}});
    }
    known.back().origins.push_back(static_cast<std::uint32_t>(*origin));
  }
  plan.functions.emplace(linkage->str(), std::move(function));
  return true;
}

/// Whether lists and objects stand in each other no deeper than those of a plan may: LLVM's reader
/// calls itself for each, and a file must not decide how much stack it takes.
bool is_flat(llvm::StringRef text) {
  constexpr unsigned kDeepest = 16;  // a plan has 5
  unsigned depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char at = text[i];
    if (quoted && at == '\\') {
      ++i;
    } else if (at == '"') {
      quoted = !quoted;
    } else if (!quoted && (at == '[' || at == '{')) {
      if (++depth > kDeepest) return false;
    } else if (!quoted && (at == ']' || at == '}') && depth > 0) {
      --depth;
    }
  }
  return true;
}

PlanFile read_plan(const std::string& path) {
  PlanFile plan;
  const auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) {
    plan.error = "cannot read the plan " + path + ": " + file.getError().message();
    return plan;
  }
  const llvm::StringRef text = (*file)->getBuffer();
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(is_flat(text) ? text : "null");
  const llvm::json::Object* root = nullptr;
  if (value) {
    root = value->getAsObject();
  } else {
    llvm::consumeError(value.takeError());
  }
  const llvm::json::Array* functions = root != nullptr &&
                                               root->getString("kind") == "syndrome-plan" &&
                                               root->getInteger("version") == 1
                                           ? root->getArray("functions")
                                           : nullptr;
  if (functions == nullptr) {
    plan.error = path + " is not a plan; expected what 'syndrome plan -o FILE' writes";
    return plan;
  }
  for (const llvm::json::Value& entry : *functions) {
    const llvm::json::Object* object = entry.getAsObject();
    if (object == nullptr || !read_function(*object, plan)) {
      plan.error = path + ": a function of the plan is incomplete; make the plan again";
      return plan;
    }
  }
  return plan;
}

/// The locks of one function.
class Applier {
 public:
  Applier(llvm::Function& function, const Plan& plan, bool cxx, bool steps)
      : function_(function),
        plan_(plan),
        cxx_(cxx),
        steps_(steps),
        volatile_(!plan.setjmps.empty()) {}

  void apply(const std::vector<SummaryNode>& nodes, const FunctionPlan& planned) {
    llvm::IRBuilder<> top(&*function_.getEntryBlock().begin());
    frame_ = top.CreateAlloca(top.getInt8Ty(), nullptr, "syndrome.frame");
    for (const Operation& operation : planned.operations) {
      std::map<std::uint32_t, unsigned>& bits = locks_[operation.lock].bits;
      for (const std::uint32_t origin : operation.origins) {
        bits.try_emplace(origin, static_cast<unsigned>(bits.size()));
      }
    }
    for (auto& [number, lock] : locks_) {
      lock.number = number;
      lock.type = top.getIntNTy(static_cast<unsigned>((lock.bits.size() + 31) / 32 * 32));
      lock.held = top.CreateAlloca(lock.type, nullptr, "syndrome.held");
      lock.exclusive = top.CreateAlloca(lock.type, nullptr, "syndrome.exclusive");
    }
    llvm::IRBuilder<> entry(&*function_.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    for (auto& [number, lock] : locks_) {
      set(entry, lock.held, llvm::ConstantInt::get(lock.type, 0));
      set(entry, lock.exclusive, llvm::ConstantInt::get(lock.type, 0));
    }
    // Where nodes stand may move as blocks are split, the instructions do not.
    for (const Operation& operation : planned.operations) {
      llvm::Instruction* at = nodes[operation.node].at;
      // The entry's own operations come after the variables have their first value.
      if (operation.node == 0) at = &*entry.GetInsertPoint();
      add(at, operation);
    }
    for (llvm::CallBase* call : plan_.setjmps) {
      if (!llvm::isa<llvm::CallInst>(call)) continue;
      llvm::IRBuilder<> after(call->getNextNode());
      runtime(after, "__syndrome_lock_resume", {frame_});
    }
    if (cxx_ && !function_.doesNotThrow()) unwind();
  }

 private:
  struct Lock {
    std::uint32_t number = 0;
    std::map<std::uint32_t, unsigned> bits;  // by origin
    llvm::IntegerType* type = nullptr;
    llvm::AllocaInst* held = nullptr;
    llvm::AllocaInst* exclusive = nullptr;
  };

  llvm::Value* get(llvm::IRBuilder<>& at, const Lock& lock, llvm::AllocaInst* variable) const {
    return at.CreateLoad(lock.type, variable, volatile_);
  }
  void set(llvm::IRBuilder<>& at, llvm::AllocaInst* variable, llvm::Value* value) const {
    at.CreateStore(value, variable, volatile_);
  }

  void runtime(llvm::IRBuilder<>& at, const char* name, llvm::ArrayRef<llvm::Value*> arguments) {
    std::vector<llvm::Type*> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    const llvm::FunctionCallee callee = function_.getParent()->getOrInsertFunction(
        name, llvm::FunctionType::get(at.getVoidTy(), types, false));
    llvm::CallInst* call = at.CreateCall(callee, arguments);
    call->setDoesNotThrow();
    call->setDebugLoc(where_);
  }

  /// Code that runs when the condition holds; goes on before `at`.
  llvm::Instruction* when(llvm::Value* condition, llvm::Instruction* at) {
    return llvm::SplitBlockAndInsertIfThen(condition, at, false);
  }

  void add(llvm::Instruction* at, const Operation& operation) {
    Lock& lock = locks_[operation.lock];
    // Calls in a function with debug information need a place.
    where_ = at->getDebugLoc();
    if (!where_ && function_.getSubprogram() != nullptr) {
      where_ = llvm::DILocation::get(function_.getContext(), function_.getSubprogram()->getLine(),
                                     0, function_.getSubprogram());
    }
    const unsigned width = lock.type->getBitWidth();
    llvm::APInt mask(width, 0);
    for (const std::uint32_t origin : operation.origins) mask.setBit(lock.bits[origin]);
    llvm::Value* bits = llvm::ConstantInt::get(lock.type, mask);
    llvm::Value* others = llvm::ConstantInt::get(lock.type, ~mask);
    llvm::Value* none = llvm::ConstantInt::get(lock.type, 0);
    llvm::IRBuilder<> before(at);
    llvm::Value* number = before.getInt32(lock.number);
    switch (operation.op) {
      case Op::kRead:
      case Op::kExclusive: {
        const bool exclusive = operation.op == Op::kExclusive;
        llvm::Value* known = get(before, lock, exclusive ? lock.exclusive : lock.held);
        llvm::IRBuilder<> first(when(before.CreateICmpEQ(known, none), at));
        if (steps_) runtime(first, kStep, {first.getInt32(1)});
        runtime(first, exclusive ? "__syndrome_lock_exclusive" : "__syndrome_lock_read",
                {number, frame_});
        llvm::IRBuilder<> then(at);
        set(then, lock.held, then.CreateOr(get(then, lock, lock.held), bits));
        if (exclusive) {
          set(then, lock.exclusive, then.CreateOr(get(then, lock, lock.exclusive), bits));
        }
        break;
      }
      case Op::kRelease: {
        llvm::Value* known = get(before, lock, lock.held);
        llvm::Instruction* inside =
            when(before.CreateICmpNE(before.CreateAnd(known, bits), none), at);
        llvm::IRBuilder<> then(inside);
        llvm::Value* left = then.CreateAnd(known, others);
        llvm::Value* was = get(then, lock, lock.exclusive);
        llvm::Value* still = then.CreateAnd(was, others);
        set(then, lock.held, left);
        set(then, lock.exclusive, still);
        llvm::IRBuilder<> last(when(then.CreateICmpEQ(left, none), inside));
        runtime(last, "__syndrome_lock_release", {number, frame_});
        llvm::IRBuilder<> rest(inside);
        llvm::Value* weaker = rest.CreateAnd(
            rest.CreateICmpNE(left, none),
            rest.CreateAnd(rest.CreateICmpNE(was, none), rest.CreateICmpEQ(still, none)));
        llvm::IRBuilder<> degrade(when(weaker, inside));
        runtime(degrade, "__syndrome_lock_degrade", {number, frame_});
        break;
      }
      case Op::kDegrade: {
        llvm::Value* known = get(before, lock, lock.exclusive);
        llvm::Instruction* inside =
            when(before.CreateICmpNE(before.CreateAnd(known, bits), none), at);
        llvm::IRBuilder<> then(inside);
        llvm::Value* still = then.CreateAnd(known, others);
        set(then, lock.exclusive, still);
        llvm::IRBuilder<> last(when(then.CreateICmpEQ(still, none), inside));
        runtime(last, "__syndrome_lock_degrade", {number, frame_});
        break;
      }
    }
  }

  /// An exception that leaves the function gives back what it holds.
  void unwind() {
    if (!function_.hasPersonalityFn()) {
      function_.setPersonalityFn(llvm::cast<llvm::Constant>(
          function_.getParent()
              ->getOrInsertFunction(
                  "__gxx_personality_v0",
                  llvm::FunctionType::get(llvm::Type::getInt32Ty(function_.getContext()), true))
              .getCallee()));
    }
    llvm::EscapeEnumerator exits(function_, "syndrome.unwind", true);
    std::vector<llvm::Instruction*> resumes;
    while (llvm::IRBuilder<>* at = exits.Next()) {
      llvm::Instruction* exit = &*at->GetInsertPoint();
      if (!llvm::isa<llvm::ReturnInst>(exit)) resumes.push_back(exit);
    }
    for (llvm::Instruction* exit : resumes) {
      where_ = exit->getDebugLoc();
      if (!where_ && function_.getSubprogram() != nullptr) {
        where_ = llvm::DILocation::get(function_.getContext(), function_.getSubprogram()->getLine(),
                                       0, function_.getSubprogram());
      }
      for (const auto& [number, lock] : locks_) {
        llvm::IRBuilder<> before(exit);
        llvm::Value* known = get(before, lock, lock.held);
        llvm::IRBuilder<> then(
            when(before.CreateICmpNE(known, llvm::ConstantInt::get(lock.type, 0)), exit));
        runtime(then, "__syndrome_lock_release", {then.getInt32(number), frame_});
      }
    }
  }

  llvm::Function& function_;
  const Plan& plan_;
  bool cxx_;
  bool steps_;
  bool volatile_;  // after a longjmp only such variables have their value
  llvm::AllocaInst* frame_ = nullptr;
  llvm::DebugLoc where_;
  std::map<std::uint32_t, Lock> locks_;
};

/// Right before the accesses: inside of what locks protect them.
void add_steps(llvm::Function& function, const std::vector<SummaryNode>& nodes) {
  const llvm::FunctionCallee callee = function.getParent()->getOrInsertFunction(
      kStep, llvm::FunctionType::get(llvm::Type::getVoidTy(function.getContext()),
                                     {llvm::Type::getInt32Ty(function.getContext())}, false));
  const llvm::Instruction* last = nullptr;
  for (const SummaryNode& node : nodes) {
    if (node.kind != SummaryNode::Kind::kAccess || node.at == last) continue;
    last = node.at;
    llvm::IRBuilder<> before(node.at);
    before.CreateCall(callee, {before.getInt32(0)})->setDoesNotThrow();
  }
}

/// What stands for synchronization in a recorded program has no meaning here.
void remove_marks(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() || !function.getName().starts_with(abi::kPrefix) ||
        function.getName().starts_with("__syndrome_lock_") || function.getName() == kStep) {
      continue;
    }
    std::vector<llvm::CallInst*> calls;
    for (llvm::User* user : function.users()) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (call != nullptr && call->getCalledFunction() == &function) calls.push_back(call);
    }
    for (llvm::CallInst* call : calls) {
      if (call->getType()->isVoidTy()) call->eraseFromParent();
    }
  }
}

}  // namespace

llvm::PreservedAnalyses EnforcePass::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
  if (module.getNamedMetadata(abi::kDone) != nullptr) return llvm::PreservedAnalyses::all();
  module.getOrInsertNamedMetadata(abi::kDone);
  const PlanFile file = read_plan(options_.plan);
  if (!file.error.empty()) {
    module.getContext().emitError("syndrome: " + file.error);
    return llvm::PreservedAnalyses::all();
  }
  llvm::SmallPtrSet<llvm::Function*, 16> plain;
  prepare(module, plain);
  const Planner planner(module, plain);
  const bool cxx = is_cxx(module);
  std::string changed;
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module) functions.push_back(&function);
  // The nodes of all functions before any of them changes.
  std::vector<std::pair<llvm::Function*, std::vector<SummaryNode>>> stepped;
  for (llvm::Function* function : functions) {
    const Plan* plan = planner.plan_of(*function);
    std::vector<SummaryNode> nodes;
    if (plan != nullptr) nodes = nodes_of(*function, *plan);
    const auto [first, last] = file.functions.equal_range(readable_name(function->getName()));
    if (options_.steps && plan != nullptr) stepped.emplace_back(function, nodes);
    if (first == last || function->isDeclaration()) continue;
    const llvm::DISubprogram* program = function->getSubprogram();
    const std::string path = program == nullptr ? "" : source_path(program->getFile());
    const FunctionPlan* found = nullptr;
    bool here = false;
    for (auto at = first; at != last; ++at) {
      const FunctionPlan& candidate = at->second;
      // Another file's function of the same name.
      if (candidate.internal != function->hasLocalLinkage()) continue;
      if (candidate.internal && !path.empty() && candidate.file != path) continue;
      // Or another program's: what configure compiles to try a compiler has a main of its own.
      if (!path.empty() && !candidate.file.empty() &&
          llvm::sys::path::filename(candidate.file) != llvm::sys::path::filename(path)) {
        continue;
      }
      here = true;
      if (candidate.hash == hash_of(*function)) found = &candidate;
    }
    if (!here) continue;
    if (found == nullptr || nodes.size() != found->nodes) {
      changed += (changed.empty() ? "" : ", ") + first->second.name;
      continue;
    }
    Applier(*function, *plan, cxx, options_.steps).apply(nodes, *found);
  }
  if (!changed.empty()) {
    module.getContext().emitError(
        "syndrome: " + options_.plan + " was made for other code: " + changed +
        " changed since, or is compiled with other options. Build with probes, record, infer and "
        "plan again");
  }
  if (options_.steps) {
    for (const auto& [function, nodes] : stepped) add_steps(*function, nodes);
  }
  if (options_.probes) {
    add_probes(module, plain, Mode::kSource);
  } else {
    remove_marks(module);
  }
  return llvm::PreservedAnalyses::none();
}

}  // namespace syndrome::instrument
