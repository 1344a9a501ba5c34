#include "instrument/sites.h"

#include <cxxabi.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "instrument/recognize.h"
#include "instrument/set_members.h"

namespace syndrome::instrument {
namespace {

/// Whether a function of the C library takes a lock, condition, barrier or semaphore first.
bool takes_lock(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr) return false;
  for (const char* prefix : {"pthread_mutex_", "pthread_spin_", "pthread_rwlock_", "pthread_cond_",
                             "pthread_barrier_", "mtx_", "cnd_", "sem_"}) {
    if (callee->getName().starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

std::uint32_t hash_of(const llvm::Function& function) {
  std::uint32_t hash = 2166136261u;
  const auto mix = [&hash](std::uint32_t value) { hash = (hash ^ value) * 16777619u; };
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& instruction : block) {
      if (instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd()) continue;
      mix(instruction.getOpcode());
      mix(instruction.getNumOperands());
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
        if (const llvm::Function* callee = call->getCalledFunction()) {
          for (const char c : callee->getName()) mix(static_cast<std::uint8_t>(c));
        }
      }
    }
  }
  return hash;
}

bool in_system_header(llvm::StringRef path) {
  return path.starts_with("/usr/include/") || path.starts_with("/usr/lib/") ||
         path.starts_with("/usr/local/include/");
}

std::string source_path(const llvm::DIFile* file) {
  if (file == nullptr) return {};
  llvm::SmallString<128> path(file->getFilename());
  if (!llvm::sys::path::is_absolute(path) && !file->getDirectory().empty()) {
    path = file->getDirectory();
    llvm::sys::path::append(path, file->getFilename());
  }
  // gcc's headers come as /usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/mutex.
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return std::string(path);
}

std::string readable_name(llvm::StringRef linkage_name) {
  std::string name = linkage_name.str();
  if (!linkage_name.starts_with("_Z")) return name;
  int status = 0;
  char* const known = __cxxabiv1::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (known == nullptr) name = llvm::demangle(name);
  std::free(known);
  return name;
}

Sites::Sites(const llvm::Module& module, UnitBuilder& unit) : unit_(unit), names_(module) {
  for (const SetMember& member : set_members(module, names_)) {
    unit::Function entry;
    entry.name = unit_.string(member.name);
    entry.label = unit_.string(member.set);
    entry.flags = unit::kSetMember;
    unit_.begin_function(entry);
  }
}

const std::string& Sites::path_of(const llvm::DIFile* file) {
  const auto [at, added] = files_.try_emplace(file);
  if (added) at->second = source_path(file);
  return at->second;
}

llvm::StringRef Sites::readable(llvm::StringRef linkage_name) {
  if (!linkage_name.starts_with("_Z")) return linkage_name;
  const auto [at, added] = readable_.try_emplace(linkage_name);
  if (added) at->second = readable_name(linkage_name);
  return at->second;
}

std::uint32_t Sites::begin(const llvm::Function& function, std::uint32_t flags,
                           llvm::StringRef label) {
  inlined_.clear();
  unit::Function entry;
  llvm::StringRef linkage = function.getName();
  linkage.consume_front("\x01");
  entry.name = unit_.string(readable(linkage));
  if (const llvm::DISubprogram* program = function.getSubprogram()) {
    const std::string& path = path_of(program->getFile());
    entry.file = unit_.string(path);
    entry.line = program->getLine();
    if (in_system_header(path)) flags |= unit::kSystem;
  }
  entry.flags = flags;
  entry.label = unit_.string(label);
  entry.hash = hash_of(function);
  return unit_.begin_function(entry);
}

unit::Site Sites::place(const llvm::DILocation* location, const llvm::Function& function) {
  unit::Site site;
  if (location == nullptr) return site;
  const std::string& path = path_of(location->getFile());
  site.file = unit_.string(path);
  site.line = location->getLine();
  site.column = static_cast<std::uint16_t>(
      std::min<unsigned>(location->getColumn(), std::numeric_limits<std::uint16_t>::max()));
  if (in_system_header(path)) site.flags |= unit::kSystemSite;
  const llvm::DISubprogram* program = location->getScope()->getSubprogram();
  if (program != nullptr && program != function.getSubprogram()) {
    const llvm::StringRef name = program->getLinkageName();
    site.function = unit_.string(name.empty() ? program->getName() : readable(name));
  }
  if (const llvm::DILocation* call = location->getInlinedAt()) {
    auto known = inlined_.find(call);
    if (known == inlined_.end()) {
      unit::Site outer = place(call, function);
      outer.kind = unit::SiteKind::kCall;
      known = inlined_.try_emplace(call, unit_.reference(unit_.add_site(outer))).first;
    }
    site.inlined = known->second;
  }
  return site;
}

void Sites::name(unit::Site& site, const VariableName& name) {
  site.name = unit_.string(name.text);
  if (name.offset.has_value() && *name.offset >= std::numeric_limits<std::int32_t>::min() &&
      *name.offset <= std::numeric_limits<std::int32_t>::max()) {
    site.offset = static_cast<std::int32_t>(*name.offset);
    site.flags |= unit::kHasOffset;
  }
  if (name.ambiguous) site.flags |= unit::kAmbiguous;
}

std::uint32_t Sites::access(const llvm::Instruction& at, const llvm::Value* pointer,
                            unit::SiteKind kind, std::uint64_t bytes) {
  unit::Site site = place(at.getDebugLoc().get(), *at.getFunction());
  site.kind = kind;
  site.bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
  if (at.isVolatile()) site.flags |= unit::kVolatile;
  name(site, names_.of(pointer, bytes));
  return unit_.add_site(site);
}

std::uint32_t Sites::object(const llvm::Function& function, llvm::StringRef type,
                            std::uint64_t bytes) {
  unit::Site site;
  if (const llvm::DISubprogram* program = function.getSubprogram()) {
    site.file = unit_.string(path_of(program->getFile()));
    site.line = program->getLine();
  }
  site.kind = unit::SiteKind::kObject;
  site.name = unit_.string(type);
  site.bytes = static_cast<std::uint32_t>(bytes);
  return unit_.add_site(site);
}

std::uint32_t Sites::program_site(std::uint32_t number) {
  const std::uint32_t before = unit_.reference(0);
  for (std::uint32_t at = number; at != 0;) {
    const unit::Site& site = unit_.site(at);
    if ((site.flags & unit::kSystemSite) == 0) return at;
    at = site.inlined == 0 ? 0 : site.inlined - before;
  }
  return number;
}

std::uint32_t Sites::call(const llvm::CallBase& at, std::uint8_t flags) {
  unit::Site site = place(at.getDebugLoc().get(), *at.getFunction());
  site.kind = unit::SiteKind::kCall;
  site.flags |= flags;
  VariableName chosen;
  for (const llvm::Value* argument : at.args()) {
    if (!argument->getType()->isPointerTy()) continue;
    VariableName found = names_.of_object(argument, takes_lock(at));
    if (found.text.empty() || found.text == chosen.text) continue;
    if (chosen.text.empty()) {
      chosen = std::move(found);
    } else {
      chosen = {.text = chosen.text + " or " + found.text, .offset = {}, .ambiguous = true};
    }
    // Of those one call has one name for each.
    if (at.getCalledFunction() == nullptr || !takes_locks(*at.getCalledFunction())) break;
  }
  name(site, chosen);
  const auto* const callee =
      llvm::dyn_cast<llvm::Function>(at.getCalledOperand()->stripPointerCastsAndAliases());
  if (callee != nullptr && !callee->isIntrinsic()) {
    // A name that the source gives by itself (asm) begins with this.
    llvm::StringRef called = callee->getName();
    called.consume_front("\x01");
    site.bytes = unit_.string(readable(called));
  }
  return unit_.add_site(site);
}

}  // namespace syndrome::instrument
