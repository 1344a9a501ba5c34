#include "instrument/flow_objects.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfoMetadata.h>

#include "instrument/names.h"

namespace syndrome::instrument {
namespace {

/// Without const, volatile and names of types.
const llvm::DIType* plain(const llvm::DIType* type) {
  while (const auto* const derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type)) {
    const unsigned tag = derived->getTag();
    if (tag != llvm::dwarf::DW_TAG_const_type && tag != llvm::dwarf::DW_TAG_volatile_type &&
        tag != llvm::dwarf::DW_TAG_typedef && tag != llvm::dwarf::DW_TAG_restrict_type) {
      break;
    }
    type = derived->getBaseType();
  }
  return type;
}

/// What debug information says that a parameter points to: its types are known, and those of the
/// function's parameters are as many as LLVM's, so that they go together. Null: not known.
struct Pointee {
  const llvm::DIType* type = nullptr;
  bool known = false;  // there is a type, and it is this one
};
Pointee pointee_of(const llvm::Function& function, unsigned parameter) {
  const llvm::DISubprogram* const program = function.getSubprogram();
  if (program == nullptr || program->getType() == nullptr) return {};
  const llvm::DITypeRefArray types = program->getType()->getTypeArray();
  const unsigned hidden = function.hasStructRetAttr() ? 1 : 0;
  if (types.size() != function.arg_size() - hidden + 1 || parameter < hidden) return {};
  const llvm::DIType* const type = plain(types[parameter - hidden + 1]);
  const auto* const pointer = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type);
  if (pointer == nullptr) return {nullptr, true};
  switch (pointer->getTag()) {
    case llvm::dwarf::DW_TAG_pointer_type:
    case llvm::dwarf::DW_TAG_reference_type:
    case llvm::dwarf::DW_TAG_rvalue_reference_type: return {plain(pointer->getBaseType()), true};
    default: return {nullptr, true};
  }
}

}  // namespace

std::vector<FlowObject> objects_of(const llvm::Function& function, FlowFacts& facts) {
  std::vector<FlowObject> found;
  for (const llvm::Argument& argument : function.args()) {
    if (found.size() == kMostObjects) break;
    if (!argument.getType()->isPointerTy() || argument.hasStructRetAttr() ||
        argument.hasByValAttr()) {
      continue;
    }
    FlowObject object;
    object.parameter = argument.getArgNo();
    const Pointee pointee = pointee_of(function, object.parameter);
    const auto* const composite = llvm::dyn_cast_or_null<llvm::DICompositeType>(pointee.type);
    const bool of_class =
        composite != nullptr && (composite->getTag() == llvm::dwarf::DW_TAG_class_type ||
                                 composite->getTag() == llvm::dwarf::DW_TAG_structure_type ||
                                 composite->getTag() == llvm::dwarf::DW_TAG_union_type);
    // A void* may be anything; of other types that are no class, nothing is an object.
    if (pointee.known && pointee.type != nullptr && !of_class) continue;
    const llvm::StructType* type = nullptr;
    object.bytes = argument.getDereferenceableBytes();
    if (object.bytes == 0 && of_class) object.bytes = composite->getSizeInBits() / 8;
    if (object.bytes == 0 || !of_class) {
      const std::uint64_t seen = facts.struct_bytes(function, object.parameter, type);
      // Without debug information a reference may be one to a number.
      if (object.bytes == 0 || type == nullptr) object.bytes = seen;
    }
    if (object.bytes <= 1 || object.bytes > UINT32_MAX) continue;
    if (of_class && !composite->getName().empty()) {
      object.name = qualified_name(composite->getScope(), composite->getName());
    } else if (type != nullptr && type->hasName()) {
      llvm::StringRef name = type->getName();
      name.consume_front("class.");
      name.consume_front("struct.");
      name.consume_front("union.");
      object.name = name.str();
    }
    found.push_back(std::move(object));
  }
  return found;
}

}  // namespace syndrome::instrument
