// What functions are to units of work, by their linkage names: what check/atomic_sets_role.h says
// of a demangled one. What is not understood is a member function: its call is then taken to be
// longer than it may be (event/calls.h).
//
// State, and who may touch it:
//   classes, hold_units     under roles_lock; anyone may look

#include <atomic>

#include "runtime/follower.h"
#include "runtime/hold.h"
#include "runtime/holder.h"
#include "runtime/session_files.h"

namespace syndrome::rt {

std::uint32_t hold_units = 0;

namespace {

std::atomic<std::uint32_t> roles_lock{0};

struct Text {
  const char* at;
  std::size_t size;

  [[nodiscard]] bool starts_with(const char* text) const {
    std::size_t i = 0;
    for (; text[i] != 0; ++i) {
      if (i >= size || at[i] != text[i]) return false;
    }
    return true;
  }
  [[nodiscard]] bool contains(const char* text) const {
    for (std::size_t i = 0; i < size; ++i) {
      if (Text{at + i, size - i}.starts_with(text)) return true;
    }
    return false;
  }
  [[nodiscard]] char operator[](std::size_t i) const { return i < size ? at[i] : '\0'; }
};
[[nodiscard]] Text text_at(const void* unit, std::uint32_t offset) {
  if (offset == 0) return {"", 0};
  const char* const text = static_cast<const char*>(unit) + offset;
  std::size_t size = 0;
  // Not the C library's: that uses vector registers.
  while (__atomic_load_n(text + size, __ATOMIC_RELAXED) != 0) ++size;
  return {text, size};
}

/// The last parts of the names of classes that have fields: "Account" of "bank::Account::balance".
constexpr std::uint32_t kClasses = 1u << 16;
std::uint32_t classes[kClasses];  // hashes; 0: none
std::uint32_t class_count = 0;

[[nodiscard]] std::uint32_t hash_of(Text text) {
  std::uint32_t hash = 2166136261u;
  for (std::size_t i = 0; i < text.size; ++i) {
    hash = (hash ^ static_cast<unsigned char>(text.at[i])) * 16777619u;
  }
  return hash != 0 ? hash : 1;
}
[[nodiscard]] std::uint32_t& class_place(std::uint32_t hash) {
  std::uint32_t at = hash % kClasses;
  while (classes[at] != 0 && classes[at] != hash) at = (at + 1) % kClasses;
  return classes[at];
}
[[nodiscard]] bool is_class(Text tail) {
  return class_count > kClasses / 2 || class_place(hash_of(tail)) != 0;
}
/// Of a field.
void add_class(Text name) {
  std::size_t end = name.size;
  while (end >= 2 && !(name.at[end - 1] == ':' && name.at[end - 2] == ':')) --end;
  if (end < 2) return;
  Text type{name.at, end - 2};
  for (std::size_t i = 0; i < type.size; ++i) {
    if (type.at[i] == '<') type.size = i;
  }
  std::size_t begin = type.size;
  while (begin >= 2 && !(type.at[begin - 1] == ':' && type.at[begin - 2] == ':')) --begin;
  if (begin < 2) begin = 0;
  const Text tail{type.at + begin, type.size - begin};
  if (tail.size == 0 || class_count > kClasses / 2) return;
  std::uint32_t& place = class_place(hash_of(tail));
  if (place == 0) ++class_count;
  place = hash_of(tail);
}

/// As trace::may_be_of_container().
[[nodiscard]] bool may_be_of_container(Text field) {
  if (!field.starts_with("std::") && !field.starts_with("_")) return false;
  for (const char* const node : {"_Rb_tree_node", "_Hash_node", "_Node", "_node_base"}) {
    if (field.contains(node)) return false;
  }
  for (const char* const family : {"_Vector_", "basic_string", "_Rb_tree", "_Deque", "_Hash",
                                   "_List_", "_Optional", "_Fwd_list"}) {
    if (field.contains(family)) return true;
  }
  return false;
}

[[nodiscard]] bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
/// The length of a source name, whose letters begin at `at` then; 0: it is none.
[[nodiscard]] std::size_t length_at(Text name, std::size_t& at) {
  std::size_t length = 0;
  while (is_digit(name[at]) && length < 65536) {
    length = length * 10 + static_cast<std::size_t>(name[at++] - '0');
  }
  return at + length <= name.size ? length : 0;
}
/// Behind the E that belongs to what is opened before `at`; 0: not understood.
[[nodiscard]] std::size_t behind_end(Text name, std::size_t at) {
  for (unsigned open = 1; open != 0;) {
    const char c = name[at];
    if (c == '\0') return 0;
    if (is_digit(c)) {
      const std::size_t length = length_at(name, at);
      if (length == 0) return 0;
      at += length;
      continue;
    }
    if (c == 'S' || c == 'T') {
      // A substitution or a parameter: S_, S1A_, St, Sa, T_, T0_.
      ++at;
      if (c == 'S' && name[at] >= 'a' && name[at] <= 'z') {
        ++at;
        continue;
      }
      while (is_digit(name[at]) || (name[at] >= 'A' && name[at] <= 'Z')) ++at;
      if (name[at] != '_') return 0;
      ++at;
      continue;
    }
    // Expressions and literals: numbers in them look like lengths.
    if (c == 'L' || c == 'X' || c == 'D') return 0;
    if (c == 'I' || c == 'N' || c == 'J' || c == 'F') ++open;
    if (c == 'E') --open;
    ++at;
  }
  return at;
}

[[nodiscard]] HoldRole nested_role(Text name, std::size_t at) {
  while (name[at] == 'r' || name[at] == 'V' || name[at] == 'K' || name[at] == 'R' ||
         name[at] == 'O') {
    ++at;
  }
  Text last{"", 0};
  Text before{"", 0};
  for (bool first = true;; first = false) {
    const char c = name[at];
    if (c == 'S') return first ? HoldRole::kLibrary : HoldRole::kMember;
    if (c == 'E') break;
    if (c == 'L') {
      ++at;
      continue;
    }
    if (c == 'I') {
      at = behind_end(name, at + 1);
      if (at == 0) return HoldRole::kMember;
      continue;
    }
    if (!is_digit(c)) return HoldRole::kMember;
    const std::size_t length = length_at(name, at);
    if (length == 0) return HoldRole::kMember;
    before = last;
    last = {name.at + at, length};
    if (first && last.starts_with("__")) return HoldRole::kLibrary;
    at += length;
  }
  return before.size == 0 || is_class(before) ? HoldRole::kMember : HoldRole::kAccessor;
}

[[nodiscard]] HoldRole role_of(Text name) {
  if (name.size == 0) return HoldRole::kDeclared;
  if (!name.starts_with("_Z")) {
    if (name.starts_with("__") || name.starts_with("_GLOBAL__")) return HoldRole::kLibrary;
    return name.size == 4 && name.starts_with("main") ? HoldRole::kNever : HoldRole::kAccessor;
  }
  std::size_t at = 2;
  if (name[at] == 'Z') {
    // Of a function: a lambda, a member of a class in it.
    while (name[at] == 'Z') ++at;
    const bool nested = name[at] == 'N';
    if (nested)
      return nested_role(name, at + 1) == HoldRole::kLibrary ? HoldRole::kLibrary
                                                             : HoldRole::kMember;
    if (name[at] == 'S') return HoldRole::kLibrary;
    if (name[at] == 'L') ++at;
    std::size_t letters = at;
    const std::size_t length = length_at(name, letters);
    const bool foreign = length != 0 && Text{name.at + letters, length}.starts_with("__");
    return foreign ? HoldRole::kLibrary : HoldRole::kMember;
  }
  if (name[at] == 'N') return nested_role(name, at + 1);
  if (name[at] == 'S') return HoldRole::kLibrary;
  if (name[at] == 'L') ++at;
  const std::size_t length = length_at(name, at);
  if (length == 0) return HoldRole::kMember;
  return Text{name.at + at, length}.starts_with("__") ? HoldRole::kLibrary : HoldRole::kAccessor;
}

}  // namespace

HoldFunction find_hold_function(const unit::Function* function) {
  const Follower::Sites sites = find_sites(function);
  HoldFunction found{function, sites.first, sites.count, sites.base, HoldRole::kDeclared, true};
  if (sites.first == nullptr) return found;
  const void* const unit = unit_of(function);
  constexpr std::uint32_t kAnnotated = unit::kAtomic | unit::kDeterministic | unit::kUnitOfWork;
  const Text name = text_at(unit, function->name);
  found.stays = (function->flags & kAnnotated) != 0 || name.contains("future");
  if ((function->flags & kAnnotated) == 0) found.role = role_of(name);
  return found;
}

void hold_unit(const unit::Header* unit, const SyndromeGlobal* globals, std::uint64_t count) {
  if (!holds_calls()) return;
  const Lock lock(roles_lock);
  const auto* const functions = reinterpret_cast<const unit::Function*>(unit + 1);
  for (std::uint32_t i = 0; i < unit->functions; ++i) {
    if ((functions[i].flags & unit::kSetMember) == 0) continue;
    // Atomics count as other accesses do: it is simplest to tell everything.
    __atomic_store_n(&hold_nothing, 1, __ATOMIC_RELAXED);
    add_class(text_at(unit, functions[i].name));
  }
  auto* const sites =
      const_cast<unit::Site*>(reinterpret_cast<const unit::Site*>(functions + unit->functions));
  std::uint32_t last = 0;
  bool container = false;
  for (std::uint32_t i = 0; i < unit->sites; ++i) {
    unit::Site& site = sites[i];
    if (site.name == 0 || site.kind == unit::SiteKind::kObject) continue;
    if (site.name != last) {
      last = site.name;
      const Text name = text_at(unit, last);
      add_class(name);
      container = may_be_of_container(name);
    }
    if (container && (site.flags & unit::kHasOffset) != 0 && site.kind != unit::SiteKind::kCall) {
      site.flags |= kHoldContainer;
    }
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (globals != nullptr) add_class(text_at(unit, globals[i].name));
  }
  __atomic_store_n(&hold_units, hold_units + 1, __ATOMIC_RELEASE);
}

}  // namespace syndrome::rt
