// The spec that a user writes: which functions are blocks, which data belongs together, which
// functions are units of work (TOML; contract.md has the grammar).
//
// The file is read strictly: a key that we do not know is an error with its position and the
// nearest key that we do, because a typing error that is silently ignored turns a check off.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "event/result.h"
#include "spec/pattern.h"

namespace syndrome::spec {

/// Far beyond what anyone writes by hand; `syndrome refine` writes a line and a comment for each
/// function of a program.
inline constexpr std::size_t kMaxSpecBytes = std::size_t{16} << 20U;
inline constexpr std::size_t kMaxSpecEntries = 20'000;  // of all lists together

/// Something that the user wrote in a list, and where.
struct Entry {
  Pattern pattern;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

struct Blocks {
  /// Without this key, the default of the trace's format holds (spec/block_mapper.h).
  std::optional<std::vector<Entry>> atomic;
  std::vector<Entry> deterministic;
  std::vector<Entry> exclude;
};

/// `name = [entries]` of [atomic-sets], [units] or [units.for], in the order of names.
struct NamedList {
  std::string name;
  std::vector<Entry> entries;
  std::uint32_t line = 0;
};

/// How locations that no set names are put into sets: [atomic-sets.options] default.
enum class DefaultSets : std::uint8_t {
  kClass,  // the fields of one instance are a set
  kEach,   // each location is a set of its own
  kAll,    // all locations are one set
};

struct Spec {
  Blocks blocks;
  std::vector<NamedList> atomic_sets;
  std::optional<DefaultSets> default_sets;
  std::vector<Entry> excluded_locations;  // [atomic-sets.options] exclude: in no set at all
  bool units_span_threads = false;        // [atomic-sets.options] span-threads
  std::vector<NamedList> units;
  std::vector<NamedList> units_for;  // by set
};

/// The error says "line 3, column 1: …".
[[nodiscard]] Result<Spec> parse_spec(std::string_view text);

[[nodiscard]] Result<Spec> read_spec(const std::string& path);

}  // namespace syndrome::spec
