#include "trace/capture_sweep.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "trace/capture_left.h"
#include "trace/capture_order.h"
#include "trace/capture_versions.h"
#include "trace/granule_table.h"

namespace syndrome::trace {
namespace {

using Stream = SweepStream;

/// A part of a call that has come to its first access. Below it goes for the call.
struct Call {
  std::uint32_t thread = 0;
  std::uint32_t begin = 0;    // ticks
  std::uint32_t end = 0;      // 0: it is open, or has not begun
  std::uint64_t last_in = 0;  // the last access that comes behind one that it conflicts with
  bool marked = false;
};

/// Who has accessed a granule, or a container's bytes: each open call, and of those that are over
/// the two of different threads that were the last to end, which is enough to know whether one of
/// another thread overlaps with an open call.
class Accessed {
 public:
  /// Each call has a number, from 1.
  static constexpr std::uint32_t kMostCalls = 1u << 29;

  struct Ended {
    std::uint32_t tick = 0;
    std::uint32_t thread = 0;
  };
  struct Node {
    static constexpr std::size_t kEntries = 4;
    std::uint32_t entries[kEntries] = {};  // call << 2, SweepItem::kRead and kWrite; 0: none
    std::uint32_t next = 0;
    std::uint32_t named = 0;  // bytes
    std::array<Ended, 2> read{};
    std::array<Ended, 2> written{};
  };

  /// False: there is no room.
  [[nodiscard]] bool find(std::uint64_t key, std::uint32_t& node) {
    std::uint32_t* const at = table_.make(key);
    if (at == nullptr) return false;
    if (*at == 0) {
      *at = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
    }
    node = *at;
    return true;
  }
  void forget_names(std::uint64_t first, std::uint64_t last) {
    table_.any(first, last, [this](std::uint32_t number) {
      if (number != 0) nodes_[number].named = 0;
      return false;
    });
  }
  [[nodiscard]] Node& node(std::uint32_t number) { return nodes_[number]; }

  /// An access of the call (0: outside of calls), which is one of the thread. on_conflict(other)
  /// for each open call of another thread that it conflicts with. Whether it conflicts with a call
  /// that is over and ended later than `begin`.
  template <class OnConflict>
  [[nodiscard]] bool access(std::uint32_t number, std::uint32_t call, std::uint32_t kinds,
                            std::uint32_t thread, std::uint32_t begin,
                            const std::vector<Call>& calls, const OnConflict& on_conflict) {
    std::uint32_t* room = nullptr;
    std::uint32_t last = number;
    bool found = call == 0;
    Node& node = nodes_[number];
    for (std::uint32_t at = number; at != 0; at = nodes_[at].next) {
      last = at;
      for (std::uint32_t& entry : nodes_[at].entries) {
        const std::uint32_t other = entry >> 2;
        if (entry != 0 && other == call) {
          entry |= kinds;
          found = true;
          continue;
        }
        if (entry != 0 && calls[other].end != 0) {
          end(node, entry, {calls[other].end, calls[other].thread});
          entry = 0;
        }
        if (entry == 0) {
          if (room == nullptr) room = &entry;
        } else if (((entry | kinds) & SweepItem::kWrite) != 0) {
          on_conflict(other);
        }
      }
    }
    const auto overlaps = [&](const std::array<Ended, 2>& those) {
      const Ended& ended = those[0].thread != thread ? those[0] : those[1];
      return ended.tick > begin;
    };
    const bool conflicts =
        overlaps(node.written) || ((kinds & SweepItem::kWrite) != 0 && overlaps(node.read));
    if (found) return conflicts;
    if (room == nullptr) {
      const auto fresh = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
      nodes_[last].next = fresh;
      room = &nodes_[fresh].entries[0];
    }
    *room = (call << 2) | kinds;
    return conflicts;
  }
  static void end(Node& node, std::uint32_t kinds, Ended ended) {
    const auto add = [&](std::array<Ended, 2>& those) {
      if (those[0].tick == 0 || those[0].thread == ended.thread) {
        if (those[0].tick < ended.tick) those[0] = ended;
      } else if (those[0].tick < ended.tick) {
        those[1] = std::exchange(those[0], ended);
      } else if (those[1].tick < ended.tick) {
        those[1] = ended;
      }
    };
    if ((kinds & SweepItem::kRead) != 0) add(node.read);
    if ((kinds & SweepItem::kWrite) != 0) add(node.written);
  }

 private:
  GranuleTable<std::uint32_t> table_;
  std::vector<Node> nodes_ = std::vector<Node>(1);
};

class Sweep {
 public:
  Sweep(std::span<SweepThread> threads, const CaptureShared& shared)
      : shared_(&shared), streams_(threads.size()) {
    std::uint32_t calls = 1;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      streams_[i].thread = &threads[i];
      streams_[i].first_call = calls;
      const std::size_t more = threads[i].parts.size();
      if (more >= Accessed::kMostCalls - calls) {
        full_ = true;
        return;
      }
      calls += static_cast<std::uint32_t>(more);
    }
    calls_.resize(calls);
  }

