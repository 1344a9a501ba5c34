#include "trace/syn_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <tuple>
#include <utility>

namespace syndrome::trace {
namespace {

// The payload's first 16 bytes.
constexpr std::size_t kPreludeBytes = 16;

// All codings are tried once in so many chunks, and the best is kept until then: trying them at
// every chunk would compress everything twice and more.
constexpr std::uint64_t kTryEvery = 16;

// Events are put together in blocks whose numbers stay in the first-level cache.
constexpr std::size_t kBlock = 512;

constexpr std::array<std::string_view, kSpaceCount> kSpaceWords = {
    "thread", "variable", "lock", "barrier", "semaphore", "condition", "label", "site", "object"};

// A slot for each space in which a thread remembers its last target; kinds without a target use the
// one of sites, which are no target of any kind.
constexpr std::size_t slot_of(EventKind kind) {
  return static_cast<std::size_t>(target_space(kind).value_or(Space::kSite));
}
constexpr auto kSlotOf = [] {
  std::array<std::uint8_t, kEventKindCount> slots{};
  for (std::size_t i = 0; i < kEventKindCount; ++i) {
    slots[i] = static_cast<std::uint8_t>(slot_of(static_cast<EventKind>(i)));
  }
  return slots;
}();

// A kind with an order has a number of its own in the table of threads. Numbers from 40 on are left
// to them, so that they stay as they are when event.h gets more kinds.
constexpr unsigned kFirstOrdered = 40;
constexpr std::array<EventKind, 4> kOrdered = {EventKind::kRead, EventKind::kWrite, EventKind::kRmw,
                                               EventKind::kFence};
static_assert(kEventKindCount <= kFirstOrdered);
static_assert(kFirstOrdered + kOrdered.size() * (kMemoryOrderCount - 1) <= 64);
constexpr unsigned kNoNumber = 64;

// By kind * 8 + order.
constexpr auto kNumbers = [] {
  static_assert(kMemoryOrderCount <= 8);
  std::array<std::uint8_t, kEventKindCount * 8> numbers{};
  numbers.fill(kNoNumber);
  for (std::size_t i = 0; i < kEventKindCount; ++i) numbers[i * 8] = static_cast<std::uint8_t>(i);
  for (std::size_t i = 0; i < kOrdered.size(); ++i) {
    for (std::size_t order = 1; order < kMemoryOrderCount; ++order) {
      if (word_of(kOrdered[i], static_cast<MemoryOrder>(order)).empty()) continue;
      numbers[static_cast<std::size_t>(kOrdered[i]) * 8 + order] =
          static_cast<std::uint8_t>(kFirstOrdered + i * (kMemoryOrderCount - 1) + order - 1);
    }
  }
  return numbers;
}();

struct Kind {
  EventKind kind = EventKind::kRead;
  MemoryOrder order = MemoryOrder::kPlain;
  bool exists = false;
};
// What a number stands for.
constexpr auto kKinds = [] {
  std::array<Kind, 64> kinds{};
  for (std::size_t i = 0; i < kNumbers.size(); ++i) {
    if (kNumbers[i] == kNoNumber) continue;
    kinds[kNumbers[i]] = {static_cast<EventKind>(i / 8), static_cast<MemoryOrder>(i % 8), true};
  }
  return kinds;
}();

/// Of an event without fault.
unsigned number_of(const Event& event) {
  return kNumbers[static_cast<std::size_t>(event.kind) * 8 + static_cast<std::size_t>(event.order)];
}

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
  if (word_of(event.kind, event.order).empty()) {
    return fmt::format("{} cannot have memory order {}", name_of(event.kind),
                       static_cast<unsigned>(event.order));
  }
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
    // A kind that does not exist has limit 0, so its order is not looked up.
    if (event.target >= limits[static_cast<std::size_t>(event.kind)] ||
        (event.order != MemoryOrder::kPlain && word_of(event.kind, event.order).empty()) ||
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
    kinds_[thread] |= std::uint64_t{1} << number_of(event);
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

void EventEncoder::fill_codes(std::span<const Event> events) {
  codes_.resize(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::uint32_t thread = events[i].thread.value;
    const std::uint64_t below = (std::uint64_t{1} << number_of(events[i])) - 1;
    codes_[i] =
        first_code_[thread] + static_cast<std::uint32_t>(std::popcount(kinds_[thread] & below));
  }
}

void EventEncoder::fill_targets(std::span<const Event> events, Coding coding) {
  if (coding == Coding::kPlain) {
    for (std::size_t i = 0; i < events.size(); ++i) values_[i] = events[i].target;
    return;
  }
  last_.assign(threads_.size() * kSpaceCount, 0);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    std::uint32_t& last = last_[number_[event.thread.index()] * kSpaceCount +
                                kSlotOf[static_cast<std::size_t>(event.kind)]];
    values_[i] = zigzag(event.target - last);
    last = event.target;
  }
}

void EventEncoder::fill_sites(std::span<const Event> events, Coding coding) {
  if (coding == Coding::kPlain) {
    for (std::size_t i = 0; i < events.size(); ++i) values_[i] = events[i].site.value;
    return;
  }
  last_.assign(pairs_, 0);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    std::uint32_t& last =
        last_[coding == Coding::kSteps ? number_[event.thread.index()] : codes_[i]];
    values_[i] = zigzag(event.site.value - last);
    last = event.site.value;
  }
}

void EventEncoder::pack(unsigned width, std::vector<std::byte>& out) {
  plane_.resize(values_.size());
  for (unsigned plane = 0; plane < width; ++plane) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      plane_[i] = static_cast<std::byte>((values_[i] >> (8 * plane)) & 0xff);
    }
    sections_.add(plane_, out);
  }
}

