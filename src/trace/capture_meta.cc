#include "trace/capture_meta.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "trace/syn_format.h"

namespace syndrome::trace {
namespace {

constexpr std::size_t kRecordHeader = 8;

/// Up to the padding.
std::string_view padded_text(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (text.ends_with('\0')) text.remove_suffix(1);
  return text;
}

std::string_view first_text(std::span<const std::byte> bytes) {
  const std::string_view text = padded_text(bytes);
  return text.substr(0, text.find('\0'));
}

template <class T>
T copy_of(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

void CaptureMeta::add(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  rest_.insert(rest_.end(), bytes.begin(), bytes.end());
  const std::size_t threads_before = threads.size();
  pieces_.push_back(std::exchange(rest_, {}));
  const Body rest = parse(pieces_.back());
  rest_.assign(rest.begin(), rest.end());
  finish_globals();
  if (threads.size() == threads_before) return;
  std::stable_sort(threads.begin(), threads.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

/// What is left: a record that is cut off in the middle.
CaptureMeta::Body CaptureMeta::parse(Body rest) {
  while (rest.size() >= kRecordHeader) {
    const auto type = static_cast<std::uint32_t>(load(rest.data(), 4));
    const std::size_t size = load(rest.data() + 4, 4);
    if (size > rest.size() - kRecordHeader) break;
    const Body body = rest.subspan(kRecordHeader, size);
    rest = rest.subspan(kRecordHeader + size);
    switch (static_cast<wire::Meta>(type)) {
      case wire::Meta::kProcess: parse_process(body); break;
      case wire::Meta::kUnit: parse_unit(body); break;
      case wire::Meta::kString:
        if (size >= 8) strings_[load(body.data(), 8)] = first_text(body.subspan(8));
        break;
      case wire::Meta::kModule: parse_module(body); break;
      case wire::Meta::kThread: parse_thread(body); break;
      case wire::Meta::kGlobals: parse_globals(body); break;
      case wire::Meta::kWarning: warnings.emplace_back(first_text(body)); break;
      case wire::Meta::kNoise:
        if (size >= 8) noise = load(body.data(), 8);
        break;
      case wire::Meta::kEnded: parse_ended(body); break;
      default:
        warnings.push_back(
            fmt::format("metadata of type {}, which this syndrome does not know, "
                        "was passed over: use the syndrome that recorded it",
                        type));
        break;
    }
  }
  return rest;
}

void CaptureMeta::parse_process(Body body) {
  constexpr std::size_t kFixed = 40;
  if (body.size() < kFixed) {
    warnings.emplace_back("the record of the process is too short");
    return;
  }
  const auto abi = static_cast<std::uint32_t>(load(body.data(), 4));
  if (abi != wire::kAbi) {
    unreadable = Error{
        fmt::format("recorded by {} Syndrome (interface {} between probes and runtime, and this "
                    "one reads {}): use the one that recorded it",
                    abi > wire::kAbi ? "a newer" : "an older", abi, wire::kAbi)};
  }
  pid = static_cast<std::uint32_t>(load(body.data() + 4, 4));
  parent = static_cast<std::uint32_t>(load(body.data() + 8, 4));
  counter_hz = load(body.data() + 16, 8);
  realtime_ns = load(body.data() + 32, 8);
  std::string_view line = padded_text(body.subspan(kFixed));
  command.clear();
  while (!line.empty()) {
    const std::size_t end = line.find('\0');
    command.emplace_back(line.substr(0, end));
    line = end == std::string_view::npos ? std::string_view() : line.substr(end + 1);
  }
}

void CaptureMeta::parse_unit(Body body) {
  const auto bad = [&](std::string_view what) {
    warnings.push_back(fmt::format("a unit (translation unit) was passed over: {}", what));
  };
  if (body.size() < 8 + sizeof(unit::Header)) return bad("it is shorter than its header");
  const std::uint64_t address = load(body.data(), 8);
  const Body bytes = body.subspan(8);
  const auto header = copy_of<unit::Header>(bytes.data());
  if (header.magic != unit::kMagic) return bad("it does not begin as a unit does");
  if (header.abi != wire::kAbi) {
    return bad(
        fmt::format("it was compiled for interface {}, expected {}", header.abi, wire::kAbi));
  }
  const std::uint64_t functions_end =
      sizeof(unit::Header) + std::uint64_t{header.functions} * sizeof(unit::Function);
  const std::uint64_t sites_end = functions_end + std::uint64_t{header.sites} * sizeof(unit::Site);
  const std::uint64_t flows_end = sites_end + std::uint64_t{header.flows} * sizeof(unit::Flow);
  if (header.bytes > bytes.size() || flows_end > header.bytes) {
    return bad("it is shorter than its tables");
  }
  // The same unit may come again, for example when a library is loaded a second time.
  const auto number = static_cast<std::uint32_t>(units_.size());
  units_.push_back({bytes.first(header.bytes), header.flags});
  units_by_address_[address] = number;

  const std::size_t first_site = sites.size();
  if (first_site + header.sites >= kNone || functions.size() + header.functions >= kNone) {
    return bad("there are too many sites");
  }
  sites.resize(first_site + header.sites);
  units_[number].first_site = static_cast<std::uint32_t>(first_site);
  units_[number].sites = header.sites;
  if (header.sites != 0) {
    std::memcpy(&sites[first_site], bytes.data() + functions_end,
                header.sites * sizeof(unit::Site));
    for (std::size_t i = first_site; i < sites.size(); ++i) {
      std::uint32_t& inlined = sites[i].inlined;
      inlined = inlined == 0 || inlined > header.sites
                    ? 0
                    : inlined + static_cast<std::uint32_t>(first_site);
    }
  }
  for (std::uint32_t i = 0; i < header.flows; ++i) {
    const auto raw = copy_of<unit::Flow>(bytes.data() + sites_end + i * sizeof(unit::Flow));
    if (raw.from >= header.sites || raw.to >= header.sites) continue;
    const auto first = static_cast<std::uint32_t>(first_site);
    flows.push_back({first + raw.from, first + raw.to, raw.how});
  }
  for (std::uint32_t i = 0; i < header.functions; ++i) {
    const std::size_t at = sizeof(unit::Header) + i * sizeof(unit::Function);
    const auto raw = copy_of<unit::Function>(bytes.data() + at);
    if (raw.first > header.sites || raw.sites > header.sites - raw.first) {
      bad(fmt::format("function {} has sites {} to {} of {}", i, raw.first,
                      std::uint64_t{raw.first} + raw.sites, header.sites));
      continue;
    }
    if ((raw.flags & unit::kSetMember) != 0) {
      set_members.push_back({text(number, raw.name), text(number, raw.label)});
      continue;
    }
    CapturedFunction function;
    function.name = text(number, raw.name);
    function.address = (address + at) & wire::kPayloadMask;
    function.unit = number;
    function.first = static_cast<std::uint32_t>(first_site) + raw.first;
    function.count = raw.sites;
    function.flags = raw.flags;
    function.label = text(number, raw.label);
    by_address_[function.address] = static_cast<std::uint32_t>(functions.size());
    functions.push_back(function);
  }
}

void CaptureMeta::parse_module(Body body) {
  if (body.size() < 24) return;
  CapturedModule module;
  module.base = load(body.data(), 8);
  module.end = load(body.data() + 8, 8);
  module.instrumented = load(body.data() + 16, 8) != 0;
  module.path = first_text(body.subspan(24));
  for (CapturedModule& old : modules) {
    if (old.base == module.base && old.path == module.path) {
      old.instrumented = old.instrumented || module.instrumented;
      return;
    }
  }
  modules.push_back(std::move(module));
}

void CaptureMeta::parse_thread(Body body) {
  if (body.size() < 16) return;
  const std::uint64_t number = load(body.data(), 8);
  if (number > UINT32_MAX) return;
  threads.emplace_back(static_cast<std::uint32_t>(number), first_text(body.subspan(16)));
}

void CaptureMeta::parse_ended(Body body) {
  if (body.size() < 16) return;
  End end;
  end.ended.signal = load(body.data(), 4) == static_cast<std::uint32_t>(wire::EndHow::kSignal);
  end.ended.number = static_cast<std::uint32_t>(load(body.data() + 4, 4));
  const auto thread = static_cast<std::uint32_t>(load(body.data() + 8, 4));
  if (thread != wire::kNoThread) end.ended.thread = thread;
  end.said_by = static_cast<wire::EndSaidBy>(load(body.data() + 12, 4));
  ends_.push_back(end);
}

/// Who waited for the process knows how it ended; the process itself, which thread did it. One that
/// nobody waited for is believed when it was about to end.
std::optional<Ended> CaptureMeta::ended() const {
  const auto waited = std::ranges::find(ends_, wire::EndSaidBy::kWaiter, &End::said_by);
  for (auto end = ends_.rbegin(); end != ends_.rend(); ++end) {
    if (end->said_by == wire::EndSaidBy::kWaiter) continue;
    if (waited == ends_.end() ? end->said_by == wire::EndSaidBy::kProcess
                              : end->ended.signal == waited->ended.signal &&
                                    end->ended.number == waited->ended.number) {
      return end->ended;
    }
  }
  return waited == ends_.end() ? std::nullopt : std::optional(waited->ended);
}

void CaptureMeta::parse_globals(Body body) {
  for (; body.size() >= 32; body = body.subspan(32)) {
    raw_globals_.push_back({load(body.data(), 8), load(body.data() + 8, 8),
                            load(body.data() + 16, 8),
                            static_cast<std::uint32_t>(load(body.data() + 24, 4))});
  }
}

/// Their units may come after them, so they get their names when those are there.
void CaptureMeta::finish_globals() {
  if (raw_globals_.empty()) return;
  std::erase_if(raw_globals_, [this](const RawGlobal& raw) {
    const auto unit = units_by_address_.find(raw.unit);
    if (unit == units_by_address_.end()) return false;
    if (raw.size == 0 || raw.address > wire::kAddressMask || raw.size > wire::kAddressMask) {
      return true;
    }
    const std::string_view name = text(unit->second, raw.name);
    if (!name.empty()) globals.push_back({raw.address, raw.size, name});
    return true;
  });
  std::stable_sort(
      globals.begin(), globals.end(),
      [](const CapturedGlobal& a, const CapturedGlobal& b) { return a.address < b.address; });
  std::size_t kept = 0;
  for (const CapturedGlobal& global : globals) {
    if (kept > 0 && globals[kept - 1].address + globals[kept - 1].size > global.address) continue;
    globals[kept++] = global;
  }
  globals.resize(kept);
}

std::string_view CaptureMeta::text(std::uint32_t unit, std::uint32_t offset) const {
  const Body bytes = units_[unit].bytes;
  if (offset == 0 || offset >= bytes.size()) return {};
  const auto* const start = reinterpret_cast<const char*>(bytes.data()) + offset;
  const void* const end = std::memchr(start, 0, bytes.size() - offset);
  if (end == nullptr) return {};
  return {start, static_cast<std::size_t>(static_cast<const char*>(end) - start)};
}

std::uint32_t CaptureMeta::program_site(std::uint32_t site) const {
  constexpr int kMostLevels = 64;
  std::uint32_t at = site;
  for (int level = 0; level < kMostLevels && at != 0; ++level) {
    if ((sites[at - 1].flags & unit::kSystemSite) == 0) return at;
    at = sites[at - 1].inlined;
  }
  return site;
}

std::string_view CaptureMeta::string(std::uint64_t number) const {
  const auto at = strings_.find(number);
  return at == strings_.end() ? std::string_view() : at->second;
}

const CapturedGlobal* CaptureMeta::global_at(std::uint64_t address) const {
  const auto after = std::upper_bound(
      globals.begin(), globals.end(), address,
      [](std::uint64_t a, const CapturedGlobal& global) { return a < global.address; });
  if (after == globals.begin()) return nullptr;
  const CapturedGlobal& global = *(after - 1);
  return address - global.address < global.size ? &global : nullptr;
}

const CapturedModule* CaptureMeta::module_at(std::uint64_t address) const {
  for (const CapturedModule& module : modules) {
    if (address >= module.base && address < module.end) return &module;
  }
  return nullptr;
}

std::string_view CaptureMeta::thread_name(std::uint32_t number) const {
  const auto after =
      std::upper_bound(threads.begin(), threads.end(), number,
                       [](std::uint32_t n, const auto& thread) { return n < thread.first; });
  if (after == threads.begin() || (after - 1)->first != number) return {};
  return (after - 1)->second;
}

}  // namespace syndrome::trace