  [[nodiscard]] bool run() {
    if (full_) return false;
    versions_ = std::make_unique<CaptureVersions>();
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      const HugeVector<SweepItem>& items = streams_[i].thread->items;
      for (std::size_t k = 0; k < items.size(); ++k) {
        if (items[k].kind != SweepItem::kSync) continue;
        ++k;
        if (items[k].value != 0) versions_->add(items[k].at, items[k].value);
      }
      if (items.empty()) continue;
      const bool timed = items[0].kind == SweepItem::kTime || items[0].kind == SweepItem::kSync;
      streams_[i].time = timed ? items[0].value : 0;
      order_.ready(i, streams_[i].time);
    }
    versions_->seal(true);
    for (;;) {
      const std::optional<std::size_t> number = order_.next();
      if (number) {
        go_on(*number);
      } else if (order_.anyone_waits()) {
        order_.release_first(*versions_);
      } else {
        mark();
        return !full_;
      }
    }
  }

  [[nodiscard]] const Stream& stream(std::size_t i) const { return streams_[i]; }
  /// Anything at all.
  [[nodiscard]] bool any_marked() const { return any_marked_; }

 private:
  /// A call had made an access and was open when the other one made one that conflicts with it.
  struct Pair {
    std::uint64_t at;
    std::uint32_t open;
    std::uint32_t other;
  };
  /// The same, when the other one was outside of calls.
  struct AlonePair {
    std::uint64_t at;
    std::uint32_t open;
    std::uint32_t thread;
    std::uint32_t record;
  };
  static constexpr std::size_t kMostPairs = std::size_t{1} << 26;
  static constexpr std::uint32_t kMostTicks = UINT32_MAX - (1u << 20);

  /// As CaptureSource::run().
  void go_on(std::size_t number) {
    Stream& stream = streams_[number];
    const HugeVector<SweepItem>& items = stream.thread->items;
    stream.starts.push_back({stream.resume_at, ++step_});
    while (stream.next < items.size()) {
      const SweepItem& item = items[stream.next];
      switch (item.kind) {
        case SweepItem::kAccess: access(number, item); break;
        case SweepItem::kTime:
          stream.time = item.value;
          if (item.value > order_.limit()) {
            ++stream.next;
            stream.resume_at = item.at;
            order_.ready(number, stream.time);
            return;
          }
          break;
        case SweepItem::kSync:
          if (!sync(number, stream, item, items[stream.next + 1])) return;
          ++stream.next;
          break;
        case SweepItem::kPartBegin:
          stream.call = stream.first_call + static_cast<std::uint32_t>(item.value);
          calls_[stream.call] = {static_cast<std::uint32_t>(number), ++tick_};
          stream.met.clear();
          break;
        case SweepItem::kPartEnd:
          calls_[stream.call].end = ++tick_;
          stream.call = 0;
          break;
        case SweepItem::kLoop:
          loop(number, item, items[stream.next + 1]);
          ++stream.next;
          break;
        case SweepItem::kRenew:
          renew(item.value, items[stream.next + 1].value);
          ++stream.next;
          break;
      }
      ++stream.next;
    }
  }

  /// False: it has to wait.
  bool sync(std::size_t number, Stream& stream, const SweepItem& item, const SweepItem& what) {
    const std::size_t shard = what.at;
    if (item.value > order_.limit()) {
      stream.time = item.value;
      stream.resume_at = item.at;
      order_.ready(number, stream.time);
      return false;
    }
    if (what.value > versions_->awaited(shard)) {
      stream.time = item.value;
      stream.resume_at = item.at;
      order_.wait(number, stream.time, shard, what.value);
      return false;
    }
    if (what.value != 0 && what.value == versions_->awaited(shard)) {
      order_.advance(*versions_, shard, what.value);
    }
    return true;
  }

