// The units of the process: what its sites are, by numbers that fit into an entry (event/sieve.h).
//
// State, and who may touch it:
//   units       added to under units_lock; what is there stays
//   byte_sites  anyone, see there

#include "runtime/follow.h"
#include "runtime/follower.h"
#include "runtime/session_files.h"

namespace syndrome::rt {

std::atomic<std::uint32_t> unit_count{0};
ByteSites byte_sites;

namespace {

// What is known of a unit whose library has been closed, too: nothing of it is read then.
struct Unit {
  std::uintptr_t begin;
  std::uint32_t bytes;
  std::uint32_t functions;
  std::uint32_t sites;
  std::uint32_t base;  // number of its first site in the process, from 1
};
constexpr std::uint32_t kMaxUnits = 1u << 16;
Unit units[kMaxUnits];
std::atomic<std::uint32_t> units_lock{0};
std::uint32_t next_base = 1;

}  // namespace

/// The unit of a function that runs. The newest first: memory may have been a closed library's.
Follower::Sites find_sites(const unit::Function* function) {
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  for (std::uint32_t i = unit_count.load(std::memory_order_acquire); i-- > 0;) {
    const Unit& unit = units[i];
    if (address < unit.begin || address >= unit.begin + unit.bytes) continue;
    const auto* const sites = reinterpret_cast<const unit::Site*>(
        unit.begin + sizeof(unit::Header) + unit.functions * sizeof(unit::Function));
    return {function, sites + function->first, function->sites, unit.base + function->first};
  }
  return {function, nullptr, 0, 0};
}

const void* unit_of(const unit::Function* function) {
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  for (std::uint32_t i = unit_count.load(std::memory_order_acquire); i-- > 0;) {
    if (address - units[i].begin < units[i].bytes) {
      return reinterpret_cast<const void*>(units[i].begin);
    }
  }
  return nullptr;
}

Where where_of(std::uint32_t site) {
  const std::uint32_t count = unit_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; site != 0 && i < count; ++i) {
    if (site - units[i].base < units[i].sites) return {units[i].begin, site - units[i].base};
  }
  return {0, 0};
}

std::uint32_t with_site(sieve::ByteSitesCache& asked, std::uint32_t site, unsigned bytes,
                        std::uint32_t other) {
  return asked.with(byte_sites, site, bytes, other);
}

void reset_units() {
  units_lock.store(0, std::memory_order_relaxed);
}

void follow_unit(const unit::Header* unit) {
  const Lock lock(units_lock);
  const std::uint32_t count = unit_count.load(std::memory_order_relaxed);
  if (count == kMaxUnits || unit->sites > Cell::kSeveral - next_base) return;
  units[count] = {reinterpret_cast<std::uintptr_t>(unit), unit->bytes, unit->functions, unit->sites,
                  next_base};
  next_base += unit->sites;
  unit_count.store(count + 1, std::memory_order_release);
}

}  // namespace syndrome::rt
