// The units of the program (event/unit.h) as the engine asks for them: of each site how many bytes
// it accesses and whether a flow begins or ends there; of two sites how they are connected.
//
// Announced once each, under a lock; read without one.

#pragma once

#include <atomic>
#include <cstdint>

#include "engine/host.h"
#include "engine/spin.h"
#include "event/unit.h"

namespace syndrome::engine {

struct SiteInfo {
  enum Flag : std::uint8_t {
    kSource = 1,      // a flow begins at its step
    kConnected = 2,   // begins or ends
    kReaches = 4,     // unit::kReachesResult of its step
    kDecides = 8,     // a flow that begins there is a kFlowControl
    kSteered = 16,    // unit::kSteered
    kAlsoReads = 32,  // what it writes, it may have read
  };
  std::uint16_t bytes = 0;
  unit::SiteKind kind = unit::SiteKind::kRead;
  std::uint8_t flags = 0;

  [[nodiscard]] bool has(Flag flag) const { return (flags & flag) != 0; }
};
static_assert(sizeof(SiteInfo) == 4);

struct UnitInfo {
  const unit::Header* header = nullptr;
  const SiteInfo* sites = nullptr;  // null: there was no memory for them

  [[nodiscard]] const unit::Function* functions() const {
    return reinterpret_cast<const unit::Function*>(header + 1);
  }
  [[nodiscard]] const unit::Site* site_table() const {
    return reinterpret_cast<const unit::Site*>(functions() + header->functions);
  }
  [[nodiscard]] const unit::Flow* flows() const {
    return reinterpret_cast<const unit::Flow*>(site_table() + header->sites);
  }
  /// The place in the program that a site of a library's header was inlined into, or the site
  /// itself; an index.
  [[nodiscard]] std::uint32_t step(std::uint32_t site) const;
  /// unit::FlowHow, or-ed; 0: not connected. Of steps, as indices.
  [[nodiscard]] std::uint32_t how(std::uint32_t from, std::uint32_t to) const;
};

class Units {
 public:
  static constexpr std::uint32_t kMost = 1u << 14;

  /// False: no memory.
  [[nodiscard]] bool start(const Host& host);
  void announce(const Host& host, const unit::Header* header);
  /// The unit that has the function; null when it was not announced.
  [[nodiscard]] const UnitInfo* of(const unit::Function* function) const;

 private:
  [[nodiscard]] SiteInfo* make_sites(const Host& host, const unit::Header* header);

  Spin spin_;
  UnitInfo* units_ = nullptr;
  std::atomic<std::uint32_t> count_{0};
  char* room_ = nullptr;  // for small units
  std::size_t room_left_ = 0;
};

/// Whether the function has connected steps.
[[nodiscard]] bool matters(const UnitInfo& unit, const unit::Function& function);

}  // namespace syndrome::engine
