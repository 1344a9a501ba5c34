#include "record/window.h"

#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <set>
#include <span>

namespace syndrome::record {
namespace {

/// What a thread that has published so many words may be writing: a line, and the one behind it.
constexpr std::uint64_t kInWork = 2 * wire::kLineWords;

/// Time stamp counters of two cores, and reading one beside what it is the time of, may be off by
/// this.
constexpr std::uint64_t kSkew = 4096;

std::uint64_t round_up(std::uint64_t number, std::uint64_t unit) {
  return (number + unit - 1) / unit * unit;
}

/// The first word of the ring that has not been written over, with `published` words.
std::uint64_t oldest(std::uint64_t published, std::uint64_t ring_words) {
  return published + kInWork <= ring_words ? 0 : published + kInWork - ring_words;
}

/// 0: the record has none.
std::uint64_t time_in(std::span<const wire::Word> words, std::size_t at) {
  const wire::Word word = words[at];
  if (!wire::is_control(word)) return 0;
  if (wire::kind_of(word) == wire::Control::kTime) return wire::time_of(word);
  const bool timed = wire::kind_of(word) == wire::Control::kSync && wire::operands_of(word) >= 3;
  if (!timed || at + 3 >= words.size() || (words[at + 3] & wire::kOperandBit) == 0) return 0;
  return wire::value_of(words[at + 3]);
}

/// The thread that begins with this line, if one does.
std::optional<std::uint32_t> begins_thread(std::span<const wire::Word> line) {
  if (line.size() < 3 || !wire::is_control(line[1])) return std::nullopt;
  const bool starts = wire::kind_of(line[1]) == wire::Control::kSync &&
                      wire::sync_of(line[1]) == wire::Sync::kThreadStart;
  if (!starts) return std::nullopt;
  return static_cast<std::uint32_t>(wire::value_of(line[2]));
}

template <class Visit>
void each_record(std::span<const wire::Word> words, const Visit& visit) {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t length = wire::record_words(words.data() + at, words.data() + words.size());
    if (length > words.size() - at || !visit(at, length)) return;
    at += length;
  }
}

}  // namespace

std::uint64_t end_of_all(std::span<const rt::RingHeader* const> rings) {
  std::uint64_t end = __rdtsc();
  for (const rt::RingHeader* const ring : rings) {
    const std::uint64_t pending = ring->pending.load(std::memory_order_acquire);
    if (pending != 0) end = std::min(end, pending);
  }
  return end - kSkew;
}

void Window::add(const rt::RingHeader& ring, const wire::Word* words,
                 const rt::FlightPages& pages) {
  const std::uint64_t part = rt::part_words(ring_words_);
  const auto word_at = [&](std::uint64_t i) {
    return __atomic_load_n(words + (i & (ring_words_ - 1)), __ATOMIC_RELAXED);
  };
  // A thread that is faster than this is given up: what it did is not in the window.
  constexpr int kTries = 16;
  for (int i = 0; i < kTries; ++i) {
    std::uint64_t end = ring.published.load(std::memory_order_acquire);
    std::uint64_t begin = round_up(oldest(end, ring_words_), part);
    const std::uint64_t first = begin;
    std::vector<wire::Word> copied;
    copied.reserve(end - begin + kInWork);
    for (std::uint64_t at = begin; at < end; ++at) copied.push_back(word_at(at));
    for (const std::uint64_t last = end + kInWork; end < last; ++end) {
      const wire::Word word = word_at(end);
      if (word == 0) break;
      copied.push_back(word);
    }
    wire::OpenWords open{};
    for (; begin < end; begin += part) {
      const rt::FlightPages::Part& from = pages.parts[(begin / part) % rt::kParts];
      const std::uint64_t known = from.begin;
      std::memcpy(&open, &from.open, sizeof(open));
      std::atomic_thread_fence(std::memory_order_acquire);
      const std::uint64_t now = ring.published.load(std::memory_order_acquire);
      if (known == begin && oldest(now, ring_words_) <= begin) break;
    }
    if (begin >= end && end != 0) continue;
    split(std::span(copied).subspan(begin - first), begin, open);
    return;
  }
  begin_ = std::max(begin_, std::uint64_t{__rdtsc()});
}

