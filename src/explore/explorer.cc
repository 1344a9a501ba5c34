#include "explore/explorer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <map>
#include <optional>
#include <utility>

namespace syndrome::explore {
namespace {

bool is_write(EventKind kind) {
  return kind == EventKind::kWrite || kind == EventKind::kRmw;
}

Lane* lane_of(View& view, ThreadId thread, ThreadId first) {
  const std::size_t i = thread.index() - first.index();
  return thread >= first && i < view.lanes.size() ? &view.lanes[i] : nullptr;
}

View empty_view(EventNumber first, std::uint64_t width, std::size_t columns, ThreadId thread,
                std::size_t threads) {
  View view;
  view.first = first;
  view.width = width;
  view.events.resize(columns);
  view.waited.resize(columns);
  for (std::size_t i = 0; i < threads; ++i) {
    const auto zeros = [columns] { return std::vector<std::uint64_t>(columns); };
    view.lanes.push_back({ThreadId(thread.index() + i), zeros(), zeros(), zeros(), zeros()});
  }
  return view;
}

/// Adds what a wait has in each column. Column i begins at first + i * width.
void add_wait(const Wait& wait, Range range, View& view, Lane* lane) {
  EventNumber at = std::max({wait.after + 1, range.from, view.first});
  const EventNumber end = std::min(wait.until, view.first + view.width * view.events.size());
  while (at < end) {
    const std::size_t column = (at - view.first) / view.width;
    const EventNumber until = std::min(end, view.first + (column + 1) * view.width);
    view.waited[column] += until - at;
    if (lane != nullptr) lane->waited[column] += until - at;
    at = until;
  }
}

/// Fills a view whose columns are buckets of the level.
void add_level(const Level& level, View& view, ThreadId first) {
  const std::size_t begin = (view.first - 1) / level.width;
  for (std::size_t column = 0; column < view.events.size(); ++column) {
    for (const Count& each : level.bucket(begin + column)) {
      const std::uint32_t fact = fact_of(each.key);
      Lane* const lane = lane_of(view, thread_of(each.key), first);
      if (fact < kEventKindCount) {
        view.events[column] += each.count;
        if (lane == nullptr) continue;
        lane->events[column] += each.count;
        if (is_write(static_cast<EventKind>(fact))) lane->writes[column] += each.count;
      } else if (fact == kWaited) {
        view.waited[column] += each.count;
        if (lane != nullptr) lane->waited[column] += each.count;
      } else if (fact == kInside && lane != nullptr) {
        lane->inside[column] += each.count;
      }
    }
  }
}

}  // namespace

Explorer::Explorer(Opened opened)
    : index_(std::move(opened.index)),
      file_(std::move(opened.events)),
      levels_(pyramid(std::move(index_.base))) {}

/// Leads the events of the range, and those around it up to the next checkpoints, past
/// `take(number, event, seen, follower)`, and every wait that is in the range past `on_wait`,
/// beside some that are not.
template <class Take, class OnWait>
Status Explorer::walk(Range range, Take take, OnWait on_wait) {
  const std::uint64_t start = (range.from - 1) / index_.stride;
  const EventNumber begin = start * index_.stride + 1;
  const std::uint64_t stop = (range.to - 1 + index_.stride - 1) / index_.stride;
  const bool to_end = stop >= index_.checkpoints.size();
  const EventNumber end = to_end ? index_.events + 1 : stop * index_.stride + 1;
  Follower follower;
  for (const OpenBlock& block : index_.checkpoints[start].blocks) follower.reopen(block);
  for (const Wait& wait : index_.checkpoints[start].waits) on_wait(wait);
  const Status status = file_->each(begin, end, [&](EventNumber number, const Event& event) {
    const Follower::Seen seen = follower.take(number, event);
    if (seen.waited_after != 0) on_wait({event.thread, event.lock(), seen.waited_after, number});
    take(number, event, seen, follower);
    return true;
  });
  if (!status || to_end || stop == start) return status;
  // Those that began here and end further on. The ones that were there from the start are known.
  for (const Wait& wait : index_.checkpoints[stop].waits) {
    if (wait.after >= begin) on_wait(wait);
  }
  return {};
}

Result<View> Explorer::view(Range range, std::uint64_t columns, ThreadId first,
                            std::size_t threads) {
  assert(range.from >= 1 && range.from <= range.to && range.to <= index_.events + 1);
  const std::uint64_t size = range.to - range.from;
  const std::uint64_t wanted =
      std::max<std::uint64_t>(1, size / std::max<std::uint64_t>(1, columns));
  threads = std::min<std::size_t>(
      threads, index_.threads - std::min<std::size_t>(index_.threads, first.index()));
  if (size > kMostWalked || wanted >= levels_.front().width) {
    const Level* level = &levels_.front();
    for (const Level& each : levels_) {
      if (each.width <= wanted) level = &each;
    }
    const std::uint64_t from = (range.from - 1) / level->width;
    const std::uint64_t to = (range.to - 1 + level->width - 1) / level->width;
    View view = empty_view(from * level->width + 1, level->width, to - from, first, threads);
    add_level(*level, view, first);
    return view;
  }
  const std::uint64_t width = std::bit_floor(wanted);
  // Columns of one width are at the same places whatever the range is.
  const std::uint64_t from = (range.from - 1) / width;
  const std::uint64_t to = (range.to - 1 + width - 1) / width;
  View view = empty_view(from * width + 1, width, to - from, first, threads);
  const Range whole{view.first, std::min(view.first + width * (to - from), index_.events + 1)};
  const Status status = walk(
      whole,
      [&](EventNumber number, const Event& event, const Follower::Seen& seen, const Follower&) {
        if (number < whole.from || number >= whole.to) return;
        const std::size_t column = (number - view.first) / width;
        ++view.events[column];
        Lane* const lane = lane_of(view, event.thread, first);
        if (lane == nullptr) return;
        ++lane->events[column];
        if (is_write(event.kind)) ++lane->writes[column];
        if (seen.inside) ++lane->inside[column];
      },
      [&](const Wait& wait) { add_wait(wait, whole, view, lane_of(view, wait.thread, first)); });
  if (!status) return status.error();
  return view;
}

Result<Spans> Explorer::spans(Range range) {
  assert(range.from >= 1 && range.from <= range.to && range.to <= index_.events + 1);
  assert(range.to - range.from <= kMostSpanned);
  Spans spans;
  if (range.from == range.to) return spans;
  std::map<ThreadId, BlockSpan> open;
  for (const OpenBlock& each : index_.checkpoints[(range.from - 1) / index_.stride].blocks) {
    open[each.thread] = {each.thread, each.begin, 0, each.label};
  }
  const auto overlaps = [&range](EventNumber begin, EventNumber end) {
    return begin < range.to && end >= range.from;
  };
  const Status status = walk(
      range,
      [&](EventNumber number, const Event& event, const Follower::Seen& seen,
          const Follower& follower) {
        if (!seen.inside) return;
        if (seen.ends_block) {
          const OpenBlock block = follower.block_of(event.thread);
          if (overlaps(block.begin, number)) {
            spans.blocks.push_back({event.thread, block.begin, number, block.label});
          }
          open.erase(event.thread);
        } else if (event.kind == EventKind::kBegin) {
          const OpenBlock block = follower.block_of(event.thread);
          open[event.thread] = {event.thread, block.begin, 0, block.label};
        }
      },
      [&](const Wait& wait) {
        if (wait.until > wait.after + 1 && overlaps(wait.after + 1, wait.until - 1)) {
          spans.waits.push_back(wait);
        }
      });
  if (!status) return status.error();
  for (const auto& [thread, block] : open) {
    if (block.begin < range.to) spans.blocks.push_back(block);
  }
  std::ranges::sort(spans.blocks, {}, &BlockSpan::begin);
  std::ranges::sort(spans.waits, {}, &Wait::until);
  return spans;
}

Result<std::vector<std::pair<std::uint32_t, std::uint64_t>>> Explorer::counts(Range range) {
  assert(range.from >= 1 && range.from <= range.to && range.to <= index_.events + 1);
  std::map<std::uint32_t, std::uint64_t> sums;
  const Level& base = levels_.front();
  const auto walk_over = [&](Range part) -> Status {
    if (part.from >= part.to) return {};
    return walk(
        part,
        [&](EventNumber number, const Event& event, const Follower::Seen& seen, const Follower&) {
          if (number < part.from || number >= part.to) return;
          ++sums[key_of(event.thread, static_cast<std::uint32_t>(event.kind))];
          if (seen.inside) ++sums[key_of(event.thread, kInside)];
        },
        [&](const Wait& wait) {
          if (wait.until >= part.from && wait.until < part.to) ++sums[key_of(wait.thread, kWaits)];
          const EventNumber from = std::max(wait.after + 1, part.from);
          const EventNumber to = std::min(wait.until, part.to);
          if (from < to) sums[key_of(wait.thread, kWaited)] += to - from;
        });
  };
  // Whole buckets in the middle, single events at both ends.
  const std::uint64_t first = (range.from - 1 + base.width - 1) / base.width;
  const std::uint64_t last = (range.to - 1) / base.width;
  if (first >= last) {
    if (const Status status = walk_over(range); !status) return status.error();
  } else {
    for (std::uint64_t i = first; i < last; ++i) {
      for (const Count& each : base.bucket(i)) sums[each.key] += each.count;
    }
    for (const Range part :
         {Range{range.from, first * base.width + 1}, Range{last * base.width + 1, range.to}}) {
      if (const Status status = walk_over(part); !status) return status.error();
    }
  }
  return std::vector<std::pair<std::uint32_t, std::uint64_t>>(sums.begin(), sums.end());
}

/// Whether it is worth looking at the events of the block, which are those of a sketch.
bool Explorer::may_have(Space space, std::uint32_t id, std::uint64_t block) const {
  if (space == Space::kSite) return true;
  if (space != Space::kThread) return index_.sketches[block].may_have(Sketch::hash(space, id));
  const Level& base = levels_.front();
  const std::uint64_t from = block * kSketchEvents / base.width;
  const std::uint64_t to = std::min<std::uint64_t>(
      base.size(),
      (std::min((block + 1) * kSketchEvents, index_.events) + base.width - 1) / base.width);
  const std::uint32_t key = key_of(ThreadId(id), 0);
  for (std::uint64_t i = from; i < to; ++i) {
    const std::span<const Count> bucket = base.bucket(i);
    const auto at = std::ranges::lower_bound(bucket, key, {}, &Count::key);
    if (at != bucket.end() && at->key < key + kEventKindCount) return true;
  }
  return false;
}

Result<Explorer::Found> Explorer::find(Space space, std::uint32_t id, EventNumber from,
                                       bool forwards) {
  constexpr unsigned kMostBlocks = 32;  // looked at for one answer: as many events as kMostWalked
  const auto matches = [&](const Event& event) {
    if (space == Space::kThread) return event.thread.value == id;
    if (space == Space::kSite) return event.site.value == id;
    if (target_space(event.kind) != space || event.target != id) return false;
    return space != Space::kLabel || event.kind == EventKind::kBegin ||
           event.kind == EventKind::kEnter;
  };
  const EventNumber end = index_.events + 1;
  // Forwards: from … end - 1; backwards: 1 … from - 1.
  from = std::clamp<EventNumber>(from, 1, end);
  unsigned looked = 0;
  while (forwards ? from < end : from > 1) {
    const std::uint64_t block = (forwards ? from - 1 : from - 2) / kSketchEvents;
    const Range part = forwards ? Range{from, std::min(end, (block + 1) * kSketchEvents + 1)}
                                : Range{block * kSketchEvents + 1, from};
    if (may_have(space, id, block)) {
      if (looked++ == kMostBlocks) return Found{0, from};
      EventNumber found = 0;
      const Status status =
          file_->each(part.from, part.to, [&](EventNumber number, const Event& event) {
            if (!matches(event)) return true;
            found = number;
            return !forwards;
          });
      if (!status) return status.error();
      if (found != 0) return Found{found, 0};
    }
    from = forwards ? part.to : part.from;
  }
  return Found{0, 0};
}

std::vector<NameMatch> search_names(const Names& names, std::string_view text, std::size_t most) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const auto same = [&](char a, char b) { return lower(a) == lower(b); };
  std::vector<NameMatch> matches;
  if (text.empty()) return matches;
  for (const Space space : {Space::kThread, Space::kVariable, Space::kLabel, Space::kLock,
                            Space::kBarrier, Space::kSemaphore, Space::kCondition, Space::kSite}) {
    const StringTable& table = names.table(space);
    std::array<std::vector<NameMatch>, 3> ranks;  // just that, begins with it, holds it
    for (std::size_t id = 0; id < table.size(); ++id) {
      const std::string_view name = table[id];
      const auto found = std::ranges::search(name, text, same);
      if (found.empty()) continue;
      const bool begins = found.begin() == name.begin();
      std::vector<NameMatch>& rank = ranks[begins ? (name.size() == text.size() ? 0U : 1U) : 2U];
      if (rank.size() < most) rank.push_back({space, static_cast<std::uint32_t>(id)});
    }
    std::size_t room = most;
    for (const std::vector<NameMatch>& rank : ranks) {
      const std::size_t take = std::min(room, rank.size());
      matches.insert(matches.end(), rank.begin(), rank.begin() + static_cast<std::ptrdiff_t>(take));
      room -= take;
    }
  }
  return matches;
}

}  // namespace syndrome::explore
