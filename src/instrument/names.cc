#include "instrument/names.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugProgramInstruction.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <algorithm>

#include "event/library.h"

namespace syndrome::instrument {
namespace {

// How many pointers a->b->c->… are followed back; a name needs one or two.
constexpr unsigned kMostDepth = 12;

namespace dwarf = llvm::dwarf;

/// Through typedefs, const, volatile and so on.
const llvm::DIType* bare(const llvm::DIType* type) {
  while (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type)) {
    switch (derived->getTag()) {
      case dwarf::DW_TAG_typedef:
      case dwarf::DW_TAG_const_type:
      case dwarf::DW_TAG_volatile_type:
      case dwarf::DW_TAG_restrict_type:
      case dwarf::DW_TAG_atomic_type:
      case dwarf::DW_TAG_member: type = derived->getBaseType(); break;
      default: return type;
    }
  }
  return type;
}

/// What a pointer or reference type points to, or null.
const llvm::DIType* target_of(const llvm::DIType* type) {
  const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(bare(type));
  if (derived == nullptr) return nullptr;
  switch (derived->getTag()) {
    case dwarf::DW_TAG_pointer_type:
    case dwarf::DW_TAG_reference_type:
    case dwarf::DW_TAG_rvalue_reference_type: return derived->getBaseType();
    default: return nullptr;
  }
}

std::int64_t bytes_of(const llvm::DIType* type) {
  type = bare(type);
  return type == nullptr ? 0 : static_cast<std::int64_t>(type->getSizeInBits() / 8);
}

const llvm::DICompositeType* composite(const llvm::DIType* type) {
  return llvm::dyn_cast_or_null<llvm::DICompositeType>(bare(type));
}

bool is_record(const llvm::DICompositeType& type) {
  return type.getTag() == dwarf::DW_TAG_structure_type ||
         type.getTag() == dwarf::DW_TAG_class_type || type.getTag() == dwarf::DW_TAG_union_type;
}

bool is_array(const llvm::DICompositeType& type) {
  return type.getTag() == dwarf::DW_TAG_array_type && !type.isVector();
}

bool in_std(const llvm::DIType* type) {
  const llvm::DICompositeType* record = composite(type);
  if (record == nullptr) return false;
  const llvm::DIScope* scope = record->getScope();
  while (scope != nullptr) {
    if (const auto* space = llvm::dyn_cast<llvm::DINamespace>(scope);
        space != nullptr && space->getName() == "std") {
      return true;
    }
    scope = scope->getScope();
  }
  return false;
}

/// The name of a record; one without a name is called by the typedef that leads to it.
std::string record_name(const llvm::DIType* type) {
  const llvm::DICompositeType* record = composite(type);
  for (const llvm::DIType* at = type; record != nullptr && record->getName().empty();) {
    const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(at);
    if (derived == nullptr) break;
    if (derived->getTag() == dwarf::DW_TAG_typedef) {
      return qualified_name(derived->getScope(), derived->getName());
    }
    at = derived->getBaseType();
  }
  if (record == nullptr) return {};
  return qualified_name(record->getScope(), record->getName());
}

/// Types of the C library that programs use as a whole.
bool is_opaque(const llvm::DIType* type) {
  while (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type)) {
    const llvm::StringRef name = derived->getName();
    if (derived->getTag() == dwarf::DW_TAG_typedef &&
        (name.starts_with("pthread_") || name.starts_with("__gthread_") || name == "sem_t" ||
         name == "mtx_t" || name == "cnd_t")) {
      return true;
    }
    if (target_of(derived) != nullptr) return false;
    type = derived->getBaseType();
  }
  return false;
}

/// Whether the type holds another object's lock while it lives.
bool is_guard(const llvm::DIType* type) {
  const llvm::DICompositeType* record = composite(type);
  if (record == nullptr || !in_std(type)) return false;
  const llvm::StringRef name = record->getName();
  return name.starts_with("lock_guard<") || name.starts_with("unique_lock<") ||
         name.starts_with("scoped_lock<") || name.starts_with("shared_lock<");
}

/// Finds what lies at an offset of a type. The name of a field begins with the record that declares
/// it: that of a base class, of the element of an array, or else the outermost one.
class FieldSearch {
 public:
  explicit FieldSearch(std::uint64_t bytes) : bytes_(static_cast<std::int64_t>(bytes)) {}

