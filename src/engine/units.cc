#include "engine/units.h"

namespace syndrome::engine {
namespace {

constexpr std::size_t kRoom = std::size_t{1} << 20;

void describe(const UnitInfo& unit, SiteInfo* infos) {
  const unit::Header& header = *unit.header;
  const unit::Site* const sites = unit.site_table();
  for (std::uint32_t i = 0; i < header.sites; ++i) {
    SiteInfo& info = infos[i];
    const unit::Site& site = sites[i];
    info.kind = site.kind;
    const bool access = site.kind != unit::SiteKind::kCall && site.kind != unit::SiteKind::kObject;
    info.bytes = !access               ? std::uint16_t{0}
                 : site.bytes > 0xffff ? std::uint16_t{0xffff}
                                       : static_cast<std::uint16_t>(site.bytes);
    if ((site.flags & unit::kReachesResult) != 0) info.flags |= SiteInfo::kReaches;
    if ((site.flags & unit::kSteered) != 0) info.flags |= SiteInfo::kSteered;
    if (site.kind == unit::SiteKind::kReadWrite || site.kind == unit::SiteKind::kAtomic) {
      info.flags |= SiteInfo::kAlsoReads;
    }
  }
  const unit::Flow* const flows = unit.flows();
  for (std::uint32_t i = 0; i < header.flows; ++i) {
    if (flows[i].from >= header.sites || flows[i].to >= header.sites) continue;
    SiteInfo& from = infos[flows[i].from];
    from.flags |= SiteInfo::kSource | SiteInfo::kConnected;
    if ((flows[i].how & unit::kFlowControl) != 0) from.flags |= SiteInfo::kDecides;
    infos[flows[i].to].flags |= SiteInfo::kConnected;
  }
  // What a library's header does belongs to the step that it was inlined at.
  constexpr auto kOfStep =
      static_cast<std::uint8_t>(SiteInfo::kSource | SiteInfo::kConnected | SiteInfo::kReaches |
                                SiteInfo::kDecides | SiteInfo::kSteered);
  for (std::uint32_t i = 0; i < header.sites; ++i) {
    const std::uint32_t step = unit.step(i);
    if (step != i) {
      infos[i].flags =
          static_cast<std::uint8_t>((infos[i].flags & ~kOfStep) | (infos[step].flags & kOfStep));
    }
  }
}

}  // namespace

std::uint32_t UnitInfo::step(std::uint32_t site) const {
  constexpr int kMostLevels = 64;
  const unit::Site* const table = site_table();
  std::uint32_t at = site;
  for (int level = 0; level < kMostLevels; ++level) {
    if ((table[at].flags & unit::kSystemSite) == 0) return at;
    if (table[at].inlined == 0 || table[at].inlined > header->sites) return site;
    at = table[at].inlined - 1;
  }
  return site;
}

std::uint32_t UnitInfo::how(std::uint32_t from, std::uint32_t to) const {
  const unit::Flow* const all = flows();
  std::uint32_t low = 0;
  std::uint32_t high = header->flows;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    const unit::Flow& flow = all[middle];
    if (flow.from < from || (flow.from == from && flow.to < to)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < header->flows && all[low].from == from && all[low].to == to ? all[low].how : 0;
}

bool Units::start(const Host& host) {
  units_ = static_cast<UnitInfo*>(host.map(host.context, sizeof(UnitInfo) * kMost));
  return units_ != nullptr;
}

SiteInfo* Units::make_sites(const Host& host, const unit::Header* header) {
  const std::size_t bytes = sizeof(SiteInfo) * (header->sites + 1);
  if (bytes > kRoom / 4) return static_cast<SiteInfo*>(host.map(host.context, bytes));
  if (bytes > room_left_) {
    room_ = static_cast<char*>(host.map(host.context, kRoom));
    room_left_ = room_ == nullptr ? 0 : kRoom;
    if (room_ == nullptr) return nullptr;
  }
  auto* const made = reinterpret_cast<SiteInfo*>(room_);
  room_ += bytes;
  room_left_ -= bytes;
  return made;
}

void Units::announce(const Host& host, const unit::Header* header) {
  if (header->magic != unit::kMagic) return;
  const Locked locked(spin_);
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (units_[i].header == header) return;
  }
  if (count == kMost) return;
  SiteInfo* const sites = make_sites(host, header);
  if (sites == nullptr) return;
  units_[count].header = header;
  units_[count].sites = sites;
  describe(units_[count], sites);
  count_.store(count + 1, std::memory_order_release);
}

const UnitInfo* Units::of(const unit::Function* function) const {
  const auto at = reinterpret_cast<std::uintptr_t>(function);
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  for (std::uint32_t i = count; i-- > 0;) {
    const auto begin = reinterpret_cast<std::uintptr_t>(units_[i].functions());
    if (at - begin < units_[i].header->functions * sizeof(unit::Function)) return &units_[i];
  }
  return nullptr;
}

bool matters(const UnitInfo& unit, const unit::Function& function) {
  for (std::uint32_t i = 0; i < function.sites; ++i) {
    const std::uint32_t site = function.first + i;
    if (site >= unit.header->sites) break;
    if (unit.sites[site].has(SiteInfo::kSource)) return true;
  }
  return false;
}

}  // namespace syndrome::engine