  void loop(std::size_t number, const SweepItem& item, const SweepItem& how) {
    std::uint64_t address = item.value;
    for (std::uint32_t i = 0; i < how.at; ++i, address += how.value) {
      const std::uint64_t begin = address & wire::kAddressMask;
      const std::uint64_t end = begin + how.bytes;
      for (std::uint64_t granule = begin >> 3; granule <= (end - 1) >> 3; ++granule) {
        const std::uint64_t from = granule << 3;
        if (!shared_->has_conflicts(from)) continue;
        SweepItem one = item;
        one.value = granule;
        one.bytes = bytes_of_granule(granule, begin, how.bytes);
        if (!shared_->has_conflicts_together(from)) one.access |= SweepItem::kNamesOnly;
        access(number, one);
      }
    }
  }
  void access(std::size_t number, const SweepItem& item) {
    Stream& stream = streams_[number];
    std::uint32_t node = 0;
    if (!granules_.find(item.value, node)) {
      full_ = true;
      return;
    }
    if ((item.bytes & ~granules_.node(node).named) != 0) {
      granules_.node(node).named |= item.bytes;
      if (stream.names.empty() || stream.names.back() != item.at) stream.names.push_back(item.at);
    }
    if ((item.access & SweepItem::kNamesOnly) != 0) return;
    ++now_;
    access(number, item, granules_, node);
    if ((item.access & SweepItem::kOfContainer) == 0) return;
    constexpr std::uint64_t kLargest = 80;  // std::deque
    constexpr unsigned kBlock = 7;
    const std::uint64_t address = item.value << 3;
    for (std::uint64_t block = (address - std::min(address, kLargest)) >> kBlock;
         block <= (address + kLargest) >> kBlock; ++block) {
      if (!containers_.find(block, node)) full_ = true;
      if (!full_) access(number, item, containers_, node);
    }
  }
  void access(std::size_t number, const SweepItem& item, Accessed& accessed, std::uint32_t node) {
    Stream& stream = streams_[number];
    constexpr std::uint32_t kBoth = SweepItem::kRead | SweepItem::kWrite;
    const auto thread = static_cast<std::uint32_t>(number);
    const std::uint32_t call = stream.call;
    bool behind = false;
    const auto meet = [&](std::uint32_t other) {
      behind = true;
      if (call == 0) {
        alone_.push_back({now_, other, thread, item.at});
      } else if (std::ranges::find(stream.met, other) == stream.met.end()) {
        stream.met.push_back(other);
        pairs_.push_back({now_, other, call});
      }
    };
    behind |= accessed.access(node, call, item.access & kBoth, thread,
                              call == 0 ? tick_ : calls_[call].begin, calls_, meet);
    if (call == 0) {
      Accessed::end(accessed.node(node), item.access, {++tick_, thread});
    } else if (behind) {
      calls_[call].last_in = now_;
    }
    full_ |= pairs_.size() + alone_.size() > kMostPairs || tick_ > kMostTicks;
  }

  /// Those of a pair, if the one that was open then has come behind another one later.
  void mark() {
    for (const Pair& pair : pairs_) {
      if (calls_[pair.open].last_in <= pair.at) continue;
      calls_[pair.open].marked = calls_[pair.other].marked = any_marked_ = true;
    }
    for (const AlonePair& pair : alone_) {
      if (calls_[pair.open].last_in <= pair.at) continue;
      calls_[pair.open].marked = any_marked_ = true;
      std::vector<std::uint32_t>& marked = streams_[pair.thread].marked;
      if (marked.empty() || marked.back() != pair.record) marked.push_back(pair.record);
    }
    for (Stream& stream : streams_) {
      stream.marked_calls.resize(stream.thread->calls.size());
      const std::vector<std::uint32_t>& parts = stream.thread->parts;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (calls_[stream.first_call + i].marked) stream.marked_calls[parts[i]] = true;
      }
      if (any_marked_) mark_named(stream);
    }
  }

  /// Calls of several parts that names are kept of: without what they waited for, those would be in
  /// one unit.
  static void mark_named(Stream& stream) {
    const std::vector<std::uint32_t>& parts = stream.thread->parts;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (parts[i] != parts[i - 1]) continue;
      const SweepCall& call = stream.thread->calls[parts[i]];
      const auto name = std::ranges::lower_bound(stream.names, call.begin);
      if (name != stream.names.end() && *name < call.end) stream.marked_calls[parts[i]] = true;
    }
  }

  /// They are other variables from here on. Who has accessed them counts as before: that is safe.
  void renew(std::uint64_t address, std::uint64_t bytes) {
    granules_.forget_names(address >> 3, (address + bytes - 1) >> 3);
  }

  const CaptureShared* shared_;
  std::vector<Stream> streams_;
  std::vector<Call> calls_;  // by number
  Accessed granules_;
  Accessed containers_;
  std::unique_ptr<CaptureVersions> versions_;
  CaptureOrder<CaptureVersions> order_;
  std::uint64_t step_ = 0;
  std::uint64_t now_ = 0;   // counts accesses
  std::uint32_t tick_ = 0;  // counts calls that begin and end, and accesses outside of calls
  std::vector<Pair> pairs_;
  std::vector<AlonePair> alone_;
  bool any_marked_ = false;
  bool full_ = false;
};

}  // namespace

bool sweep(std::span<SweepThread> threads, const CaptureShared& shared) {
  Sweep sweep(threads, shared);
  if (!sweep.run()) return false;
  std::vector<HugeVector<wire::Word>> left;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    left.push_back(write_left(sweep.stream(i), sweep.any_marked()));
  }
  for (std::size_t i = 0; i < threads.size(); ++i) threads[i].words = std::move(left[i]);
  return true;
}

}  // namespace syndrome::trace
