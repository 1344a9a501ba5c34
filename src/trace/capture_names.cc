#include "trace/capture_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <utility>

#include "event/labels.h"
#include "trace/demangle.h"

namespace syndrome::trace {
namespace {

/// What an object is called that no name is known of.
std::string_view kind_name(Space space) {
  switch (space) {
    case Space::kLock: return "mutex";
    case Space::kBarrier: return "barrier";
    case Space::kSemaphore: return "semaphore";
    case Space::kCondition: return "condition";
    default: return "object";
  }
}

/// Whether a name that code of a library uses is one of the program's.
bool is_of_program(std::string_view name) {
  return !name.starts_with("std::") && !name.starts_with("_");
}

/// How the name of a function of a container is mangled, and what its fields are called.
using Family = std::pair<std::string_view, std::string_view>;
constexpr std::array<Family, 26> kContainers = {{
    {"6vector", "_Vector_"},
    {"14priority_queue", "_Vector_"},
    {"12basic_string", "basic_string"},
    {"3map", "_Rb_tree"},
    {"3set", "_Rb_tree"},
    {"8multimap", "_Rb_tree"},
    {"8multiset", "_Rb_tree"},
    {"5deque", "_Deque"},
    {"5queue", "_Deque"},
    {"5stack", "_Deque"},
    {"13unordered_map", "_Hash"},
    {"13unordered_set", "_Hash"},
    {"4list", "_List_"},
    {"8optional", "_Optional"},
    {"12forward_list", "_Fwd_list"},
    // What they are made of, where they themselves have been inlined.
    {"12_Vector_base", "_Vector_"},
    {"8_Rb_tree", "_Rb_tree"},
    {"11_Deque_base", "_Deque"},
    {"10_Hashtable", "_Hash"},
    {"10_List_base", "_List_"},
    {"9_Map_base", "_Hash"},
    {"12_Insert_base", "_Hash"},
    {"14_Optional_base", "_Optional"},
    {"17_Optional_payload", "_Optional"},
    {"22_Optional_payload_base", "_Optional"},
    {"14_Fwd_list_base", "_Fwd_list"},
}};

bool is_of_node(std::string_view field) {
  constexpr std::array<std::string_view, 4> kNodes = {"_Rb_tree_node", "_Hash_node", "_Node",
                                                      "_node_base"};
  return std::ranges::any_of(
      kNodes, [&](std::string_view node) { return field.find(node) != std::string_view::npos; });
}

/// Whether a function of the library, by its linkage name, may access such a field of its container
/// itself, and not of a node.
bool is_field_of_container(std::string_view function, std::string_view field) {
  if (is_of_node(field)) return false;
  // "_ZNSt6vectorI…", "_ZNKSt7__cxx1112basic_stringI…"
  const std::size_t end = function.find('I');
  const std::string_view front = function.substr(0, end);
  return end != std::string_view::npos &&
         std::ranges::any_of(kContainers, [&](const Family& family) {
           return front.ends_with(family.first) &&
                  field.find(family.second) != std::string_view::npos;
         });
}

/// "Shop" of "Shop::items_".
std::string_view class_of(std::string_view field) {
  const std::size_t end = field.rfind("::");
  return end == std::string_view::npos ? std::string_view() : field.substr(0, end);
}

std::uint64_t key_of(std::string_view name, std::uint64_t object) {
  return std::hash<std::string_view>()(name) ^ (object * 0x9E3779B97F4A7C15u);
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

bool may_be_of_container(std::string_view field) {
  return !is_of_program(field) && !is_of_node(field) &&
         std::ranges::any_of(kContainers, [&](const Family& family) {
           return field.find(family.second) != std::string_view::npos;
         });
}

std::uint64_t object_key(const unit::Site& site, std::string_view name, std::uint64_t address) {
  if ((site.flags & (unit::kHasOffset | unit::kAmbiguous)) != unit::kHasOffset) return 0;
  if (!is_of_program(name) || class_of(name).empty()) return 0;
  return key_of(class_of(name), address - static_cast<std::uint64_t>(std::int64_t{site.offset}));
}

CaptureNames::CaptureNames(const CaptureMeta& meta) : meta_(&meta) {
  grow();
}

void CaptureNames::grow() {
  const std::size_t known = function_ids_.size();
  owners_.resize(meta_->sites.size());
  site_ids_.resize(meta_->sites.size());
  called_.resize(meta_->sites.size());
  function_ids_.resize(meta_->functions.size());
  step_ids_.resize(meta_->sites.size());
  if (flows_known_ != meta_->flows.size()) {
    // Units come whole, so the flows are sorted by `from` already.
    for (; flows_known_ < meta_->flows.size(); ++flows_known_) {
      flows_to_.push_back(static_cast<std::uint32_t>(flows_known_));
    }
    std::ranges::sort(flows_to_, {}, [this](std::uint32_t i) { return meta_->flows[i].to; });
  }
  for (std::size_t f = known; f < meta_->functions.size(); ++f) {
    const CapturedFunction& function = meta_->functions[f];
    for (std::uint32_t i = 0; i < function.count; ++i) {
      owners_[function.first + i] = static_cast<std::uint32_t>(f);
    }
  }
  for (; set_members_told_ < meta_->set_members.size(); ++set_members_told_) {
    const CapturedSetMember& member = meta_->set_members[set_members_told_];
    if (member.name.empty() || member.set.empty()) continue;
    (void)label(fmt::format("{}{} {}", kSetMemberLabel, member.set, member.name));
  }
}

bool CaptureNames::is_called_back(std::uint32_t call, std::uint32_t function) {
  if (call == 0 || function == CaptureMeta::kNone) return false;
  Called& called = called_[call - 1];
  if (called.function != function) {
    const unit::Site& site = meta_->sites[call - 1];
    const std::string_view name = site.kind == unit::SiteKind::kCall
                                      ? meta_->text(owner(call - 1), site.bytes)
                                      : std::string_view();
    called = {function, !name.empty() && name != meta_->functions[function].name};
  }
  return called.back;
}

ThreadId CaptureNames::thread(std::uint32_t number) {
  const auto at = thread_ids_.find(number);
  if (at != thread_ids_.end()) return ThreadId(at->second);
  text_ = number == 0 ? std::string("main") : fmt::format("T{}", number);
  const std::string_view own = meta_->thread_name(number);
  // The system gives a new thread the name of the one that made it, and a process that of its
  // program, cut to 15 letters.
  const std::string_view program =
      meta_->command.empty() ? std::string_view() : base_name(meta_->command[0]);
  if (!own.empty() && own != meta_->thread_name(0) && own != program.substr(0, 15)) {
    text_ += fmt::format(" \"{}\"", own);
  }
  const std::uint32_t id = names_.table(Space::kThread).append(text_);
  thread_ids_[number] = id;
  return ThreadId(id);
}

SiteId CaptureNames::make_site(std::uint32_t index) {
  // What a person looks for: where their program does it, not where the library has it done.
  const std::uint32_t shown_site = meta_->program_site(index);
  const unit::Site& site = meta_->sites[shown_site - 1];
  const CapturedFunction& function = owner(shown_site - 1);
  const std::string_view inlined = meta_->text(function, site.function);
  const std::string name = demangle(inlined.empty() ? function.name : inlined);
  const std::string_view shown = without_parameters(name);
  const std::string_view file = meta_->text(function, site.file);
  if (file.empty() || site.line == 0) {
    const CapturedModule* const module = meta_->module_at(function.address);
    text_ = module != nullptr ? fmt::format("{}+{:#x} {}", base_name(module->path),
                                            function.address - module->base, shown)
                              : std::string(shown);
  } else if (site.column == 0) {
    text_ = fmt::format("{}:{} {}", file, site.line, shown);
  } else {
    text_ = fmt::format("{}:{}:{} {}", file, site.line, site.column, shown);
  }
  auto [at, is_new] = sites_.try_emplace(text_, 0);
  if (is_new) at.value() = names_.table(Space::kSite).append(text_);
  site_ids_[index - 1] = at->second;
  connect(shown_site, SiteId(at->second));
  return SiteId(at->second);
}

void CaptureNames::connect(std::uint32_t step, SiteId id) {
  if (step_ids_[step - 1] != 0) return;
  step_ids_[step - 1] = id.value;
  Layout& layout = names_.layout();
  if ((meta_->sites[step - 1].flags & unit::kReachesResult) != 0) layout.results.push_back(id);
  if ((meta_->sites[step - 1].flags & unit::kSteered) != 0) layout.steered.push_back(id);
  const std::vector<unit::Flow>& flows = meta_->flows;
  const std::uint32_t own = step - 1;
  for (auto flow = std::ranges::lower_bound(flows, own, {}, &unit::Flow::from);
       flow != flows.end() && flow->from == own; ++flow) {
    const std::uint32_t other = step_ids_[flow->to];
    if (other != 0) layout.flows.push_back({id, SiteId(other), flow->how});
  }
  const auto to = [&flows](std::uint32_t i) { return flows[i].to; };
  for (auto at = std::ranges::lower_bound(flows_to_, own, {}, to);
       at != flows_to_.end() && flows[*at].to == own; ++at) {
    const std::uint32_t other = step_ids_[flows[*at].from];
    if (other != 0 && flows[*at].from != own) {
      layout.flows.push_back({SiteId(other), id, flows[*at].how});
    }
  }
}

ObjectId CaptureNames::work_on(std::uint32_t site, std::uint64_t address, std::uint64_t bytes) {
  const std::string_view type = meta_->text(owner(site - 1), meta_->sites[site - 1].name);
  const std::uint64_t key = key_of(type, address) ^ (bytes * 0xD6E8FEB86659FD93u);
  auto [known, is_new] = worked_on_.try_emplace(key, 0);
  if (is_new) {
    text_ = fmt::format("{}@{:x}+{}", type, address, bytes);
    known.value() = names_.table(Space::kObject).append(text_);
    names_.layout().objects.push_back({address, bytes});
  }
  return ObjectId(known->second);
}

LabelId CaptureNames::label(std::string_view text) {
  if (text.empty()) return {};
  auto [at, is_new] = labels_.try_emplace(std::string(text), 0);
  if (is_new) at.value() = names_.table(Space::kLabel).append(text);
  return LabelId(at->second);
}

LabelId CaptureNames::make_function(std::uint32_t function) {
  // With its parameters, which tell overloads apart; whoever shows it leaves them out.
  const std::string name = demangle(meta_->functions[function].name);
  const LabelId id = name.empty() ? unknown_function() : label(name);
  function_ids_[function] = id.value;
  return id;
}

LabelId CaptureNames::unknown_function() {
  return label("(unknown function)");
}

std::string CaptureNames::place_name(const CapturedGlobal& global, std::uint64_t address) const {
  return address == global.address ? std::string(global.name)
                                   : fmt::format("{}+{}", global.name, address - global.address);
}

std::uint64_t CaptureNames::freed(std::uint64_t address) {
  const auto known = allocations_.find(address);
  if (known == allocations_.end()) return 0;
  const std::uint64_t bytes = known->second.bytes;
  allocations_.erase(known);
  return bytes;
}

void CaptureNames::allocated(std::uint64_t address, std::uint64_t bytes, std::uint64_t owner) {
  allocations_[address] = {bytes, owner, 0};
}

std::uint32_t CaptureNames::layout_region(std::uint64_t address) {
  if (const CapturedGlobal* const global = meta_->global_at(address)) {
    auto [known, is_new] = global_regions_.try_emplace(global->address, 0);
    if (is_new) {
      std::vector<Region>& regions = names_.layout().regions;
      known.value() = static_cast<std::uint32_t>(regions.size());
      regions.push_back({global->address, global->size, 0, 0, true});
    }
    return known->second;
  }
  const auto behind = allocations_.upper_bound(address);
  if (behind == allocations_.begin()) return 0;
  auto& [begin, allocation] = *std::prev(behind);
  if (address - begin >= allocation.bytes) return 0;
  if (allocation.region == 0) {
    std::vector<Region>& regions = names_.layout().regions;
    allocation.region = static_cast<std::uint32_t>(regions.size());
    regions.push_back({begin, allocation.bytes, allocation.owner, 0, false});
    // Owners of owners: a cycle ends at a region that has its number already.
    if (const std::uint64_t owner = allocation.owner; owner != 0) {
      const std::uint32_t number = allocation.region;
      const std::uint32_t of_owner = layout_region(owner);
      regions[number].owner_region = of_owner;
    }
  }
  return allocation.region;
}

/// Where the global or the allocation begins that has this byte; 0: not known.
std::uint64_t CaptureNames::region_of(std::uint64_t address) const {
  if (const CapturedGlobal* const global = meta_->global_at(address)) return global->address;
  const auto behind = allocations_.upper_bound(address);
  if (behind == allocations_.begin()) return 0;
  const auto& [begin, allocation] = *std::prev(behind);
  return address - begin < allocation.bytes ? begin : 0;
}

/// The program's call of the container's function knows the field and where it is in its object,
/// not where the object is. It is where an object of that class is known, or a global or an
/// allocation begins, if that is where the access can be one to the container's own bytes.
CaptureNames::Member CaptureNames::member_of(const unit::Site& site, std::string_view name,
                                             std::uint64_t address,
                                             std::span<const OpenFrame> stack) const {
  constexpr std::uint64_t kLargest = 80;  // std::deque
  const auto is_library = [&](const OpenFrame& frame) {
    return !frame.block && frame.function != CaptureMeta::kNone &&
           (meta_->functions[frame.function].flags & unit::kSystem) != 0;
  };
  if (is_of_program(name) || (site.flags & unit::kHasOffset) == 0) return {};
  std::size_t outermost = stack.size();
  while (outermost > 0 && is_library(stack[outermost - 1])) --outermost;
  if (outermost == stack.size() || stack[outermost].call == 0) return {};
  const std::uint32_t at = stack[outermost].call - 1;
  const unit::Site& call = meta_->sites[at];
  const std::string_view field = meta_->text(owner(at), call.name);
  constexpr unsigned kFlags = unit::kHasOffset | unit::kAmbiguous;
  if (call.kind != unit::SiteKind::kCall || (call.flags & kFlags) != unit::kHasOffset ||
      call.offset < 0 || class_of(field).empty() || !is_of_program(field) ||
      !is_field_of_container(meta_->text(owner(at), call.bytes), name)) {
    return {};
  }
  const auto offset = static_cast<std::uint64_t>(call.offset);
  for (std::uint64_t inside = address % 8; inside < kLargest; inside += 8) {
    const std::uint64_t object = address - offset - inside;
    if (objects_known_.contains(key_of(class_of(field), object))) return {field, object};
  }
  if (const std::uint64_t region = region_of(address); region != 0) {
    const bool fits = address - region >= offset && address - region - offset < kLargest;
    return fits ? Member{field, region} : Member();
  }
  // A local variable: most containers begin with the part that has this field.
  if (name.find("_iterator") != std::string_view::npos) return {};
  const std::uint64_t before = name.find("_Rb_tree_header") != std::string_view::npos ? 8 : 0;
  const auto inside = static_cast<std::uint64_t>(std::int64_t{site.offset});
  return {field, address - inside - before - offset};
}

namespace {

/// Whether the name is that of a field or of an element: then it says more than the name of the
/// global that begins with it. What the library's objects are made of says less.
bool is_part(const unit::Site& site, std::string_view name) {
  if (name.ends_with("[]")) return true;
  const bool field = (site.flags & (unit::kHasOffset | unit::kAmbiguous)) == unit::kHasOffset;
  return field && is_of_program(name) &&
         (!class_of(name).empty() || name.find('.') != std::string_view::npos);
}

}  // namespace

VarId CaptureNames::variable(std::uint32_t site, std::uint64_t address, std::uint64_t segment,
                             std::uint32_t generation, std::span<const OpenFrame> stack) {
  text_.clear();
  const auto out = std::back_inserter(text_);
  const CapturedGlobal* const global = meta_->global_at(segment);
  const unit::Site* const at = site == 0 ? nullptr : &meta_->sites[site - 1];
  const std::string_view name =
      at == nullptr ? std::string_view() : meta_->text(owner(site - 1), at->name);
  const bool begins = global != nullptr && segment == global->address;
  if (begins && (at == nullptr || !is_part(*at, name))) {
    text_ += global->name;
  } else if (name.empty() || (global != nullptr && name == global->name)) {
    if (global != nullptr) {
      text_ += place_name(*global, segment);
    } else {
      fmt::format_to(out, "{:x}", segment);
    }
  } else {
    // Of the object when the site knows where it begins, and then only if no other field of it has
    // come by the same name (a union).
    std::uint64_t base = segment;
    bool of_object = false;
    if (const Member member = member_of(*at, name, address, stack); !member.name.empty()) {
      of_object = true;
      base = member.object;
      text_ += member.name;
      text_ += '.';
      text_ += name.substr(class_of(name).size() + 2);
      // A std::deque has two iterators with the same fields.
      fmt::format_to(out, "+{}", segment - base);
    } else if ((at->flags & (unit::kHasOffset | unit::kAmbiguous)) == unit::kHasOffset &&
               segment == address) {
      const std::uint64_t object = address - static_cast<std::uint64_t>(std::int64_t{at->offset});
      const auto known = fields_.try_emplace(key_of(name, object), segment).first;
      of_object = known->second == segment;
      if (of_object) {
        base = object;
        if (is_of_program(name)) objects_known_.insert(key_of(class_of(name), object));
      }
    }
    if (text_.empty()) text_ += name;
    text_ += of_object ? '@' : ':';
    const CapturedGlobal* const around = meta_->global_at(base);
    if (around != nullptr) {
      text_ += place_name(*around, base);
    } else {
      fmt::format_to(out, "{:x}", base);
    }
  }
  if (generation > 1) fmt::format_to(out, "~{}", generation);
  names_.layout().variables.push_back({segment, layout_region(segment)});
  return VarId(names_.table(Space::kVariable).append(text_));
}

CaptureNames::Object& CaptureNames::object(Space space, std::uint64_t address, std::uint32_t call,
                                           std::span<const OpenFrame> stack) {
  auto [at, is_new] = objects_.try_emplace(Key{address, space});
  if (!is_new) return at->second;

  std::string_view name;
  const unit::Site* named = nullptr;
  const auto take = [&](std::uint32_t index) {
    if (index == 0 || named != nullptr) return;
    const unit::Site& site = meta_->sites[index - 1];
    const std::string_view text = meta_->text(owner(index - 1), site.name);
    if (text.empty()) return;
    // A library's function knows a program's fields by its templates; where it has been inlined,
    // also the program's variables.
    const bool library = (owner(index - 1).flags & unit::kSystem) != 0;
    if (library && text.find("::") == std::string_view::npos) return;
    if ((library || (site.flags & unit::kSystemSite) != 0) && !is_of_program(text)) return;
    named = &site;
    name = text;
  };
  const CapturedGlobal* const global = meta_->global_at(address);
  if (global != nullptr) {
    text_ = place_name(*global, address);
  } else {
    take(call);
    // A program's own functions lock on behalf of the one that has the name only through the
    // library's: so no further than the first function that is not the library's.
    for (std::size_t i = stack.size(); i-- > 0 && named == nullptr;) {
      const bool library = !stack[i].block && stack[i].function != CaptureMeta::kNone &&
                           (meta_->functions[stack[i].function].flags & unit::kSystem) != 0;
      if (!library && !stack[i].block) break;
      take(stack[i].call);
    }
    if (named == nullptr) name = kind_name(space);
    const std::uint64_t offset = named != nullptr && (named->flags & unit::kHasOffset) != 0
                                     ? static_cast<std::uint64_t>(std::int64_t{named->offset})
                                     : 0;
    text_ = fmt::format("{}@{:x}", name, address - offset);
  }
  text_ += '\0';
  text_ += static_cast<char>('0' + static_cast<int>(space));
  const std::uint32_t count = ++object_names_[text_];
  text_.resize(text_.size() - 2);
  if (count > 1) text_ += fmt::format("~{}", count);
  at->second.id = names_.table(space).append(text_);
  return at->second;
}

void CaptureNames::forget_objects(std::uint64_t address, std::uint64_t bytes) {
  for (auto at = objects_.lower_bound(Key{address, Space::kThread});
       at != objects_.end() && at->first.address < address + bytes;) {
    at = at->second.held == 0 ? objects_.erase(at) : std::next(at);
  }
}

}  // namespace syndrome::trace
