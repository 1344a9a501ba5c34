// Strong ids: a ThreadId cannot be passed where a VarId is wanted.
//
// Ids are dense, from 0, in the order in which a trace first mentions the thing; so they index
// plain vectors. Each kind of thing has its own space of ids and its own table in Names.

#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace syndrome {

template <class Tag>
struct Id {
  std::uint32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t v) : value(v) {}
  constexpr explicit Id(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}

  [[nodiscard]] constexpr std::size_t index() const { return value; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using ThreadId = Id<struct ThreadTag>;
using VarId = Id<struct VarTag>;
using LockId = Id<struct LockTag>;
using BarrierId = Id<struct BarrierTag>;
using SemaphoreId = Id<struct SemaphoreTag>;
using ConditionId = Id<struct ConditionTag>;
using LabelId = Id<struct LabelTag>;  // a block's label or a function; 0 is "no label"
using SiteId = Id<struct SiteTag>;    // a place in the source; 0 is "unknown"
using ObjectId = Id<struct ObjectTag>;

/// Position of an event in its trace, counted from 1. 0 means "none".
using EventNumber = std::uint64_t;

/// The spaces in which a trace gives names to ids.
enum class Space : std::uint8_t {
  kThread,
  kVariable,
  kLock,
  kBarrier,
  kSemaphore,
  kCondition,
  kLabel,
  kSite,
  kObject,  // with its type and where it is: Account@5581c0+24
};
inline constexpr std::size_t kSpaceCount = 9;

}  // namespace syndrome

template <class Tag>
struct std::hash<syndrome::Id<Tag>> {
  std::size_t operator()(syndrome::Id<Tag> id) const noexcept { return id.value; }
};
