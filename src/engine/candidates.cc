// Engine: what to say of two accesses that have met.

#include "engine/engine.h"

namespace syndrome::engine {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t mixed = (a ^ (b * 0x9E3779B97F4A7C15u)) * 0xBF58476D1CE4E5B9u;
  return mixed ^ (mixed >> 29);
}
/// Site, function and kind; not by which calls.
std::uint64_t key_of(const Place& place) {
  return mix(reinterpret_cast<std::uintptr_t>(place.function) * 4 + (place.write ? 2 : 0) +
                 (place.atomic ? 1 : 0),
             place.site);
}

}  // namespace

Place Engine::place(Entry entry, Entry with, std::uint64_t granule) const {
  Place place;
  const Entry both = entry & with & kBytes;
  place.address = granule + (both == 0 ? 0 : static_cast<std::uint64_t>(__builtin_ctzll(both)));
  const Step step = contexts_.step_of(way_of(entry));
  if (step.node != nullptr) {
    place.function = step.node->function;
    place.site = step.site;
  }
  place.slot = slot_of(entry);
  place.epoch = epoch_of(entry);
  place.way = way_of(entry);
  place.bytes = static_cast<std::uint8_t>(entry & kBytes);
  place.write = (entry & kReadBit) == 0;
  place.atomic = (entry & kAtomicBit) != 0;
  return place;
}

void Engine::race(Thread& thread, Entry earlier, Entry now, std::uint64_t granule) {
  ++thread.counters.races;
  const Place one = place(earlier, now, granule);
  const Place other = place(now, earlier, granule);
  const std::uint64_t a = key_of(one);
  const std::uint64_t b = key_of(other);
  // The same for both directions.
  if (!limits_.report_all && !tries_.again(mix(a < b ? a : b, a < b ? b : a) | 1, 1)) return;
  if (host_.on_race != nullptr) host_.on_race(host_.context, thread, one, other);
}

void Engine::note(Thread& thread, Entry theirs, Entry now, std::uint64_t granule) {
  if (thread.slot == 0) return;
  const std::uint32_t slot = slot_of(theirs);
  Notes::Part& part = notes_[thread.slot].about(slot).of(granule);
  for (Note& known : part.notes) {
    if (known.theirs.load(std::memory_order_relaxed) == theirs &&
        ((known.mine.load(std::memory_order_relaxed) ^ now) & ~(kBytes | kEpochMask)) == 0 &&
        known.address.load(std::memory_order_relaxed) == granule) {
      known.mine.store(now, std::memory_order_relaxed);
      return;
    }
  }
  ++thread.counters.noted;
  Note& made = part.notes[part.next++ % Notes::kInPart];
  made.theirs.store(theirs, std::memory_order_relaxed);
  made.mine.store(now, std::memory_order_relaxed);
  made.address.store(granule, std::memory_order_relaxed);
  std::atomic<std::uint32_t>& noted = slots_[slot].noted;
  slots_[slot].times.fetch_add(1, std::memory_order_relaxed);
  thread.noted_granule = granule;
  thread.noted_slot = slot;
  std::atomic<std::uint32_t>& by = slots_[slot].noted_by;
  if ((now & kReadBit) == 0 || by.load(std::memory_order_relaxed) == 0) {
    by.store(thread.slot, std::memory_order_relaxed);
  }
  if (noted.load(std::memory_order_relaxed) < epoch_of(theirs)) {
    noted.store(epoch_of(theirs), std::memory_order_release);
  }
}

void Engine::note_again(Thread& thread, Entry now, std::uint64_t granule) {
  for (const Note& note_of_read : notes_[thread.slot].about(thread.noted_slot).of(granule).notes) {
    const Entry theirs = note_of_read.theirs.load(std::memory_order_relaxed);
    if (theirs == 0 || slot_of(theirs) != thread.noted_slot ||
        note_of_read.address.load(std::memory_order_relaxed) != granule ||
        (theirs & now & kBytes) == 0) {
      continue;
    }
    if ((note_of_read.mine.load(std::memory_order_relaxed) & kReadBit) == 0) continue;
    note(thread, theirs, now, granule);
  }
}