template <class Fill>
void EventEncoder::pack_best(Column& column, const Fill& fill) {
  const auto pack_as = [&](Coding coding) {
    fill(coding);
    const unsigned width = bytes_for(*std::ranges::max_element(values_));
    std::vector<std::byte> sections;
    pack(width, sections);
    return std::pair(width, std::move(sections));
  };
  const bool try_all = chunks_ % kTryEvery == 0;
  if (try_all) column.coding = column.codings.front();
  std::tie(column.width, column.sections) = pack_as(column.coding);
  if (!try_all) return;
  for (const Coding coding : column.codings) {
    if (coding == column.codings.front()) continue;
    auto [width, sections] = pack_as(coding);
    // Plain ones, which come first, are the quickest to read: others have to save one byte in 32.
    if (sections.size() >= column.sections.size() - column.sections.size() / 32) continue;
    column.coding = coding;
    column.width = width;
    column.sections = std::move(sections);
  }
}

void EventEncoder::encode(std::span<const Event> events, std::vector<std::byte>& payload,
                          ChunkHeader& header) {
  assert(!events.empty() && events.size() <= kMaxChunkEvents);
  find_threads(events);
  fill_codes(events);
  values_.resize(events.size());
  pack_best(target_, [&](Coding coding) { fill_targets(events, coding); });
  pack_best(site_, [&](Coding coding) { fill_sites(events, coding); });
  ++chunks_;
  const unsigned code_width = std::max(1u, bytes_for(pairs_ - 1));

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
  store(prelude + 1, 1, static_cast<std::uint64_t>(target_.coding));
  store(prelude + 2, 1, target_.width);
  store(prelude + 3, 1, static_cast<std::uint64_t>(site_.coding));
  store(prelude + 4, 1, site_.width);
  store(prelude + 5, 3, 0);
  store(prelude + 8, 4, threads_.size());
  store(prelude + 12, 4, table.size());
  sections_.add(table, payload);
  std::swap(values_, codes_);
  pack(code_width, payload);
  payload.insert(payload.end(), target_.sections.begin(), target_.sections.end());
  payload.insert(payload.end(), site_.sections.begin(), site_.sections.end());

  header.count = static_cast<std::uint32_t>(events.size());
  header.raw = static_cast<std::uint32_t>(
      table.size() + events.size() * (code_width + target_.width + site_.width));
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
  void join_all(std::size_t begin, std::size_t count, std::uint32_t* out) const {
    // For a number of values known to the compiler it uses vectors.
    if (count == kBlock) {
      join_some<kWidth>(begin, kBlock, out);
    } else {
      join_some<kWidth>(begin, count, out);
    }
  }

  template <unsigned kWidth>
  [[gnu::always_inline]] void join_some(std::size_t begin, std::size_t count,
                                        std::uint32_t* __restrict out) const {
    const auto from = [&](unsigned p) {
      return reinterpret_cast<const std::uint8_t*>(plane[p]) + begin;
    };
    const std::uint8_t* const a = from(0);
    const std::uint8_t* const b = from(kWidth > 1 ? 1 : 0);
    const std::uint8_t* const c = from(kWidth > 2 ? 2 : 0);
    const std::uint8_t* const d = from(kWidth > 3 ? 3 : 0);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t value = a[i];
      if constexpr (kWidth > 1) value |= std::uint32_t{b[i]} << 8;
      if constexpr (kWidth > 2) value |= std::uint32_t{c[i]} << 16;
      if constexpr (kWidth > 3) value |= std::uint32_t{d[i]} << 24;
      out[i] = value;
    }
  }
};

