#include "trace/syn_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>

namespace syndrome::trace {
namespace {

// The payload's first 16 bytes.
constexpr std::size_t kPreludeBytes = 16;
constexpr std::uint8_t kPlain = 0;
constexpr std::uint8_t kSteps = 1;

// Events are put together in blocks whose numbers stay in the first-level cache.
constexpr std::size_t kBlock = 512;

constexpr std::array<std::string_view, kSpaceCount> kSpaceWords = {
    "thread", "variable", "lock", "barrier", "semaphore", "condition", "label", "site", "type"};

// A slot for each space in which a thread remembers its last target; kinds without a target use the
// one of types, which are no target of any kind.
constexpr std::size_t slot_of(EventKind kind) {
  return static_cast<std::size_t>(target_space(kind).value_or(Space::kType));
}
constexpr auto kSlots = [] {
  std::array<std::uint8_t, kEventKindCount> slots{};
  for (std::size_t i = 0; i < kEventKindCount; ++i) {
    slots[i] = static_cast<std::uint8_t>(slot_of(static_cast<EventKind>(i)));
  }
  return slots;
}();

std::uint32_t limit_of(EventKind kind, const NameCounts& names) {
  const auto space = target_space(kind);
  if (!space) return 1;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(names[static_cast<std::size_t>(*space)], UINT32_MAX));
}

// Differences of either sign as small numbers: 0, -1, 1, -2, …
constexpr std::uint32_t zigzag(std::uint32_t difference) {
  return (difference << 1) ^ (0u - (difference >> 31));
}
constexpr std::uint32_t unzigzag(std::uint32_t coded) {
  return (coded >> 1) ^ (0u - (coded & 1));
}
static_assert(unzigzag(zigzag(0x80000000u)) == 0x80000000u && zigzag(0u - 1u) == 1);

unsigned bytes_for(std::uint32_t greatest) {
  return (static_cast<unsigned>(std::bit_width(greatest)) + 7) / 8;
}

}  // namespace

std::optional<std::string> fault_of(const Event& event, const NameCounts& names) {
  const auto kind = static_cast<std::size_t>(event.kind);
  if (kind >= kEventKindCount) return fmt::format("there is no event kind {}", kind);
  const auto check = [&](Space space, std::uint32_t id) -> std::optional<std::string> {
    const auto index = static_cast<std::size_t>(space);
    if (id < names[index]) return std::nullopt;
    return fmt::format("{} {} has no name: the trace has named {} so far", kSpaceWords[index], id,
                       names[index]);
  };
  if (auto fault = check(Space::kThread, event.thread.value)) return fault;
  if (auto fault = check(Space::kSite, event.site.value)) return fault;
  if (const auto space = target_space(event.kind)) return check(*space, event.target);
  if (event.target != 0) {
    return fmt::format("{} has no target, found {}", name_of(event.kind), event.target);
  }
  return std::nullopt;
}

std::optional<std::size_t> first_fault(std::span<const Event> events, const NameCounts& names) {
  std::array<std::uint32_t, 256> limits{};  // 0 for kinds that do not exist
  for (std::size_t kind = 0; kind < kEventKindCount; ++kind) {
    limits[kind] = limit_of(static_cast<EventKind>(kind), names);
  }
  const std::uint64_t threads = names[static_cast<std::size_t>(Space::kThread)];
  const std::uint64_t sites = names[static_cast<std::size_t>(Space::kSite)];
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (event.target >= limits[static_cast<std::size_t>(event.kind)] ||
        event.thread.value >= threads || event.site.value >= sites) {
      return i;
    }
  }
  return std::nullopt;
}

// Encoding.