  std::optional<VariableName> in(const llvm::DIType* type, std::int64_t offset,
                                 const std::string& variable) {
    const llvm::DICompositeType* whole = composite(type);
    if (whole != nullptr && is_record(*whole)) {
      std::string owner = record_name(type);
      if (owner.empty() || owner == "(anonymous)") {
        return fields(*whole, offset, offset, variable, variable.empty() ? "" : ".");
      }
      return fields(*whole, offset, offset, owner, "::");
    }
    if (whole != nullptr && is_array(*whole)) {
      return element(*whole, offset, offset, variable, false);
    }
    if (variable.empty()) return std::nullopt;
    return VariableName{.text = variable, .offset = std::nullopt, .ambiguous = ambiguous_};
  }

 private:
  // `path` names the object that `type` lies in; `offset` is in `type`, `from_owner` in the object
  // that the name begins with.
  std::optional<VariableName> at(const llvm::DIType* type, std::int64_t offset,
                                 std::int64_t from_owner, const std::string& path, bool owned) {
    const llvm::DICompositeType* whole = composite(type);
    // What the library's types are made of is not for the reader of a report.
    if (whole != nullptr && is_record(*whole) && !in_std(type) && !is_opaque(type) &&
        !whole->getElements().empty()) {
      if (auto found = fields(*whole, offset, from_owner, path, ".")) return found;
    }
    if (whole != nullptr && is_array(*whole)) {
      return element(*whole, offset, from_owner, path, owned);
    }
    VariableName name{.text = path, .offset = std::nullopt, .ambiguous = ambiguous_};
    if (owned) name.offset = from_owner;
    return name;
  }

  std::optional<VariableName> element(const llvm::DICompositeType& array, std::int64_t offset,
                                      std::int64_t from_owner, const std::string& path,
                                      bool owned) {
    const llvm::DIType* type = array.getBaseType();
    const std::int64_t size = bytes_of(type);
    if (size <= 0) return std::nullopt;
    const std::int64_t inside = offset >= 0 ? offset % size : 0;
    const llvm::DICompositeType* record = composite(type);
    if (record != nullptr && is_record(*record)) return in(type, inside, path + "[]");
    VariableName name{.text = path + "[]", .offset = std::nullopt, .ambiguous = ambiguous_};
    if (owned) name.offset = from_owner;
    return name;
  }

  std::optional<VariableName> fields(const llvm::DICompositeType& record, std::int64_t offset,
                                     std::int64_t from_owner, const std::string& path,
                                     const char* separator) {
    const bool is_union = record.getTag() == dwarf::DW_TAG_union_type;
    if (offset == 0 && !is_union && !single_field(record) &&
        (bytes_ == 0 || bytes_ == bytes_of(&record))) {
      // The whole object: a copy.
      return VariableName{.text = path, .offset = from_owner, .ambiguous = false};
    }
    std::optional<VariableName> best;
    bool best_fits = false;
    for (const llvm::DINode* node : record.getElements()) {
      const auto* member = llvm::dyn_cast<llvm::DIDerivedType>(node);
      if (member == nullptr || member->isStaticMember()) continue;
      const bool base = member->getTag() == dwarf::DW_TAG_inheritance;
      if (!base && member->getTag() != dwarf::DW_TAG_member) continue;
      if (base && (member->getFlags() & llvm::DINode::FlagVirtual) == llvm::DINode::FlagVirtual) {
        continue;  // where it lies is not known here
      }
      const bool bit_field = member->isBitField();
      const auto bits = static_cast<std::int64_t>(member->getOffsetInBits());
      std::int64_t begin = bits / 8;
      std::int64_t end = begin + bytes_of(member->getBaseType());
      if (bit_field) {
        // The access covers the storage unit that the field shares with its neighbours.
        if (const llvm::Constant* unit = member->getStorageOffsetInBits()) {
          begin =
              static_cast<std::int64_t>(llvm::cast<llvm::ConstantInt>(unit)->getZExtValue()) / 8;
        }
        end = (bits + static_cast<std::int64_t>(member->getSizeInBits()) + 7) / 8;
      }
      if (offset < begin || offset >= end) continue;
      const bool saved = ambiguous_;
      ambiguous_ = ambiguous_ || is_union || bit_field;
      std::optional<VariableName> found;
      if (base) {
        found = fields_of_base(*member, offset - begin);
      } else if (member->getName().empty()) {
        const llvm::DICompositeType* inner = composite(member->getBaseType());
        if (inner != nullptr) found = fields(*inner, offset - begin, from_owner, path, separator);
      } else if (member->getName().starts_with("_vptr")) {
        found = std::nullopt;
      } else {
        found = at(member->getBaseType(), bit_field ? 0 : offset - begin, from_owner,
                   path + separator + member->getName().str(), true);
      }
      ambiguous_ = saved;
      if (!found) continue;
      // A field of the derived class may lie in the tail padding of its base, whose size covers it:
      // the one whose bytes the access fits into wins.
      const bool fits = bytes_ == 0 || offset + bytes_ <= end || bit_field;
      if (!best || (fits && !best_fits)) {
        best = found;
        best_fits = fits;
      }
    }
    return best;
  }