/// An event is stored as two numbers rather than as six fields, which takes a third of the stores.
struct Halves {
  std::uint64_t thread_target;
  std::uint64_t site_kind;
};
static_assert(std::endian::native == std::endian::little && offsetof(Event, target) == 4 &&
              offsetof(Event, site) == 8 && offsetof(Event, kind) == 12 &&
              sizeof(Event) == sizeof(Halves));

}  // namespace

struct EventDecoder::Columns {
  Planes codes, targets, sites;
  std::uint32_t site_limit = 0;
};

bool EventDecoder::read_pairs(Bytes table, std::uint32_t threads, const NameCounts& names,
                              std::uint32_t max_pairs, Coding site_coding) {
  std::array<std::uint32_t, kEventKindCount> limits{};
  for (std::size_t kind = 0; kind < kEventKindCount; ++kind) {
    limits[kind] = limit_of(static_cast<EventKind>(kind), names);
  }
  pairs_.clear();
  std::uint64_t next = 0;
  for (std::uint32_t i = 0; i < threads; ++i) {
    const auto gap = take_varint(table);
    const auto kinds = take_varint(table);
    if (!gap || !kinds || *kinds == 0) return false;
    if (*gap > UINT32_MAX) return false;
    const std::uint64_t thread = next + *gap;
    if (thread >= names[static_cast<std::size_t>(Space::kThread)]) return false;
    next = thread + 1;
    for (std::uint64_t rest = *kinds; rest != 0; rest &= rest - 1) {
      const Kind what = kKinds[static_cast<std::size_t>(std::countr_zero(rest))];
      if (!what.exists) return false;
      const auto kind = static_cast<std::size_t>(what.kind);
      const auto code = static_cast<std::uint32_t>(pairs_.size());
      pairs_.push_back({static_cast<std::uint32_t>(thread), what.kind, what.order, limits[kind],
                        static_cast<std::uint32_t>(i * kSpaceCount + kSlotOf[kind]),
                        site_coding == Coding::kSteps ? i : code});
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
      const Pair& pair = pairs[std::min(codes[i], last_code)];
      std::uint32_t target = targets[i];
      std::uint32_t site = sites[i];
      if constexpr (kTargetSteps) {
        target = last_target[pair.last_target] += unzigzag(target);
      }
      if constexpr (kSiteSteps) site = last_site[pair.last_site] += unzigzag(site);
      good &= (target < pair.limit) & (site < columns.site_limit);
      events[i] = Event{ThreadId(pair.thread), target, SiteId(site), pair.kind, 0, pair.order, 0};
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
  const auto target_coding = static_cast<Coding>(load(prelude + 1, 1));
  const auto target_width = static_cast<unsigned>(load(prelude + 2, 1));
  const auto site_coding = static_cast<Coding>(load(prelude + 3, 1));
  const auto site_width = static_cast<unsigned>(load(prelude + 4, 1));
  const auto threads = static_cast<std::uint32_t>(load(prelude + 8, 4));
  const auto table_bytes = static_cast<std::size_t>(load(prelude + 12, 4));
  payload = payload.subspan(kPreludeBytes);
  if (code_width < 1 || code_width > 3 || target_width > 4 || site_width > 4 ||
      target_coding > Coding::kSteps || site_coding > Coding::kStepsOfKind ||
      load(prelude + 5, 3) != 0) {
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
  if (!read_pairs(Bytes(table, table_bytes), threads, names, header.count, site_coding)) {
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
  const bool target_steps = target_coding != Coding::kPlain;
  const bool site_steps = site_coding != Coding::kPlain;
  const bool good = target_steps && site_steps ? combine<true, true>(columns, out)
                    : target_steps             ? combine<true, false>(columns, out)
                    : site_steps               ? combine<false, true>(columns, out)
                                               : combine<false, false>(columns, out);
  if (good) return std::nullopt;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (auto fault = fault_of(out[i], names)) {
      return fmt::format("event {}: {}", header.first + i, *fault);
    }
  }
  return "an event has a code that the table of threads does not have";
}

}  // namespace syndrome::trace
