// From an address in a module to places in the source, through DWARF: programs that were built with
// debug information but recorded without lines. llvm-symbolizer does it, in one process for all
// addresses of a report. Without it, or without DWARF, function and offset have to do.

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "report/place.h"

namespace syndrome::report {

/// A site without a line: "/home/ann/server+0x1a2b handle(Request&)".
struct Address {
  std::string module;
  std::uint64_t offset = 0;
  std::string function;  // may be empty
  friend auto operator<=>(const Address& a, const Address& b) {
    return std::tie(a.module, a.offset) <=> std::tie(b.module, b.offset);
  }
  friend bool operator==(const Address& a, const Address& b) {
    return a.module == b.module && a.offset == b.offset;
  }
};

/// Nothing when the text is not of that form.
[[nodiscard]] std::optional<Address> parse_address(std::string_view text);

class Symbolizer {
 public:
  struct Options {
    /// Programs that are tried, in order, along PATH.
    std::vector<std::string> programs = {"llvm-symbolizer-19", "llvm-symbolizer"};
    std::chrono::milliseconds timeout{20'000};
  };

  Symbolizer() : Symbolizer(Options{}) {}
  explicit Symbolizer(Options options) : options_(std::move(options)) {}

  /// Looks up what is not known yet, in one process. What cannot be found out stays unknown.
  void prepare(const std::vector<Address>& addresses);

  /// Innermost first: inlined functions, then the one that they were inlined into. Empty: unknown.
  [[nodiscard]] const std::vector<Place>& places_of(const Address& address) const;

  [[nodiscard]] std::size_t runs() const { return runs_; }

 private:
  Options options_;
  std::map<Address, std::vector<Place>> known_;
  std::size_t runs_ = 0;
};

}  // namespace syndrome::report