  std::optional<VariableName> fields_of_base(const llvm::DIDerivedType& base, std::int64_t offset) {
    const llvm::DICompositeType* record = composite(base.getBaseType());
    if (record == nullptr || record->getElements().empty()) return std::nullopt;
    return fields(*record, offset, offset, record_name(base.getBaseType()), "::");
  }

  static bool single_field(const llvm::DICompositeType& record) {
    unsigned fields = 0;
    for (const llvm::DINode* node : record.getElements()) {
      const auto* member = llvm::dyn_cast<llvm::DIDerivedType>(node);
      if (member != nullptr && !member->isStaticMember()) ++fields;
    }
    return fields <= 1;
  }

  std::int64_t bytes_;
  bool ambiguous_ = false;
};

}  // namespace

std::string qualified_name(const llvm::DIScope* scope, llvm::StringRef name) {
  std::string text = name.empty() ? "(anonymous)" : name.str();
  for (; scope != nullptr; scope = scope->getScope()) {
    if (llvm::isa<llvm::DIFile>(scope) || llvm::isa<llvm::DICompileUnit>(scope)) break;
    if (llvm::isa<llvm::DILexicalBlockBase>(scope)) continue;
    std::string part = scope->getName().str();
    if (const auto* space = llvm::dyn_cast<llvm::DINamespace>(scope)) {
      if (part.empty()) part = "(anonymous namespace)";
      if (space->getExportSymbols() && !space->getName().empty()) continue;  // inline
    }
    if (part.empty()) continue;
    text = part + "::" + text;
  }
  return text;
}

Names::Names(const llvm::Module& module) : layout_(module.getDataLayout()) {
  for (const llvm::GlobalVariable& global : module.globals()) {
    llvm::SmallVector<llvm::DIGlobalVariableExpression*, 1> expressions;
    global.getDebugInfo(expressions);
    if (!expressions.empty()) storage_[&global] = expressions.front()->getVariable();
  }
  const auto add = [this](bool declares, const auto& record) {
    if (record.isKillLocation() || record.hasArgList()) return;
    if (record.getExpression()->getNumElements() != 0) return;
    (declares ? storage_ : values_)
        .try_emplace(record.getVariableLocationOp(0), record.getVariable());
  };
  for (const llvm::Function& function : module) {
    for (const llvm::BasicBlock& block : function) {
      for (const llvm::Instruction& instruction : block) {
        for (llvm::DbgVariableRecord& record :
             llvm::filterDbgVars(instruction.getDbgRecordRange())) {
          add(record.isDbgDeclare(), record);
          if (record.isDbgAssign() && record.getAddressExpression()->getNumElements() == 0 &&
              !record.isKillAddress()) {
            storage_.try_emplace(record.getAddress(), record.getVariable());
          }
        }
        if (const auto* intrinsic = llvm::dyn_cast<llvm::DbgVariableIntrinsic>(&instruction)) {
          add(llvm::isa<llvm::DbgDeclareInst>(intrinsic), *intrinsic);
          if (const auto* assign = llvm::dyn_cast<llvm::DbgAssignIntrinsic>(intrinsic);
              assign != nullptr && assign->getAddressExpression()->getNumElements() == 0 &&
              !assign->isKillAddress()) {
            storage_.try_emplace(assign->getAddress(), assign->getVariable());
          }
        }
      }
    }
  }
}

