// What the words of a recording speak of: the process, its units with their functions and sites,
// modules, threads, globals. Taken from the metadata's bytes (event/wire.h, Meta), which are
// untrusted: whatever does not fit is left out, with a warning.

#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/ended.h"
#include "event/mix_hash.h"
#include "event/result.h"
#include "event/unit.h"
#include "event/wire.h"

namespace syndrome::trace {

/// A function of the program. Its sites are sites[first … first + count) of CaptureMeta.
struct CapturedFunction {
  std::string_view name;  // linkage name
  std::uint64_t address = 0;
  std::uint32_t unit = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t flags = 0;  // unit::FunctionFlag
  std::string_view label;   // of SYNDROME_UNIT
};

/// SYNDROME_ATOMIC_SET.
struct CapturedSetMember {
  std::string_view name;  // of the variable or field
  std::string_view set;
};

struct CapturedModule {
  std::uint64_t base = 0;
  std::uint64_t end = 0;
  bool instrumented = false;
  std::string path;
};

struct CapturedGlobal {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::string_view name;
};

class CaptureMeta {
 public:
  CaptureMeta() = default;
  explicit CaptureMeta(std::span<const std::byte> bytes) { add(bytes); }
  CaptureMeta(const CaptureMeta&) = delete;
  CaptureMeta& operator=(const CaptureMeta&) = delete;

  /// The next bytes, cut anywhere. Indices stay as they are; what points to strings does, too.
  void add(std::span<const std::byte> bytes);

  // Of the process; 0 and empty when the recording does not say.
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
  std::uint64_t counter_hz = 0;
  std::uint64_t realtime_ns = 0;
  std::vector<std::string> command;

  std::vector<CapturedFunction> functions;
  std::vector<unit::Site> sites;  // of all functions; Site::inlined: 1 + an index in here
  std::vector<unit::Flow> flows;  // from and to are indices in `sites`
  std::vector<CapturedSetMember> set_members;
  std::vector<CapturedModule> modules;
  std::vector<CapturedGlobal> globals;                         // by address, no two overlap
  std::vector<std::pair<std::uint32_t, std::string>> threads;  // number and last name, by number
  std::vector<std::string> warnings;
  std::optional<std::uint64_t> noise;  // the seed, when the process ran with noise
  /// How the process ended; none when the recording does not say.
  [[nodiscard]] std::optional<Ended> ended() const;
  /// Why the words cannot be understood: they are of another version's.
  std::optional<Error> unreadable;

  static constexpr std::uint32_t kNone = UINT32_MAX;
  /// The function with this address (wire::Control::kEnter), or kNone.
  [[nodiscard]] std::uint32_t function_at(std::uint64_t address) const {
    const auto at = by_address_.find(address);
    return at == by_address_.end() ? kNone : at->second;
  }
  /// A string of the unit that the function is in; empty when the offset is not one of a string.
  [[nodiscard]] std::string_view text(const CapturedFunction& function,
                                      std::uint32_t offset) const {
    return text(function.unit, offset);
  }
  /// The place in the program that a site of a library's header was inlined into, or the site
  /// itself. Both are 1 + an index in `sites`.
  [[nodiscard]] std::uint32_t program_site(std::uint32_t site) const;
  /// wire::Meta::kString; empty when there is none with that number.
  [[nodiscard]] std::string_view string(std::uint64_t number) const;
  /// The global that has this byte, or null.
  [[nodiscard]] const CapturedGlobal* global_at(std::uint64_t address) const;
  [[nodiscard]] const CapturedModule* module_at(std::uint64_t address) const;
  [[nodiscard]] std::string_view thread_name(std::uint32_t number) const;
  /// 1 + the index in `sites` of that site of the unit at the address; 0: there is none.
  [[nodiscard]] std::uint32_t site_of_unit(std::uint64_t address, std::uint64_t index) const {
    const auto found = units_by_address_.find(address);
    if (found == units_by_address_.end()) return 0;
    const Unit& unit = units_[found->second];
    return index < unit.sites ? unit.first_site + static_cast<std::uint32_t>(index) + 1 : 0;
  }
  [[nodiscard]] bool lacks_lines(const CapturedFunction& function) const {
    return (units_[function.unit].flags & unit::kNoDebugInfo) != 0;
  }

 private:
  struct Unit {
    std::span<const std::byte> bytes;
    std::uint32_t flags = 0;
    std::uint32_t first_site = 0;
    std::uint32_t sites = 0;
  };
  using Body = std::span<const std::byte>;
  [[nodiscard]] Body parse(Body rest);
  void parse_process(Body body);
  void parse_unit(Body body);
  void parse_module(Body body);
  void parse_thread(Body body);
  void parse_globals(Body body);
  void parse_ended(Body body);
  void finish_globals();
  [[nodiscard]] std::string_view text(std::uint32_t unit, std::uint32_t offset) const;

  struct RawGlobal {
    std::uint64_t address, size, unit;
    std::uint32_t name;
  };

  std::deque<std::vector<std::byte>> pieces_;  // which everything points into
  std::vector<std::byte> rest_;                // the beginning of a record
  std::vector<Unit> units_;
  tsl::robin_map<std::uint64_t, std::uint32_t, MixHash> by_address_;  // functions
  tsl::robin_map<std::uint64_t, std::uint32_t, MixHash> units_by_address_;
  tsl::robin_map<std::uint64_t, std::string_view, MixHash> strings_;
  std::vector<RawGlobal> raw_globals_;
  struct End {
    Ended ended;
    wire::EndSaidBy said_by = wire::EndSaidBy::kWaiter;
  };
  std::vector<End> ends_;  // as they were written
};

}  // namespace syndrome::trace