/// The words of one thread after another.
void Window::split(std::span<const wire::Word> words, std::uint64_t begin,
                   const wire::OpenWords& open) {
  if (words.empty()) return;
  if (begin != 0) begin_ = std::max(begin_, time_in(words, 0));
  for (std::size_t at = 0; at < words.size(); at += wire::kLineWords) {
    const auto line = words.subspan(at, std::min(wire::kLineWords, words.size() - at));
    const std::optional<std::uint32_t> starts = begins_thread(line);
    if (starts || at == 0) {
      Thread& thread = threads_.emplace_back();
      thread.whole = starts.has_value();
      if (starts) {
        thread.number = *starts;
        thread.open.begin(*starts);
      } else {
        thread.number = open.thread;
        thread.open = open;
      }
    }
    std::vector<wire::Word>& all = threads_.back().words;
    all.insert(all.end(), line.begin(), line.end());
  }
}

void Window::find_syncs(Thread& thread) {
  each_record(thread.words, [&](std::size_t at, std::size_t length) {
    const wire::Word word = thread.words[at];
    thread.to = at + length;
    if (!wire::is_control(word) || wire::kind_of(word) != wire::Control::kSync || length < 4) {
      return true;
    }
    const std::uint64_t version = wire::value_of(thread.words[at + 2]);
    if (version == 0) return true;
    const wire::Word object = wire::value_of(thread.words[at + 1]);
    thread.syncs.push_back({at, at + length, version, wire::shard_of(wire::sync_of(word), object)});
    return true;
  });
}

void Window::cut() {
  for (Thread& thread : threads_) find_syncs(thread);
  if (begin_ != 0) {
    bound();
    cut_beginning();
  }
  if (end_ != UINT64_MAX) cut_end();
  for (Thread& thread : threads_) {
    if (thread.from > thread.to) thread.from = thread.to;
    thread.open.take(thread.words.data(), thread.words.data() + thread.from);
  }
  loosen_barriers();
  std::erase_if(threads_, [](const Thread& thread) {
    return thread.from == thread.to && thread.open.depth == thread.open.first &&
           thread.open.locks == 0;
  });
}

/// Of a run of which the beginning is lost anyway.
void Window::bound() {
  constexpr std::uint64_t kMostAccesses = std::uint64_t{1} << 20;
  struct Piece {
    std::uint64_t time;
    std::uint64_t accesses;
  };
  std::vector<Piece> pieces;
  for (const Thread& thread : threads_) {
    each_record(thread.words, [&](std::size_t at, std::size_t) {
      const wire::Word word = thread.words[at];
      const std::uint64_t time = time_in(thread.words, at);
      if (time != 0) pieces.push_back({time, 0});
      if (pieces.empty()) return true;
      const bool run = wire::is_control(word) && wire::kind_of(word) == wire::Control::kRun;
      pieces.back().accesses +=
          run ? (wire::payload_of(word) >> 4) * (wire::top_of(word) & 0xf) : 1;
      return true;
    });
  }
  std::ranges::sort(pieces, std::greater(), &Piece::time);
  std::uint64_t accesses = 0;
  for (const Piece& piece : pieces) {
    accesses += piece.accesses;
    if (accesses <= kMostAccesses) continue;
    begin_ = std::max(begin_, piece.time);
    return;
  }
}

void Window::cut_beginning() {
  for (Thread& thread : threads_) {
    thread.from = thread.to;
    each_record(thread.words, [&](std::size_t at, std::size_t) {
      if (time_in(thread.words, at) < begin_) return true;
      thread.from = std::min(thread.from, at);
      return false;
    });
  }
  std::array<std::uint64_t, wire::kShards> left_out{};
  for (bool more = true; more;) {
    more = false;
    for (const Thread& thread : threads_) {
      for (const SyncAt& sync : thread.syncs) {
        if (sync.begin >= thread.from) break;
        left_out[sync.shard] = std::max(left_out[sync.shard], sync.version);
      }
    }
    for (Thread& thread : threads_) {
      for (std::size_t i = thread.syncs.size(); i-- > 0;) {
        const SyncAt& sync = thread.syncs[i];
        if (sync.begin < thread.from) break;
        if (sync.version > left_out[sync.shard]) continue;
        thread.from = sync.end;
        more = true;
        break;
      }
    }
  }
}