Names::Place Names::variable_of(const llvm::Value* storage) {
  const auto known = storage_.find(storage);
  if (known == storage_.end()) return {};
  const llvm::DIVariable* variable = known->second;
  std::string name = variable->getName().str();
  if (llvm::isa<llvm::DIGlobalVariable>(variable) && !name.empty()) {
    const llvm::DIScope* scope = variable->getScope();
    if (const llvm::DIDerivedType* member =
            llvm::cast<llvm::DIGlobalVariable>(variable)->getStaticDataMemberDeclaration()) {
      scope = member->getScope();
    }
    name = qualified_name(scope, name);
  }
  return {.type = variable->getType(), .offset = 0, .variable = name};
}

// `loaded` is a pointer value: the type of what it points to.
const llvm::DIType* Names::pointee_of(const llvm::Value* loaded, unsigned depth) {
  if (depth > kMostDepth) return nullptr;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(loaded)) {
    const Place place = place_of(load->getPointerOperand(), depth + 1);
    if (place.type == nullptr) return nullptr;
    // Down to the pointer that lies at the offset.
    const llvm::DIType* type = place.type;
    std::int64_t offset = place.offset;
    for (unsigned level = 0; level < kMostDepth; ++level) {
      if (const llvm::DIType* target = target_of(type)) {
        return offset == 0 ? target : nullptr;
      }
      const llvm::DICompositeType* whole = composite(type);
      if (whole == nullptr) return nullptr;
      if (is_array(*whole)) {
        const std::int64_t size = bytes_of(whole->getBaseType());
        if (size <= 0 || offset < 0) return nullptr;
        type = whole->getBaseType();
        offset %= size;
        continue;
      }
      const llvm::DIDerivedType* next = nullptr;
      for (const llvm::DINode* node : whole->getElements()) {
        const auto* member = llvm::dyn_cast<llvm::DIDerivedType>(node);
        if (member == nullptr || member->isStaticMember()) continue;
        const auto begin = static_cast<std::int64_t>(member->getOffsetInBits() / 8);
        if (offset < begin || offset >= begin + bytes_of(member->getBaseType())) continue;
        next = member;  // the last one: a field in the tail padding of a base comes after the base
      }
      if (next == nullptr) return nullptr;
      offset -= static_cast<std::int64_t>(next->getOffsetInBits() / 8);
      type = next->getBaseType();
    }
    return nullptr;
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(loaded)) {
    if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call)) {
      if (intrinsic->getType()->isPointerTy() && intrinsic->arg_size() > 0 &&
          intrinsic->getArgOperand(0)->getType()->isPointerTy()) {
        return pointee_of(intrinsic->getArgOperand(0), depth + 1);
      }
      return nullptr;
    }
    const llvm::Function* callee = call->getCalledFunction();
    const llvm::DISubprogram* program = callee == nullptr ? nullptr : callee->getSubprogram();
    if (program != nullptr && program->getType() != nullptr) {
      const llvm::DITypeRefArray types = program->getType()->getTypeArray();
      const llvm::DIType* target = types.size() == 0 ? nullptr : target_of(types[0]);
      if (target != nullptr) return target;
    }
    // malloc and new: the variable that the result is kept in knows better.
  }
  const auto known = values_.find(loaded);
  return known == values_.end() ? nullptr : target_of(known->second->getType());
}

