// For tests: recordings of made-up programs. A unit with one function for each kind of site, and
// streams of words as the runtime would write them.

#pragma once

#include <array>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/unit.h"
#include "event/wire.h"
#include "trace/capture_writer.h"

namespace syndrome::trace::testing {

/// The bytes of a unit. Add functions with their sites; then bytes().
class UnitBuilder {
 public:
  explicit UnitBuilder(std::uint64_t address) : address_(address) { text("made-up.cc"); }

  std::uint32_t text(std::string_view text) {
    const auto offset = static_cast<std::uint32_t>(strings_.size());
    strings_.append(text);
    strings_ += '\0';
    return offset;
  }
  /// Its number; address() is what stands for it in words.
  std::size_t function(std::string_view name, std::uint32_t flags = 0,
                       std::string_view label = {}) {
    unit::Function function;
    function.name = text(name);
    function.label = label.empty() ? UINT32_MAX : text(label);
    function.first = static_cast<std::uint32_t>(sites_.size());
    function.flags = flags;
    functions_.push_back(function);
    return functions_.size() - 1;
  }
  /// Of the function that was added last. Its number in words.
  std::uint32_t site(unit::SiteKind kind, std::uint32_t bytes, std::string_view name = {},
                     std::int32_t offset = -1) {
    unit::Site site;
    site.file = 0;
    site.line = static_cast<std::uint32_t>(sites_.size() + 1);
    site.column = 3;
    site.kind = kind;
    site.bytes = bytes;
    site.name = name.empty() ? UINT32_MAX : text(name);
    if (offset >= 0) {
      site.offset = offset;
      site.flags = unit::kHasOffset;
    }
    sites_.push_back(site);
    return ++functions_.back().sites;
  }
  [[nodiscard]] std::uint64_t address(std::size_t function) const {
    return address_ + sizeof(unit::Header) + function * sizeof(unit::Function);
  }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    unit::Header header;
    header.abi = wire::kAbi;
    header.functions = static_cast<std::uint32_t>(functions_.size());
    header.sites = static_cast<std::uint32_t>(sites_.size());
    const auto base =
        static_cast<std::uint32_t>(sizeof header + functions_.size() * sizeof(unit::Function) +
                                   sites_.size() * sizeof(unit::Site));
    header.bytes = base + static_cast<std::uint32_t>(strings_.size());
    std::vector<unit::Function> functions = functions_;
    for (unit::Function& function : functions) {
      function.name += base;
      function.label = function.label == UINT32_MAX ? 0 : function.label + base;
    }
    std::vector<unit::Site> sites = sites_;
    for (unit::Site& site : sites) {
      site.file += base;
      site.name = site.name == UINT32_MAX ? 0 : site.name + base;
    }
    std::vector<std::byte> all(header.bytes);
    std::byte* to = all.data();
    const auto put = [&](const void* from, std::size_t size) {
      if (size != 0) std::memcpy(to, from, size);
      to += size;
    };
    put(&header, sizeof header);
    put(functions.data(), functions.size() * sizeof(unit::Function));
    put(sites.data(), sites.size() * sizeof(unit::Site));
    put(strings_.data(), strings_.size());
    return all;
  }
  [[nodiscard]] std::uint64_t address() const { return address_; }

 private:
  std::uint64_t address_;
  std::vector<unit::Function> functions_;
  std::vector<unit::Site> sites_;
  std::string strings_;
};

/// Appends a record of metadata.
inline void add_meta(std::vector<std::byte>& meta, wire::Meta type,
                     std::span<const std::uint64_t> numbers, std::span<const std::byte> rest) {
  const std::size_t size = (numbers.size_bytes() + rest.size() + 7) / 8 * 8;
  const std::array<std::uint32_t, 2> head = {static_cast<std::uint32_t>(type),
                                             static_cast<std::uint32_t>(size)};
  const std::size_t at = meta.size();
  meta.resize(at + 8 + size);
  std::memcpy(&meta[at], head.data(), 8);
  if (!numbers.empty()) std::memcpy(&meta[at + 8], numbers.data(), numbers.size_bytes());
  if (!rest.empty()) std::memcpy(&meta[at + 8 + numbers.size_bytes()], rest.data(), rest.size());
}
inline void add_meta(std::vector<std::byte>& meta, wire::Meta type,
                     std::vector<std::uint64_t> numbers, std::string_view text = {}) {
  add_meta(meta, type, numbers, std::as_bytes(std::span(text)));
}
inline void add_unit(std::vector<std::byte>& meta, const UnitBuilder& unit) {
  const std::array<std::uint64_t, 1> address = {unit.address()};
  add_meta(meta, wire::Meta::kUnit, address, unit.bytes());
}

/// One thread's words, in lines.
class Words {
 public:
  void record(std::uint64_t now, std::vector<std::uint64_t> record) {
    while (words_.size() % wire::kLineWords + record.size() > wire::kLineWords ||
           words_.size() % wire::kLineWords == 0) {
      if (words_.size() % wire::kLineWords == 0) {
        words_.push_back(wire::time(now));
      } else {
        words_.push_back(wire::control(wire::Control::kPad, 0, 0));
      }
    }
    words_.insert(words_.end(), record.begin(), record.end());
  }
  void access(std::uint64_t now, std::uint64_t address, std::uint32_t site) {
    record(now, {wire::access(address, site)});
  }
  void enter(std::uint64_t now, std::uint64_t function, std::uint32_t call = 0) {
    record(now, {wire::control(wire::Control::kEnter, function, call)});
  }
  void exit(std::uint64_t now, std::uint64_t function) {
    record(now, {wire::control(wire::Control::kExit, function, 0)});
  }
  void range(std::uint64_t now, bool write, std::uint64_t address, std::uint64_t bytes,
             std::uint32_t site) {
    record(now, {wire::control(wire::Control::kRange, write ? 0x10 : 0, site),
                 wire::operand(address), wire::operand(bytes)});
  }
  void locals(std::uint64_t now, std::uint64_t address, std::uint64_t bytes) {
    record(now, {wire::control(wire::Control::kLocals, 0, 0), wire::operand(address),
                 wire::operand(bytes)});
  }
  void sync(std::uint64_t now, wire::Sync kind, std::uint64_t object, std::uint64_t version,
            std::uint64_t operand = 0, std::uint32_t call = 0) {
    record(now, {wire::sync(kind, 4, call), wire::operand(object), wire::operand(version),
                 wire::operand(now), wire::operand(operand)});
  }
  [[nodiscard]] const std::vector<std::uint64_t>& words() const { return words_; }

 private:
  std::vector<std::uint64_t> words_;
};

/// The versions of the shards, as the program counts them.
class Versions {
 public:
  std::uint64_t take(wire::Sync kind, std::uint64_t object) {
    return ++last_[wire::shard_of(kind, object)];
  }

 private:
  std::map<std::size_t, std::uint64_t> last_;
};

}  // namespace syndrome::trace::testing