void Window::loosen_barriers() {
  if (begin_ == 0) return;
  std::set<wire::Word> objects;
  for (const Thread& thread : threads_) {
    objects.insert(thread.open.arrived, thread.open.arrived + thread.open.barriers);
  }
  if (objects.empty()) return;
  for (Thread& thread : threads_) {
    each_record(thread.words, [&](std::size_t at, std::size_t length) {
      wire::Word& word = thread.words[at];
      if (!wire::is_control(word) || wire::kind_of(word) != wire::Control::kSync || length < 4 ||
          !objects.contains(wire::value_of(thread.words[at + 1]))) {
        return true;
      }
      const unsigned operands = wire::operands_of(word);
      if (wire::sync_of(word) == wire::Sync::kBarrierArrive) {
        word = wire::sync(wire::Sync::kHappensBefore, operands, wire::top_of(word));
      } else if (wire::sync_of(word) == wire::Sync::kBarrierLeave) {
        word = wire::sync(wire::Sync::kHappensAfter, operands, wire::top_of(word));
      }
      return true;
    });
  }
}

void Window::cut_end() {
  for (Thread& thread : threads_) {
    each_record(thread.words, [&](std::size_t at, std::size_t) {
      if (at >= thread.to) return false;
      if (time_in(thread.words, at) <= end_) return true;
      thread.to = at;
      return false;
    });
  }
  std::array<std::uint64_t, wire::kShards> left_out;
  left_out.fill(UINT64_MAX);
  for (bool more = true; more;) {
    more = false;
    for (const Thread& thread : threads_) {
      for (std::size_t i = thread.syncs.size(); i-- > 0;) {
        const SyncAt& sync = thread.syncs[i];
        if (sync.begin < thread.to) break;
        left_out[sync.shard] = std::min(left_out[sync.shard], sync.version);
      }
    }
    for (Thread& thread : threads_) {
      for (const SyncAt& sync : thread.syncs) {
        if (sync.begin >= thread.to) break;
        if (sync.version < left_out[sync.shard]) continue;
        thread.to = sync.begin;
        more = true;
        break;
      }
    }
  }
}

/// What the reader must know of the thread before what is left of its words; as many words as keep
/// lines what they are.
std::vector<wire::Word> Window::first_words(const Thread& thread) const {
  std::vector<wire::Word> first;
  if (thread.whole && thread.from == 0) return first;
  if (begin_ == 0) return first;
  const auto append = [&first](wire::Word word) { first.push_back(word); };
  append(wire::time(begin_));
  thread.open.write(append);
  while (first.size() % wire::kLineWords != thread.from % wire::kLineWords) {
    append(wire::control(wire::Control::kPad, 0, 0));
  }
  return first;
}

Status Window::write(trace::CaptureWriter& writer) const {
  for (const Thread& thread : threads_) {
    const std::vector<wire::Word> first = first_words(thread);
    if (Status written = writer.words(thread.number, 0, first); !written) return written;
    const auto rest = std::span(thread.words).subspan(thread.from, thread.to - thread.from);
    if (Status written = writer.words(thread.number, first.size(), rest); !written) return written;
  }
  return {};
}

std::uint64_t Window::last() const {
  std::uint64_t last = begin_;
  for (const Thread& thread : threads_) {
    const auto left = std::span(thread.words).subspan(thread.from, thread.to - thread.from);
    each_record(left, [&](std::size_t at, std::size_t) {
      last = std::max(last, time_in(left, at));
      return true;
    });
  }
  return last;
}

std::uint64_t Window::words() const {
  std::uint64_t sum = 0;
  for (const Thread& thread : threads_) sum += thread.to - thread.from;
  return sum;
}

}  // namespace syndrome::record
