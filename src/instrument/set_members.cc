#include "instrument/set_members.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "instrument/abi.h"

namespace syndrome::instrument {
namespace {

/// The set that an annotation names; empty when it is another one.
std::string set_of(const llvm::Value* constant) {
  llvm::StringRef text = annotation_text(constant);
  return text.consume_front(abi::kAnnotateSet) ? text.trim().str() : std::string();
}

/// A field, by the first access through the pointer that was annotated.
std::string field_at(const llvm::IntrinsicInst& pointer, Names& names) {
  const llvm::DataLayout& layout = pointer.getModule()->getDataLayout();
  for (const llvm::User* user : pointer.users()) {
    const llvm::Type* accessed = nullptr;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) accessed = load->getType();
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
        store != nullptr && store->getPointerOperand() == &pointer) {
      accessed = store->getValueOperand()->getType();
    }
    if (accessed == nullptr) continue;
    const auto bytes = layout.getTypeStoreSize(const_cast<llvm::Type*>(accessed));
    if (!bytes.isScalable()) return names.of(&pointer, bytes.getFixedValue()).text;
  }
  return names.of_object(&pointer, true).text;
}

}  // namespace

llvm::StringRef annotation_text(const llvm::Value* constant) {
  const auto* const text = llvm::dyn_cast<llvm::GlobalVariable>(constant->stripPointerCasts());
  if (text == nullptr || !text->hasInitializer()) return {};
  const auto* const data = llvm::dyn_cast<llvm::ConstantDataSequential>(text->getInitializer());
  return data != nullptr && data->isCString() ? data->getAsCString() : llvm::StringRef();
}

std::vector<SetMember> set_members(const llvm::Module& module, Names& names) {
  std::vector<SetMember> found;
  const auto add = [&found](std::string name, std::string set) {
    if (!name.empty() && !set.empty()) found.push_back({std::move(name), std::move(set)});
  };
  const llvm::GlobalVariable* const list = module.getGlobalVariable("llvm.global.annotations");
  if (list != nullptr && list->hasInitializer()) {
    for (const llvm::Use& use : list->getInitializer()->operands()) {
      const auto* const entry = llvm::dyn_cast<llvm::ConstantStruct>(use.get());
      if (entry == nullptr || entry->getNumOperands() < 2) continue;
      const auto* const variable =
          llvm::dyn_cast<llvm::GlobalVariable>(entry->getOperand(0)->stripPointerCasts());
      if (variable != nullptr) add(names.of_global(*variable), set_of(entry->getOperand(1)));
    }
  }
  // Who has no annotated fields does not pay for looking at every instruction.
  for (const llvm::Function& function : module) {
    if (function.getIntrinsicID() != llvm::Intrinsic::ptr_annotation) continue;
    for (const llvm::User* user : function.users()) {
      const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(user);
      if (call == nullptr || call->arg_size() < 2) continue;
      std::string set = set_of(call->getArgOperand(1));
      if (!set.empty()) add(field_at(*call, names), std::move(set));
    }
  }
  std::ranges::sort(found);
  const auto rest = std::ranges::unique(found);
  found.erase(rest.begin(), rest.end());
  return found;
}

}  // namespace syndrome::instrument
