#include "instrument/summary.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <string>

#include "instrument/names.h"
#include "instrument/sites.h"

namespace syndrome::instrument {
namespace {

enum class LockOp : char { kNone = '-', kAcquire = 'L', kRelease = 'U' };

/// What a function of a library does to the lock that it is called for.
LockOp lock_op_of(llvm::StringRef name) {
  for (const char* prefix : {"pthread_mutex_", "pthread_spin_", "pthread_rwlock_", "mtx_"}) {
    llvm::StringRef rest = name;
    if (!rest.consume_front(prefix)) continue;
    if (rest == "unlock") return LockOp::kRelease;
    return rest.contains("lock") ? LockOp::kAcquire : LockOp::kNone;
  }
  for (const char* type :
       {"_ZNSt5mutex", "_ZNSt15recursive_mutex", "_ZNSt11timed_mutex",
        "_ZNSt21recursive_timed_mutex", "_ZNSt12shared_mutex", "_ZNSt18shared_timed_mutex",
        // What stays of the last two when they have been inlined: it tries again.
        "_ZNSt22__shared_mutex_pthread"}) {
    llvm::StringRef rest = name;
    if (!rest.consume_front(type)) continue;
    if (rest.contains("unlock")) return LockOp::kRelease;
    return rest.contains("lock") ? LockOp::kAcquire : LockOp::kNone;
  }
  for (const char* type : {"_ZNSt10lock_guardI", "_ZNSt11unique_lockI", "_ZNSt11scoped_lockI",
                           "_ZNSt11shared_lockI"}) {
    if (!name.starts_with(type)) continue;
    if (name.contains("ED2Ev") || name.contains("ED1Ev") || name.contains("6unlockE")) {
      return LockOp::kRelease;
    }
    return name.contains("EC2E") || name.contains("EC1E") || name.contains("4lockE") ||
                   name.contains("8try_lock")
               ? LockOp::kAcquire
               : LockOp::kNone;
  }
  return LockOp::kNone;
}

/// Functions of libraries that keep a pointer to a function for another thread or time.
bool calls_later(llvm::StringRef name) {
  for (const char* known :
       {"pthread_create", "thrd_create", "signal", "sigaction", "atexit", "on_exit", "__cxa_atexit",
        "pthread_atfork", "pthread_key_create", "tss_create", "__cxa_thread_atexit",
        // libevent
        "event_set", "event_assign", "event_new", "event_base_once", "evconnlistener_new"}) {
    if (name == known) return true;
  }
  return false;
}

/// Whether a call through a pointer may lead there. What is only handed to a library that calls it
/// does not come back to the program.
bool is_pointed_to(const llvm::Function& function) {
  for (const llvm::Use& use : function.uses()) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
    if (call == nullptr) return true;
    if (call->isCallee(&use)) continue;
    const llvm::Function* callee = call->getCalledFunction();
    if (callee == nullptr || !callee->isDeclaration() || !calls_later(callee->getName())) {
      return true;
    }
  }
  return false;
}

class Writer {
 public:
  Writer(llvm::Module& module, bool fast) : module_(module), names_(module) {
    text_ = "U\t" + std::to_string(kSummaryVersion) + (fast ? "\t1\n" : "\t0\n");
  }

