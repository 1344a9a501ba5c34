#include "trace/capture_scan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "trace/capture_names.h"
#include "trace/demangle.h"

namespace syndrome::trace {
namespace {

std::string_view class_of(std::string_view field) {
  const std::size_t end = field.rfind("::");
  return end == std::string_view::npos ? std::string_view() : field.substr(0, end);
}
/// The last part of a class's name, without what it is a template of.
std::string_view tail_of(std::string_view type) {
  const std::string_view bare = type.substr(0, type.find('<'));
  const std::size_t begin = bare.rfind("::");
  return begin == std::string_view::npos ? bare : bare.substr(begin + 2);
}

}  // namespace

ScanTables::ScanTables(const CaptureMeta& meta, FindUnitRole role)
    : meta_(&meta),
      role_(std::move(role)),
      sites_(meta.sites.size()),
      owners_(meta.sites.size()),
      roles_(std::make_unique<std::atomic<std::uint8_t>[]>(meta.functions.size())) {
  // Classes with a field whose functions the program calls: maybe a container.
  std::set<std::string_view> classes;
  for (std::size_t f = 0; f < meta.functions.size(); ++f) {
    const CapturedFunction& function = meta.functions[f];
    waits_.push_back(function.name.find("future") != std::string_view::npos);
    for (std::uint32_t i = function.first; i < function.first + function.count; ++i) {
      owners_[i] = static_cast<std::uint32_t>(f);
      const unit::Site& site = meta.sites[i];
      types_.insert(tail_of(class_of(meta.text(function, site.name))));
      if (site.kind != unit::SiteKind::kCall || (site.flags & unit::kHasOffset) == 0) continue;
      classes.insert(class_of(meta.text(function, site.name)));
    }
  }
  classes.erase(std::string_view());
  for (const CapturedGlobal& global : meta.globals) types_.insert(tail_of(class_of(global.name)));
  for (const CapturedSetMember& member : meta.set_members) {
    types_.insert(tail_of(class_of(member.name)));
  }
  for (std::size_t i = 0; i < meta.sites.size(); ++i) {
    const unit::Site& site = meta.sites[i];
    if (site.kind == unit::SiteKind::kCall || site.kind == unit::SiteKind::kAtomic) continue;
    if (site.kind == unit::SiteKind::kObject) {
      sites_[i].bits = Site::kObject;
      continue;
    }
    const bool reads = site.kind == unit::SiteKind::kRead ||
                       site.kind == unit::SiteKind::kRangeRead ||
                       site.kind == unit::SiteKind::kReadWrite;
    const bool writes =
        site.kind != unit::SiteKind::kRead && site.kind != unit::SiteKind::kRangeRead;
    std::uint32_t& bits = sites_[i].bits;
    bits = std::min(site.bytes, Site::kReads - 1);
    bits |= (reads ? Site::kReads : 0) | (writes ? Site::kWrites : 0);
    const std::string_view name = meta.text(meta.functions[owners_[i]], site.name);
    if (name.empty()) continue;
    if ((site.flags & unit::kHasOffset) != 0 && may_be_of_container(name)) {
      bits |= Site::kOfContainer;
    }
    if (classes.contains(class_of(name)) && object_key(site, name, 0) != 0) {
      bits |= Site::kTellsObject;
    }
  }
}

std::uint64_t ScanTables::object_at(std::uint32_t site, std::uint64_t address) const {
  return object_key(meta_->sites[site],
                    meta_->text(meta_->functions[owners_[site]], meta_->sites[site].name), address);
}

FunctionRole ScanTables::decide(std::uint32_t function) const {
  const CapturedFunction& captured = meta_->functions[function];
  FunctionRole role = FunctionRole::kDeclared;
  constexpr std::uint32_t kAnnotated = unit::kAtomic | unit::kDeterministic | unit::kUnitOfWork;
  if ((captured.flags & kAnnotated) == 0 && role_) {
    const UnitRole found = role_(demangle(captured.name));
    role = found.role;
    // Nothing is a field of its class.
    if (role == FunctionRole::kMember && !types_.contains(tail_of(found.type))) {
      role = FunctionRole::kAccessor;
    }
  }
  roles_[function].store(static_cast<std::uint8_t>(static_cast<std::uint8_t>(role) + 1),
                         std::memory_order_relaxed);
  return role;
}

}  // namespace syndrome::trace