void EventEncoder::find_threads(std::span<const Event> events) {
  for (const std::uint32_t thread : threads_) kinds_[thread] = 0;
  threads_.clear();
  for (const Event& event : events) {
    const std::uint32_t thread = event.thread.value;
    if (thread >= kinds_.size()) {
      const std::size_t size = std::max<std::size_t>(thread + std::size_t{1}, 2 * kinds_.size());
      kinds_.resize(size);
      first_code_.resize(size);
      number_.resize(size);
    }
    if (kinds_[thread] == 0) threads_.push_back(thread);
    kinds_[thread] |= 1u << static_cast<unsigned>(event.kind);
  }
  std::sort(threads_.begin(), threads_.end());
  pairs_ = 0;
  for (std::uint32_t i = 0; i < threads_.size(); ++i) {
    const std::uint32_t thread = threads_[i];
    number_[thread] = i;
    first_code_[thread] = pairs_;
    pairs_ += static_cast<std::uint32_t>(std::popcount(kinds_[thread]));
  }
}

void EventEncoder::encode_columns(std::span<const Event> events) {
  for (auto* column : {&codes_, &targets_, &target_steps_, &sites_, &site_steps_}) {
    column->resize(events.size());
  }
  last_target_.assign(threads_.size() * kSpaceCount, 0);
  last_site_.assign(pairs_, 0);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const std::uint32_t thread = event.thread.value;
    const auto kind = static_cast<unsigned>(event.kind);
    const std::uint32_t code =
        first_code_[thread] +
        static_cast<std::uint32_t>(std::popcount(kinds_[thread] & ((1u << kind) - 1)));
    codes_[i] = code;
    std::uint32_t& last_target = last_target_[number_[thread] * kSpaceCount + kSlots[kind]];
    targets_[i] = event.target;
    target_steps_[i] = zigzag(event.target - last_target);
    last_target = event.target;
    sites_[i] = event.site.value;
    site_steps_[i] = zigzag(event.site.value - last_site_[code]);
    last_site_[code] = event.site.value;
  }
}

void EventEncoder::pack(std::span<const std::uint32_t> values, unsigned width,
                        std::vector<std::byte>& out) {
  plane_.resize(values.size());
  for (unsigned plane = 0; plane < width; ++plane) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      plane_[i] = static_cast<std::byte>((values[i] >> (8 * plane)) & 0xff);
    }
    sections_.add(plane_, out);
  }
}

EventEncoder::Column EventEncoder::pack_smaller(std::span<const std::uint32_t> plain,
                                                std::span<const std::uint32_t> steps) {
  Column a{kPlain, static_cast<std::uint8_t>(bytes_for(*std::ranges::max_element(plain))), {}};
  pack(plain, a.width, a.sections);
  if (a.width == 0) return a;
  Column b{kSteps, static_cast<std::uint8_t>(bytes_for(*std::ranges::max_element(steps))), {}};
  pack(steps, b.width, b.sections);
  // Steps take half as long again to read (docs/performance.md): they have to save one byte in 32.
  const bool worth_it = b.sections.size() < a.sections.size() - a.sections.size() / 32;
  return worth_it ? std::move(b) : std::move(a);
}

void EventEncoder::encode(std::span<const Event> events, std::vector<std::byte>& payload,
                          ChunkHeader& header) {
  assert(!events.empty() && events.size() <= kMaxChunkEvents);
  find_threads(events);
  encode_columns(events);
  const unsigned code_width = std::max(1u, bytes_for(pairs_ - 1));
  const Column target = pack_smaller(targets_, target_steps_);
  const Column site = pack_smaller(sites_, site_steps_);

  std::vector<std::byte> table;
  std::uint32_t next = 0;
  for (const std::uint32_t thread : threads_) {
    add_varint(thread - next, table);
    add_varint(kinds_[thread], table);
    next = thread + 1;
  }

  const std::size_t start = payload.size();
  payload.resize(start + kPreludeBytes);
  std::byte* const prelude = payload.data() + start;
  store(prelude + 0, 1, code_width);
  store(prelude + 1, 1, target.coding);
  store(prelude + 2, 1, target.width);
  store(prelude + 3, 1, site.coding);
  store(prelude + 4, 1, site.width);
  store(prelude + 5, 3, 0);
  store(prelude + 8, 4, threads_.size());
  store(prelude + 12, 4, table.size());
  sections_.add(table, payload);
  pack(codes_, code_width, payload);
  payload.insert(payload.end(), target.sections.begin(), target.sections.end());
  payload.insert(payload.end(), site.sections.begin(), site.sections.end());

  header.count = static_cast<std::uint32_t>(events.size());
  header.raw = static_cast<std::uint32_t>(table.size() +
                                          events.size() * (code_width + target.width + site.width));
}