  void function(llvm::Function& function, const Plan& plan) {
    function_ = &function;
    guards_.clear();
    const llvm::DISubprogram* program = function.getSubprogram();
    const std::string path = program == nullptr ? "" : source_path(program->getFile());
    system_ = in_system_header(path);
    std::string flags;
    if (function.hasLocalLinkage()) flags += 'i';
    if (is_pointed_to(function)) flags += 'a';
    if (flags.empty()) flags = "-";
    const std::string name = string(readable_name(function.getName()));
    const std::string file = string(path);
    const std::string type = string(type_of(*function.getFunctionType()));
    line({"F", name, file, std::to_string(program == nullptr ? 0 : program->getLine()),
          std::to_string(hash_of(function)), flags, type});
    llvm::DenseMap<const llvm::BasicBlock*, unsigned> numbers;
    for (const llvm::BasicBlock& block : function) {
      const unsigned number = numbers.size();
      numbers[&block] = number;
    }
    for (const SummaryNode& node : nodes_of(function, plan)) {
      switch (node.kind) {
        case SummaryNode::Kind::kBlock: {
          std::string list;
          for (const llvm::BasicBlock* next : llvm::successors(node.at->getParent())) {
            list += (list.empty() ? "" : ",") + std::to_string(numbers[next]);
          }
          line({"B", list});
          break;
        }
        case SummaryNode::Kind::kAccess: access(node); break;
        case SummaryNode::Kind::kCall: call(llvm::cast<llvm::CallBase>(*node.at)); break;
        case SummaryNode::Kind::kExit: line({"X"}); break;
      }
    }
  }

  void finish() {
    while (text_.size() % 8 != 0) text_ += '\n';
    llvm::Constant* data =
        llvm::ConstantDataArray::getString(module_.getContext(), text_, /*AddNull=*/false);
    auto* summary =
        new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                 data, "syndrome.summary");
    summary->setSection(kSummarySection);
    summary->setAlignment(llvm::Align(8));
    llvm::appendToUsed(module_, {summary});
  }

 private:
  void line(std::initializer_list<std::string> fields) {
    bool first = true;
    for (const std::string& field : fields) {
      if (!first) text_ += '\t';
      text_ += field;
      first = false;
    }
    text_ += '\n';
  }

  std::string string(llvm::StringRef text) {
    if (text.empty()) return "0";
    const auto [at, added] = strings_.try_emplace(text, strings_.size() + 1);
    if (added) {
      std::string clean = text.str();
      for (char& c : clean) {
        if (c == '\t' || c == '\n' || c == '\0') c = ' ';
      }
      text_ += "S\t" + clean + "\n";
    }
    return std::to_string(at->second);
  }