Names::Place Names::place_of(const llvm::Value* pointer, unsigned depth) {
  if (depth > kMostDepth) return {};
  if (llvm::isa<llvm::AllocaInst>(pointer) || llvm::isa<llvm::GlobalVariable>(pointer)) {
    return variable_of(pointer);
  }
  if (const auto* address = llvm::dyn_cast<llvm::GEPOperator>(pointer)) {
    llvm::APInt constant(layout_.getIndexTypeSizeInBits(address->getType()), 0);
    if (address->accumulateConstantOffset(layout_, constant)) {
      Place place = place_of(address->getPointerOperand(), depth + 1);
      place.offset += constant.getSExtValue();
      return place;
    }
    // With an index that is computed: an element of an array, and where in the element.
    const Place array = place_of(address->getPointerOperand(), depth + 1);
    if (array.type == nullptr) return {};
    std::int64_t inside = 0;
    std::int64_t element = 0;
    for (auto step = llvm::gep_type_begin(address); step != llvm::gep_type_end(address); ++step) {
      const auto* index = llvm::dyn_cast<llvm::ConstantInt>(step.getOperand());
      if (llvm::StructType* record = step.getStructTypeOrNull()) {
        if (index == nullptr) return {};
        inside += static_cast<std::int64_t>(layout_.getStructLayout(record)->getElementOffset(
            static_cast<unsigned>(index->getZExtValue())));
        continue;
      }
      const auto stride =
          static_cast<std::int64_t>(step.getSequentialElementStride(layout_).getFixedValue());
      if (index != nullptr) {
        inside += index->getSExtValue() * stride;
      } else {
        element = stride;
      }
    }
    const llvm::DICompositeType* whole = composite(array.type);
    if (whole != nullptr && is_array(*whole)) {
      return {.type = whole->getBaseType(),
              .offset = inside,
              .variable = array.variable.empty() ? "" : array.variable + "[]"};
    }
    // p[i]: the pointee's size is the stride. A field that is an array keeps its object.
    if (element != 0 && bytes_of(array.type) == element && array.offset == 0) {
      return {.type = array.type, .offset = inside, .variable = array.variable};
    }
    Place place = array;
    place.offset += inside;
    return place;
  }
  if (const auto* cast = llvm::dyn_cast<llvm::BitCastOperator>(pointer)) {
    return place_of(cast->getOperand(0), depth + 1);
  }
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(pointer)) {
    if (call->getIntrinsicID() == llvm::Intrinsic::threadlocal_address ||
        call->getIntrinsicID() == llvm::Intrinsic::ptr_annotation) {
      return place_of(call->getArgOperand(0), depth + 1);
    }
  }
  if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(pointer)) {
    return place_of(select->getTrueValue(), depth + 1);
  }
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(pointer)) {
    for (const llvm::Value* value : phi->incoming_values()) {
      const Place place = place_of(value, depth + 3);
      if (place.type != nullptr) return place;
    }
    return {};
  }
  Place place;
  place.type = pointee_of(pointer, depth);
  return place;
}

namespace {

/// A function of a container that was inlined keeps its `this` in a variable of its own: what was
/// put there, when that is one thing.
const llvm::Value* argument_of(const llvm::Value* loaded) {
  const auto* const load = llvm::dyn_cast<llvm::LoadInst>(loaded);
  if (load == nullptr || !llvm::isa<llvm::AllocaInst>(load->getPointerOperand())) return nullptr;
  const llvm::Value* argument = nullptr;
  for (const llvm::User* user : load->getPointerOperand()->users()) {
    const auto* const store = llvm::dyn_cast<llvm::StoreInst>(user);
    if (store == nullptr || store->getPointerOperand() != load->getPointerOperand()) continue;
    if (argument != nullptr) return nullptr;
    argument = store->getValueOperand();
  }
  return argument;
}

}  // namespace

/// Of a pointer into the library's own: the program's object that it is in, as far as the code at
/// hand has come from there.
Names::Place Names::owner_of(const llvm::Value* pointer) {
  std::int64_t offset = 0;
  for (unsigned step = 0; step < kMostDepth && pointer->getType()->isPointerTy(); ++step) {
    llvm::APInt constant(layout_.getIndexTypeSizeInBits(pointer->getType()), 0);
    pointer = pointer->stripAndAccumulateConstantOffsets(layout_, constant, true);
    offset += constant.getSExtValue();
    pointer = argument_of(pointer);
    if (pointer == nullptr) break;
    Place place = place_of(pointer, 1);
    const llvm::DICompositeType* const whole = composite(place.type);
    if (whole != nullptr && is_record(*whole) && !in_std(place.type)) {
      place.offset += offset;
      return place;
    }
  }
  return {};
}

VariableName Names::of(const llvm::Value* pointer, std::uint64_t bytes) {
  VariableName found = directly_of(pointer, bytes);
  // What an inlined function was given a reference to may be a field: an iterator is made of one.
  const llvm::Value* argument = pointer;
  for (unsigned depth = 0; found.text.empty() && depth < kMostDepth; ++depth) {
    argument = argument_of(argument);
    if (argument == nullptr) break;
    if (VariableName field = directly_of(argument, bytes); field.offset) found = std::move(field);
  }
  return found;
}