// Decoding.

namespace {

/// One column's planes, of which `width` are there.
struct Planes {
  std::array<const std::byte*, 4> plane{};
  unsigned width = 0;

  /// The values from `begin` on, `count` of them.
  void join(std::size_t begin, std::size_t count, std::uint32_t* out) const {
    switch (width) {
      case 0: std::fill_n(out, count, 0u); return;
      case 1: join_all<1>(begin, count, out); return;
      case 2: join_all<2>(begin, count, out); return;
      case 3: join_all<3>(begin, count, out); return;
      default: join_all<4>(begin, count, out); return;
    }
  }

 private:
  template <unsigned kWidth>
  void join_all(std::size_t begin, std::size_t count, std::uint32_t* __restrict out) const {
    std::array<const std::uint8_t*, kWidth> from;
    for (unsigned p = 0; p < kWidth; ++p) {
      from[p] = reinterpret_cast<const std::uint8_t*>(plane[p]) + begin;
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t value = from[0][i];
      for (unsigned p = 1; p < kWidth; ++p) value |= std::uint32_t{from[p][i]} << (8 * p);
      out[i] = value;
    }
  }
};

}  // namespace

struct EventDecoder::Columns {
  Planes codes, targets, sites;
  std::uint32_t site_limit = 0;
};

bool EventDecoder::read_pairs(Bytes table, std::uint32_t threads, const NameCounts& names,
                              std::uint32_t max_pairs) {
  std::array<std::uint32_t, kEventKindCount> limits{};
  for (std::size_t kind = 0; kind < kEventKindCount; ++kind) {
    limits[kind] = limit_of(static_cast<EventKind>(kind), names);
  }
  pairs_.clear();
  std::uint64_t next = 0;
  for (std::uint32_t i = 0; i < threads; ++i) {
    const auto gap = take_varint(table);
    const auto kinds = take_varint(table);
    if (!gap || !kinds || *kinds == 0 || (*kinds >> kEventKindCount) != 0) return false;
    if (*gap > UINT32_MAX) return false;
    const std::uint64_t thread = next + *gap;
    if (thread >= names[static_cast<std::size_t>(Space::kThread)]) return false;
    next = thread + 1;
    for (auto rest = static_cast<std::uint32_t>(*kinds); rest != 0; rest &= rest - 1) {
      const auto kind = static_cast<std::uint32_t>(std::countr_zero(rest));
      pairs_.push_back({static_cast<std::uint32_t>(thread), kind, limits[kind],
                        static_cast<std::uint32_t>(i * kSpaceCount + kSlots[kind])});
    }
    if (pairs_.size() > max_pairs) return false;
  }
  return table.empty();
}

template <bool kTargetSteps, bool kSiteSteps>
bool EventDecoder::combine(const Columns& columns, std::span<Event> out) {
  std::array<std::uint32_t, kBlock> codes, targets, sites;
  const Pair* const pairs = pairs_.data();
  const auto last_code = static_cast<std::uint32_t>(pairs_.size() - 1);
  std::uint32_t* const last_target = last_target_.data();
  std::uint32_t* const last_site = last_site_.data();
  bool good = true;
  for (std::size_t begin = 0; begin < out.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, out.size() - begin);
    columns.codes.join(begin, count, codes.data());
    columns.targets.join(begin, count, targets.data());
    columns.sites.join(begin, count, sites.data());
    Event* const events = out.data() + begin;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t code = std::min(codes[i], last_code);
      const Pair& pair = pairs[code];
      std::uint32_t target = targets[i];
      std::uint32_t site = sites[i];
      if constexpr (kTargetSteps) {
        target = last_target[pair.last_target] += unzigzag(target);
      }
      if constexpr (kSiteSteps) site = last_site[code] += unzigzag(site);
      good &= (target < pair.limit) & (site < columns.site_limit);
      events[i] = Event{
          ThreadId(pair.thread), target, SiteId(site), static_cast<EventKind>(pair.kind), 0, 0};
    }
  }
  return good;
}