  static std::string type_of(const llvm::FunctionType& type) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    type.print(stream);
    return text;
  }

  struct Place {
    std::string file = "0";
    std::string line = "0";
    std::string column = "0";
    std::string inlined = "0";
  };

  Place place(const llvm::Instruction& at) {
    Place place;
    const llvm::DILocation* location = at.getDebugLoc().get();
    if (location == nullptr) return place;
    // Traces name the place in the program that a library's header was inlined into
    // (trace/capture_meta.h, program_site).
    for (const llvm::DILocation* outer = location; outer != nullptr;
         outer = outer->getInlinedAt()) {
      if (in_system_header(source_path(outer->getFile()))) continue;
      location = outer;
      break;
    }
    place.file = string(source_path(location->getFile()));
    place.line = std::to_string(location->getLine());
    place.column = std::to_string(std::min(location->getColumn(), 0xffffU));
    const llvm::DISubprogram* program = location->getScope()->getSubprogram();
    if (program != nullptr && program != function_->getSubprogram()) {
      const llvm::StringRef linkage = program->getLinkageName();
      place.inlined = string(linkage.empty() ? program->getName().str() : readable_name(linkage));
    }
    return place;
  }

  void access(const SummaryNode& node) {
    llvm::APInt offset(64, 0);
    const llvm::Value* base =
        node.pointer->stripAndAccumulateConstantOffsets(module_.getDataLayout(), offset, true);
    const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(base);
    const Place at = place(*node.at);
    const std::string variable = string(names_.of(node.pointer, node.bytes).text);
    line({"A", node.reads && node.writes ? "m" : (node.writes ? "w" : "r"),
          global != nullptr && !global->isThreadLocal() ? "g" : "-", at.file, at.line, at.column,
          at.inlined, variable});
  }

  void call(llvm::CallBase& call) {
    LockOp op = LockOp::kNone;
    std::string lock;
    std::string callees;
    const auto add = [&](const llvm::Function& function) {
      callees += (callees.empty() ? "" : ",") + string(readable_name(function.getName()));
    };
    const llvm::Function* callee = call.getCalledFunction();
    if (callee != nullptr) {
      // What the library does inside is told where the program calls it.
      if (!system_) op = lock_op_of(callee->getName());
      if (op != LockOp::kNone) lock = lock_of(call, *callee, op);
      add(*callee);
      if (callee->isDeclaration() && !calls_later(callee->getName())) {
        for (const llvm::Value* argument : call.args()) {
          const auto* passed = llvm::dyn_cast<llvm::Function>(argument->stripPointerCasts());
          if (passed != nullptr && !passed->isDeclaration()) add(*passed);
        }
      }
    }
    const bool indirect = callee == nullptr && !call.isInlineAsm();
    const Place at = place(call);
    const std::string name = string(lock);
    const std::string type = indirect ? string(type_of(*call.getFunctionType())) : "0";
    line({"C", std::string(1, static_cast<char>(op)), name, at.file, at.line, at.column, at.inlined,
          indirect ? "i" : "-", type, callees.empty() ? "0" : callees});
  }

  /// "locks[]" for an element of a global array, or of one that a global variable points to.
  std::string element_of(const llvm::Value* pointer) {
    const auto* step = llvm::dyn_cast<llvm::GEPOperator>(pointer);
    if (step == nullptr) return {};
    const llvm::Type* type = step->getSourceElementType();
    const bool in_array = step->getNumIndices() == 2 && type->isArrayTy();
    const bool behind_pointer = step->getNumIndices() == 1 && type->isStructTy();
    if (!in_array && !behind_pointer) return {};
    const llvm::Value* base = step->getPointerOperand();
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(base)) base = load->getPointerOperand();
    const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(base);
    return global == nullptr ? std::string() : names_.of_object(global, true).text + "[]";
  }

  std::string lock_itself(const llvm::Value* pointer) {
    std::string element = element_of(pointer);
    return element.empty() ? names_.of_object(pointer, true).text : element;
  }

  /// A pointer in a local variable points to what it has been set to, when that has one name.
  std::string lock_at(const llvm::Value* pointer) {
    std::string name = lock_itself(pointer);
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(pointer->stripPointerCasts());
    const auto* local =
        load == nullptr ? nullptr : llvm::dyn_cast<llvm::AllocaInst>(load->getPointerOperand());
    if (!name.empty() || local == nullptr) return name;
    for (const llvm::User* user : local->users()) {
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
      if (store == nullptr || store->getPointerOperand() != local) continue;
      const std::string one = lock_itself(store->getValueOperand());
      if (one.empty() || (!name.empty() && one != name)) return {};
      name = one;
    }
    return name;
  }

  /// A guard of the library is known by what it was made with.
  std::string lock_of(const llvm::CallBase& call, const llvm::Function& callee, LockOp op) {
    const bool guard = callee.getName().contains("_lockI") || callee.getName().contains("_guardI");
    if (call.arg_size() == 0) return {};
    if (!guard) return lock_at(call.getArgOperand(0));
    const llvm::Value* self = call.getArgOperand(0)->stripPointerCasts();
    if (call.arg_size() > 1 && op == LockOp::kAcquire) {
      std::string name = lock_at(call.getArgOperand(1));
      guards_[self] = name;
      return name;
    }
    const auto known = guards_.find(self);
    return known == guards_.end() ? std::string() : known->second;
  }

  llvm::Module& module_;
  Names names_;
  std::string text_;
  llvm::StringMap<unsigned> strings_;
  const llvm::Function* function_ = nullptr;
  bool system_ = false;
  llvm::DenseMap<const llvm::Value*, std::string> guards_;
};

/// The store that x[i] += 1 ends with.
llvm::Instruction* store_of(const PlannedAccess& access) {
  for (llvm::Instruction* at = access.instruction->getNextNode(); at != nullptr;
       at = at->getNextNode()) {
    auto* store = llvm::dyn_cast<llvm::StoreInst>(at);
    if (store != nullptr && store->getPointerOperand() == access.pointer) return store;
  }
  return nullptr;
}