bool Engine::is_open(const Thread& thread, Pairs::Answer answer, std::uint32_t first_way,
                     std::uint32_t second_way, std::uint32_t epoch) const {
  const std::uint32_t depth = Pairs::depth(answer);
  const Node* const node = Pairs::steps(contexts_, first_way, second_way).node;
  if (depth - 1 < thread.depth && thread.frames[depth - 1].node == node) {
    return thread.frames[depth - 1].begin <= epoch;
  }
  // A function that is known without its calls: the innermost.
  constexpr std::uint32_t kLook = 64;
  for (std::uint32_t i = 0; i < thread.depth && i < kLook; ++i) {
    const std::uint32_t at = thread.depth - 1 - i;
    if (at < Thread::kFrames && thread.frames[at].node == node) {
      return thread.frames[at].begin <= epoch;
    }
  }
  return false;
}

void Engine::evict(Thread& thread, Entry entry, std::uint64_t granule) {
  Evicted* const set = thread.evicted[(granule >> 3) % Thread::kSets];
  Evicted* place = nullptr;
  for (std::uint32_t i = 0; i < Thread::kInSet; ++i) {
    // One for each way and kind, as in a cell.
    if (set[i].granule == granule && ((set[i].entry ^ entry) & ~kEpochMask) == 0) {
      place = &set[i];
      break;
    }
    if (epoch_of(set[i].entry) < thread.floor || set[i].entry == 0) place = &set[i];
  }
  if (place == nullptr) place = &set[thread.evicted_next++ % Thread::kInSet];
  *place = {granule, entry};
  if (thread.evicted_last < epoch_of(entry)) thread.evicted_last = epoch_of(entry);
}

void Engine::ask_evicted(Thread& thread, Entry other, Entry now, const Entry* lanes, unsigned newer,
                         std::uint64_t granule) {
  for (const Evicted& each : thread.evicted[(granule >> 3) % Thread::kSets]) {
    if (each.entry != 0 && each.granule == granule) {
      ask_one(thread, each.entry, other, now, lanes, newer, granule);
    }
  }
}

void Engine::ask_noted(Thread& thread, Entry other, Entry now, const Entry* lanes, unsigned newer,
                       std::uint64_t granule) {
  for (Notes::Part& part : notes_[slot_of(other)].about(thread.slot).parts) {
    for (const Note& note : part.notes) {
      const Entry first = note.theirs.load(std::memory_order_relaxed);
      // The same way is the same step.
      if (!is_own(first, now) || epoch_of(first) < thread.floor || way_of(first) == way_of(now)) {
        continue;
      }
      const Entry between = note.mine.load(std::memory_order_relaxed);
      if (slot_of(between) != slot_of(other)) continue;
      if (note.address.load(std::memory_order_relaxed) == granule &&
          (first & between & now & kBytes) != 0) {
        ask_one(thread, first, between, now, lanes, newer, granule);
      } else if ((other & kBytes) != 0 && epoch_of(first) >= thread.wait_floor) {
        ask_two(thread, note, other, now, granule);
      }
    }
  }
}

void Engine::ask_one(Thread& thread, Entry first, Entry other, Entry now, const Entry* lanes,
                     unsigned newer, std::uint64_t granule) {
  if ((first & now & kBytes) == 0 || epoch_of(first) < thread.floor ||
      way_of(first) == way_of(now) ||
      ((other & kReadBit) != 0 && ((first | now) & kReadBit) != 0)) {
    return;
  }
  const Pairs::Answer answer = pairs_.of(contexts_, way_of(first), way_of(now));
  if ((answer & Pairs::kDiffers) == 0) return;
  const bool held = epoch_of(first) >= thread.held_since && ((first | now) & kAtomicBit) == 0;
  Pairs::Answer by = 0;
  if ((first & kReadBit) != 0 || (answer & Pairs::kFirstAlsoReads) != 0) {
    by |= answer & Pairs::kStale;
    if (epoch_of(first) < thread.wait_floor) by &= ~Pairs::Answer{Pairs::kControl};
    // A fresh read decides.
    for (unsigned i = 0; i < newer && (by & Pairs::kStale & ~Pairs::kData) != 0; ++i) {
      if (!is_own(lanes[i], now) || (lanes[i] & kReadBit) == 0 || (lanes[i] & now & kBytes) == 0 ||
          way_of(lanes[i]) == way_of(first)) {
        continue;
      }
      if ((pairs_.of(contexts_, way_of(lanes[i]), way_of(now)) & Pairs::kLooks) != 0) {
        by &= Pairs::kData | Pairs::kReset;
      }
    }
  }
  if ((first & kReadBit) == 0) {
    by |= answer & Pairs::kReread;
    if (((first | now) & (kReadBit | kAtomicBit)) == 0) by |= answer & Pairs::kSource;
  }
  if ((by == 0 && !held) || !is_open(thread, answer, way_of(first), way_of(now), epoch_of(first))) {
    return;
  }
  report(thread, Question::kOneLocation, first, granule, other, now, granule, by == 0);
}

