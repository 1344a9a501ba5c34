#include "instrument/units.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "event/unit.h"
#include "event/wire.h"

namespace syndrome::test {
namespace {

template <typename T>
T read_at(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string string_at(std::string_view unit, std::uint32_t offset) {
  if (offset == 0 || offset >= unit.size()) return {};
  const std::string_view text = unit.substr(offset);
  return std::string(text.substr(0, text.find('\0')));
}

std::string describe(std::string_view unit, const unit::Site& site) {
  constexpr std::array<const char*, 8> kKinds = {"read",   "write",      "readwrite",   "call",
                                                 "atomic", "range-read", "range-write", "object"};
  std::string text = kKinds.at(static_cast<std::size_t>(site.kind));
  text += " " + std::to_string(site.line) + ":" + std::to_string(site.column);
  const std::string name = string_at(unit, site.name);
  if (!name.empty()) text += " " + name;
  if ((site.flags & unit::kHasOffset) != 0) text += "+" + std::to_string(site.offset);
  if ((site.flags & unit::kAmbiguous) != 0) text += "?";
  if (site.kind != unit::SiteKind::kCall) text += " (" + std::to_string(site.bytes) + ")";
  return text;
}

std::string how(std::uint32_t flow) {
  std::string text;
  constexpr std::array<const char*, 12> kHow = {"data",     "address", "control",  "joined",
                                                "source",   "result",  "compared", "pointer",
                                                "constant", "reset",   "reread",   "decides"};
  for (std::size_t i = 0; i < kHow.size(); ++i) {
    if ((flow >> i & 1) != 0) text += " " + std::string(kHow.at(i));
  }
  return text;
}

bool is_call(const std::string& site) {
  return site.starts_with("call");
}

}  // namespace

std::vector<std::string> UnitFunction::accesses() const {
  std::vector<std::string> found;
  std::ranges::remove_copy_if(sites, std::back_inserter(found), is_call);
  return found;
}

std::vector<std::string> UnitFunction::calls() const {
  std::vector<std::string> found;
  std::ranges::copy_if(sites, std::back_inserter(found), is_call);
  return found;
}

std::vector<UnitFunction> unit_functions(std::string_view bytes) {
  std::vector<UnitFunction> all;
  const std::string_view magic("SYNU");
  for (std::size_t at = bytes.find(magic); at != std::string_view::npos;
       at = bytes.find(magic, at + 1)) {
    if (bytes.size() - at < sizeof(unit::Header)) break;
    const auto header = read_at<unit::Header>(bytes, at);
    if (header.abi != wire::kAbi || header.bytes > bytes.size() - at) continue;
    const std::string_view unit = bytes.substr(at, header.bytes);
    const std::size_t sites = sizeof header + header.functions * sizeof(unit::Function);
    std::vector<unit::Flow> flows(header.flows);
    for (std::size_t i = 0; i < header.flows; ++i) {
      flows[i] = read_at<unit::Flow>(
          unit, sites + header.sites * sizeof(unit::Site) + i * sizeof(unit::Flow));
    }
    for (std::size_t i = 0; i < header.functions; ++i) {
      const auto entry = read_at<unit::Function>(unit, sizeof header + i * sizeof(unit::Function));
      UnitFunction& function = all.emplace_back();
      function.name = string_at(unit, entry.name);
      function.file = string_at(unit, entry.file);
      function.flags = entry.flags;
      function.label = string_at(unit, entry.label);
      for (std::size_t k = 0; k < entry.sites; ++k) {
        const auto site = read_at<unit::Site>(unit, sites + (entry.first + k) * sizeof(unit::Site));
        if (site.kind == unit::SiteKind::kObject) {
          function.objects.push_back(string_at(unit, site.name) + " " + std::to_string(site.bytes));
          continue;
        }
        function.sites.push_back(describe(unit, site));
        if ((site.flags & unit::kReachesResult) != 0) function.results.push_back(site.line);
        const std::string callee = string_at(unit, site.bytes);
        if ((site.flags & unit::kLastCall) != 0) {
          function.last.push_back(std::to_string(site.line) + " " + callee);
        }
        if ((site.flags & unit::kLastRelease) != 0) function.last.push_back(callee);
      }
      for (const unit::Flow& flow : flows) {
        if (flow.from - entry.first >= entry.sites) continue;
        const auto line = [&](std::uint32_t index) {
          return std::to_string(read_at<unit::Site>(unit, sites + index * sizeof(unit::Site)).line);
        };
        function.flows.push_back(line(flow.from) + "->" + line(flow.to) + how(flow.how));
      }
    }
  }
  return all;
}

UnitFunction unit_function(std::string_view bytes, std::string_view name) {
  const std::vector<UnitFunction> all = unit_functions(bytes);
  const auto found = std::ranges::find(all, name, &UnitFunction::name);
  if (found != all.end()) return *found;
  UnitFunction none;
  none.flags = ~0u;
  return none;
}

}  // namespace syndrome::test