std::optional<std::string> EventDecoder::decode(const ChunkHeader& header, Bytes payload,
                                                const NameCounts& names, std::span<Event> out) {
  assert(out.size() == header.count && header.count <= kMaxChunkEvents);
  if (payload.size() < kPreludeBytes) return "the chunk has no prelude";
  const std::byte* const prelude = payload.data();
  const auto code_width = static_cast<unsigned>(load(prelude + 0, 1));
  const auto target_coding = load(prelude + 1, 1);
  const auto target_width = static_cast<unsigned>(load(prelude + 2, 1));
  const auto site_coding = load(prelude + 3, 1);
  const auto site_width = static_cast<unsigned>(load(prelude + 4, 1));
  const auto threads = static_cast<std::uint32_t>(load(prelude + 8, 4));
  const auto table_bytes = static_cast<std::size_t>(load(prelude + 12, 4));
  payload = payload.subspan(kPreludeBytes);
  if (code_width < 1 || code_width > 3 || target_width > 4 || site_width > 4 ||
      target_coding > kSteps || site_coding > kSteps || load(prelude + 5, 3) != 0) {
    return "the columns have a width or a coding that this version does not have";
  }
  const std::size_t count = header.count;
  const unsigned planes = code_width + target_width + site_width;
  if (table_bytes > kMaxChunkBytes || header.raw != table_bytes + count * planes) {
    return fmt::format("the header promises {} bytes unpacked, the columns have {}", header.raw,
                       table_bytes + count * planes);
  }
  if (threads == 0 || threads > count) {
    return fmt::format("{} threads for {} events", threads, count);
  }

  if (room_.size() < header.raw) room_.resize(header.raw);
  std::byte* room = room_.data();
  const std::byte* const table = sections_.next(payload, table_bytes, room);
  if (table == nullptr) return "the table of threads does not unpack";
  if (!read_pairs(Bytes(table, table_bytes), threads, names, header.count)) {
    return "the table of threads has a thread without a name, or a kind that does not exist";
  }
  room += table_bytes;

  Columns columns;
  columns.codes.width = code_width;
  columns.targets.width = target_width;
  columns.sites.width = site_width;
  for (Planes* column : {&columns.codes, &columns.targets, &columns.sites}) {
    for (unsigned p = 0; p < column->width; ++p, room += count) {
      column->plane[p] = sections_.next(payload, count, room);
      if (column->plane[p] == nullptr)
        return "a column does not unpack to one value for each event";
    }
  }
  if (!payload.empty()) return fmt::format("{} bytes follow the last column", payload.size());
  columns.site_limit = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(names[static_cast<std::size_t>(Space::kSite)], UINT32_MAX));

  pairs_.push_back(Pair{});  // for codes out of range: its limit is 0, so no target is below
  last_target_.assign(threads * kSpaceCount, 0);
  last_site_.assign(pairs_.size(), 0);
  const bool good = target_coding == kSteps
                        ? (site_coding == kSteps ? combine<true, true>(columns, out)
                                                 : combine<true, false>(columns, out))
                        : (site_coding == kSteps ? combine<false, true>(columns, out)
                                                 : combine<false, false>(columns, out));
  if (good) return std::nullopt;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (auto fault = fault_of(out[i], names)) {
      return fmt::format("event {}: {}", header.first + i, *fault);
    }
  }
  return "an event has a code that the table of threads does not have";
}

}  // namespace syndrome::trace