VariableName Names::directly_of(const llvm::Value* pointer, std::uint64_t bytes) {
  const Place place = place_of(pointer, 0);
  std::optional<VariableName> found;
  if (place.type != nullptr) {
    found = FieldSearch(bytes).in(place.type, place.offset, place.variable);
    // A base class of the library may go on with what its derived class has: no field of its own.
    const bool inside =
        in_std(place.type) && (!found || (found->offset.has_value() && !keeps_itself(found->text)));
    const Place owner = inside ? owner_of(pointer) : Place();
    const auto member = owner.type == nullptr
                            ? std::nullopt
                            : FieldSearch(bytes).in(owner.type, owner.offset, owner.variable);
    if (member && member->offset) {
      const std::string field = (found ? *found : of_type(pointer)).text;
      if (const std::size_t last = field.rfind("::"); last != std::string::npos) {
        // As the reader of recordings calls it (trace/capture_names.cc).
        return {.text = member->text + "." + field.substr(last + 2) + "+" +
                        std::to_string(*member->offset),
                .offset = member->offset,
                .ambiguous = member->ambiguous};
      }
    }
    if (found) return *found;
  }
  if (!place.variable.empty()) return {.text = place.variable, .offset = {}, .ambiguous = false};
  return of_type(pointer);
}

/// Without debug information: the global that it lies in, or the type that the compiler used.
VariableName Names::of_type(const llvm::Value* pointer) {
  llvm::APInt offset(64, 0);
  const llvm::Value* base =
      pointer->stripAndAccumulateConstantOffsets(layout_, offset, /*AllowNonInbounds=*/true);
  if (const auto* address = llvm::dyn_cast<llvm::GEPOperator>(base)) {
    base = address->getPointerOperand()->stripPointerCasts();
  }
  if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(base)) {
    std::string text = of_global(*global);
    if (global->getValueType()->isArrayTy()) text += "[]";
    return {.text = text, .offset = {}, .ambiguous = false};
  }
  if (const auto* address = llvm::dyn_cast<llvm::GEPOperator>(pointer)) {
    const auto* record = llvm::dyn_cast<llvm::StructType>(address->getSourceElementType());
    if (record == nullptr || !record->hasName() || address->getNumIndices() < 2) return {};
    llvm::StringRef name = record->getName();
    if (!name.consume_front("struct.") && !name.consume_front("class.")) {
      name.consume_front("union.");
    }
    llvm::SmallVector<llvm::Value*, 4> inner(address->idx_begin(), address->idx_end());
    if (!std::all_of(inner.begin() + 1, inner.end(),
                     [](llvm::Value* index) { return llvm::isa<llvm::ConstantInt>(index); })) {
      return {};
    }
    inner[0] = llvm::ConstantInt::get(inner[0]->getType(), 0);
    const std::int64_t at = layout_.getIndexedOffsetInType(address->getSourceElementType(), inner);
    return {.text = name.str() + "+" + std::to_string(at), .offset = at, .ambiguous = false};
  }
  return {};
}

VariableName Names::of_object(const llvm::Value* pointer, bool innermost) {
  // The field at the beginning, not the object that it begins.
  if (llvm::isa<llvm::GEPOperator>(pointer)) return of(pointer, 1);
  if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(pointer)) {
    if (global->isConstant()) return {};
    return {.text = of_global(*global), .offset = {}, .ambiguous = false};
  }
  const bool variable = llvm::isa<llvm::AllocaInst>(pointer);
  const Place place = place_of(pointer, 0);
  if (!variable && !innermost) {
    // The `this` that an inlined function of a container hands on.
    if (!in_std(place.type)) return {};
    const Place owner = owner_of(pointer);
    if (owner.type == nullptr) return {};
    return FieldSearch(1).in(owner.type, owner.offset, owner.variable).value_or(VariableName{});
  }
  // What a guard locks comes next, or has had its name before; what the library keeps for itself
  // has a name that programs may not use.
  if (is_guard(place.type) || place.variable.starts_with("__")) return {};
  if (innermost && place.type != nullptr && !is_opaque(place.type) && !in_std(place.type)) {
    if (auto found = FieldSearch(1).in(place.type, place.offset, place.variable)) return *found;
  }
  return {.text = place.variable, .offset = {}, .ambiguous = false};
}

std::string Names::of_global(const llvm::GlobalVariable& global) {
  const Place place = variable_of(&global);
  return place.variable.empty() ? llvm::demangle(global.getName()) : place.variable;
}

}  // namespace syndrome::instrument