void Engine::ask_two(Thread& thread, const Note& note, Entry other, Entry now,
                     std::uint64_t granule) {
  const Entry first = note.theirs.load(std::memory_order_relaxed);
  const Entry between = note.mine.load(std::memory_order_relaxed);
  const std::uint64_t address = note.address.load(std::memory_order_relaxed);
  const Pairs::Answer answer = pairs_.of(contexts_, way_of(first), way_of(now));
  if ((answer & Pairs::kDiffers) == 0) return;
  const bool atomic = ((first | now) & kAtomicBit) != 0;
  const bool held = !atomic && epoch_of(first) >= thread.held_since;
  const bool first_reads = reads(first);
  const bool now_reads = reads(now);
  const bool writes = ((first | now) & kReadBit) == 0;
  // A write may have followed a read of which nothing is left.
  const bool both =
      ((between | other) & kReadBit) == 0 || (reads(between) && (writes || reads(other)));
  Pairs::Answer by = 0;
  if (both && first_reads && now_reads) by |= answer & Pairs::kTwoReads;
  if (both && writes) {
    const Pairs::Answer together = pairs_.of(contexts_, way_of(between), way_of(other)) |
                                   pairs_.of(contexts_, way_of(other), way_of(between));
    by |= (answer & Pairs::kTwoWrites) | (together & Pairs::kTogether);
  }
  if (first_reads && (between & kReadBit) == 0 && !atomic && (other & now & kReadBit) == 0) {
    by |= answer & Pairs::kCheck;
  }
  const bool alike = both && (writes || (first_reads && now_reads));
  if ((by == 0 && !(held && alike)) ||
      !is_open(thread, answer, way_of(first), way_of(now), epoch_of(first))) {
    return;
  }
  report(thread, Question::kTwoLocations, first, address, other, now, granule, by == 0);
}

void Engine::report(Thread& thread, Question question, Entry first, std::uint64_t first_granule,
                    Entry other, Entry now, std::uint64_t granule, bool by_hold) {
  Candidate candidate;
  const Pairs::Steps steps = Pairs::steps(contexts_, way_of(first), way_of(now));
  candidate.question = question;
  candidate.function = steps.node == nullptr ? nullptr : steps.node->function;
  candidate.from = steps.from;
  candidate.to = steps.to;
  candidate.by_hold = by_hold;
  const bool one = question == Question::kOneLocation;
  candidate.first = place(first, one ? now : first, first_granule);
  candidate.other = place(other, now, granule);
  candidate.now = place(now, other, granule);
  candidate.key = mix(mix(reinterpret_cast<std::uintptr_t>(candidate.function) + (one ? 1 : 2),
                          (std::uint64_t{steps.from} << 32) | steps.to),
                      key_of(candidate.other)) &
                  ~std::uint64_t{1};
  // A cell and a note may say the same.
  if (candidate.key == thread.asked_key && thread.asked_at == thread.counters.accesses) return;
  thread.asked_key = candidate.key;
  thread.asked_at = thread.counters.accesses;
  ++thread.counters.candidates;
  if (!limits_.report_all && !tries_.again(candidate.key, kMostTries)) return;
  ++thread.counters.reported;
  if (host_.on_candidate != nullptr) host_.on_candidate(host_.context, thread, candidate);
}

}  // namespace syndrome::engine