/// Whether the program ends here, by abort() or the like: what is held then is held by nobody. (A
/// call that the compiler believes to return, and the program does not, may still throw.)
bool is_dead_end(const llvm::BasicBlock& block) {
  if (!llvm::isa<llvm::UnreachableInst>(block.getTerminator())) return false;
  const llvm::Instruction* last = block.getTerminator()->getPrevNonDebugInstruction();
  const auto* call = llvm::dyn_cast_or_null<llvm::CallBase>(last);
  return call == nullptr || call->doesNotThrow() || block.getParent()->doesNotThrow();
}

}  // namespace

std::vector<SummaryNode> nodes_of(llvm::Function& function, const Plan& plan) {
  using Kind = SummaryNode::Kind;
  llvm::DenseMap<const llvm::Instruction*, std::vector<SummaryNode>> at;
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (const PlannedAccess& access : plan.accesses) {
    const bool both = access.kind == unit::SiteKind::kReadWrite;
    llvm::Instruction* store = both ? store_of(access) : nullptr;
    const bool split = store != nullptr;
    const bool writes = access.kind == unit::SiteKind::kWrite;
    at[access.instruction].push_back({Kind::kAccess, access.instruction, access.pointer,
                                      access.bytes, !writes, writes || (both && !split)});
    if (split) {
      at[store].push_back({Kind::kAccess, store, access.pointer, access.bytes, false, true});
    }
  }
  for (const PlannedRange& range : plan.ranges) {
    llvm::MemIntrinsic* memory = range.instruction;
    if (range.reads) {
      auto* transfer = llvm::cast<llvm::MemTransferInst>(memory);
      at[memory].push_back({Kind::kAccess, memory, transfer->getRawSource(), 0, true, false});
    }
    if (range.writes) {
      at[memory].push_back({Kind::kAccess, memory, memory->getRawDest(), 0, false, true});
    }
  }
  for (const PlannedAtomic& atomic : plan.atomics) {
    llvm::Instruction* instruction = atomic.instruction;
    bool reads = true;
    bool writes = true;
    llvm::Type* type = instruction->getType();
    if (llvm::isa<llvm::LoadInst>(instruction)) writes = false;
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
      reads = false;
      type = store->getValueOperand()->getType();
    }
    if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(instruction)) {
      type = exchange->getNewValOperand()->getType();
    }
    const std::uint64_t bytes = type->isSized() ? layout.getTypeStoreSize(type).getFixedValue() : 0;
    at[instruction].push_back({Kind::kAccess, instruction, atomic.pointer, bytes, reads, writes});
  }
  for (llvm::CallBase* call : plan.calls) {
    at[call].push_back({Kind::kCall, call, nullptr, 0, false, false});
  }
  std::vector<SummaryNode> nodes;
  for (llvm::BasicBlock& block : function) {
    nodes.push_back({Kind::kBlock, &*block.getFirstInsertionPt(), nullptr, 0, false, false});
    for (llvm::Instruction& instruction : block) {
      if (const auto found = at.find(&instruction); found != at.end()) {
        nodes.insert(nodes.end(), found->second.begin(), found->second.end());
      }
    }
    if (block.getTerminator()->getNumSuccessors() == 0 && !is_dead_end(block)) {
      nodes.push_back({Kind::kExit, block.getTerminator(), nullptr, 0, false, false});
    }
  }
  return nodes;
}

void add_summary(llvm::Module& module, const Planner& planner, bool fast) {
  Writer writer(module, fast);
  bool any = false;
  for (llvm::Function& function : module) {
    const Plan* plan = planner.plan_of(function);
    if (plan == nullptr || !plan->framed) continue;
    writer.function(function, *plan);
    any = true;
  }
  if (any) writer.finish();
}

}  // namespace syndrome::instrument
