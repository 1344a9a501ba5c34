// What a recording knows of the program beyond names: where variables and objects are in memory, and
// which steps of a function are connected by its text (event/unit.h, Flow). Other traces have none of
// it. Grows with the names.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "event/ids.h"

namespace syndrome {

/// A global variable, or memory that was allocated. Who allocated it may own it: the object that the
/// innermost function of the program worked on then.
struct Region {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint64_t owner = 0;         // an address in the object that owns it; 0: nobody
  std::uint32_t owner_region = 0;  // that the owner is in
  bool global = false;
};

/// Where a variable is. Region 0: a local variable, or not known.
struct Place {
  std::uint64_t address = 0;
  std::uint32_t region = 0;
};

struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  [[nodiscard]] bool contains(std::uint64_t address) const { return address - begin < bytes; }
};

struct Connection {
  SiteId from;
  SiteId to;
  std::uint32_t how = 0;  // unit::FlowHow
};

struct Layout {
  Layout() : regions(1) {}

  std::vector<Place> variables;   // by VarId
  std::vector<Extent> objects;    // by ObjectId
  std::vector<Region> regions;    // the first is no region
  std::vector<Connection> flows;  // a pair may come again, with more
  /// Sites of reads and calls whose value reaches the result of their function.
  std::vector<SiteId> results;
  /// Sites of steps that a parameter of their function, no pointer, is part of the address of, or
  /// decides about.
  std::vector<SiteId> steered;

  /// Whether the variable is in the object, or in memory that the object owns.
  [[nodiscard]] bool belongs(VarId variable, const Extent& object) const {
    if (variable.index() >= variables.size()) return false;
    // An owner was allocated before what it owns, so this ends; a file may say otherwise.
    constexpr int kMostOwners = 8;
    Place at = variables[variable.index()];
    for (int i = 0; i < kMostOwners; ++i) {
      if (object.contains(at.address)) return true;
      if (at.region == 0 || at.region >= regions.size()) return false;
      const Region& region = regions[at.region];
      if (region.owner == 0) return false;
      at = {region.owner, region.owner_region};
    }
    return false;
  }
  /// The global that the variable is part of; null when it is in none.
  [[nodiscard]] const Region* global_of(VarId variable) const {
    if (variable.index() >= variables.size()) return nullptr;
    const std::uint32_t region = variables[variable.index()].region;
    return region < regions.size() && regions[region].global ? &regions[region] : nullptr;
  }
};

}  // namespace syndrome
