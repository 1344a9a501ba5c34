// Parts: what the buffer has of a call, or of what is outside of calls.

#include "runtime/hold.h"
#include "runtime/holder.h"
#include "runtime/sys.h"

namespace syndrome::rt {

void put_frames(Holder& self) {
  const std::uint32_t depth = self.depth;
  Word* const to = &self.words[self.fill];
  Word marks = 0;
  for (std::uint32_t i = 0; i < depth; ++i) {
    to[1 + i] = self.frames[i].word;
    marks |= self.frames[i].mark;
  }
  *to = depth | (marks != 0 ? kHoldMarks : 0);
  self.fill += 1 + depth;
  for (std::uint32_t i = 0; marks != 0 && i < depth; ++i) {
    self.words[self.fill++] = self.frames[i].mark;
  }
  put(self, wire::time(self.now));
}

void begin_part(Holder& self) {
  if (self.call.first != 0) return;
  make_room(self);
  hold_calls.begin(self.call, self.now);
  self.settled_serial = self.call.first;
  if (self.depth != 0) self.frames[self.depth - 1].serial = self.call.first;
  self.part_begin = self.fill;
  self.stays = __atomic_load_n(&hold_nothing, __ATOMIC_RELAXED) != 0;
  self.flows = false;
  self.memory_count = 0;
  self.anew = 0;
  for (std::uint32_t i = 0; i < self.depth; ++i) self.frames[i].leaf = false;
  put_frames(self);
}

/// Decides about those that were first, in their order.
void decide(Holder& self, bool all) {
  while (self.parts != 0 && holding()) {
    HoldPart& part = self.part[self.first_part];
    calls::Verdict verdict =
        hold_calls.verdict(part.certain, &self.sources[self.first_source], part.count);
    if (verdict == calls::Verdict::kWait) {
      if (!all) return;
      verdict = calls::Verdict::kKeep;
    }
    if (verdict == calls::Verdict::kKeep) {
      tell_part(self, part.begin, part.end);
      tell_end(self);
    }
    self.first_part = (self.first_part + 1) % Holder::kParts;
    self.first_source += part.count;
    --self.parts;
  }
  if (self.parts == 0) self.first_part = self.first_source = self.last_source = 0;
}

void add_part(Holder& self, Word begin, Word end, bool certain) {
  HoldPart& part = self.part[(self.first_part + self.parts++) % Holder::kParts];
  part.begin = begin;
  part.end = end;
  part.certain = certain;
  part.count = 0;
  if (certain) return;
  part.count = self.call.count;
  for (unsigned i = 0; i < part.count; ++i) {
    self.sources[self.last_source++] = self.call.sources[i];
  }
  if (self.last_source <= Holder::kParts) return;
  // No room for more: to the front, or it is not waited for.
  const std::uint32_t left = self.last_source - self.first_source;
  if (left > Holder::kParts / 2) {
    part.certain = true;
    part.count = 0;
    self.last_source -= self.call.count;
    return;
  }
  for (std::uint32_t i = 0; i < left; ++i) self.sources[i] = self.sources[self.first_source + i];
  self.first_source = 0;
  self.last_source = left;
}

/// Of a part that is left out: memory that is told of is another variable from here on.
void keep_memory(Holder& self) {
  const std::uint32_t count = self.memory_count;
  self.memory_count = 0;
  Word at = self.part_begin;
  if (count != 0) {
    // Its records lie behind what is written over.
    self.words[at++] = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Word* const record = &self.words[self.memory[i]];
      Word copy[8];
      const std::size_t length = record_words(*record);
      for (std::size_t k = 0; k < length; ++k) copy[k] = record[k];
      // The first word of a part is a time.
      if (i == 0) self.words[at++] = wire::time(self.now);
      for (std::size_t k = 0; k < length; ++k) self.words[at++] = copy[k];
      // The call's site is one of a function that is not told.
      Word& head = self.words[at - length];
      head &= (Word{1} << wire::kTopShift) - 1;
    }
  }
  self.fill = at;
}

void end_part(Holder& self) {
  if (self.call.first == 0) return;
  self.now = hold_calls.end(self.call, self.now);
  self.held = 0;
  const bool certain = self.call.certain || self.stays;
  if (self.flows) {
    tell_more(self, self.part_begin, self.fill);
    tell_end(self);
    self.flows = false;
    self.fill = self.part_begin;
    return;
  }
  if (hold_calls.verdict(certain, self.call.sources, self.call.count) == calls::Verdict::kDrop) {
    keep_memory(self);
    if (self.fill != self.part_begin) {
      self.call.count = 0;
      add_part(self, self.part_begin, self.fill, true);
    }
  } else {
    add_part(self, self.part_begin, self.fill, certain);
  }
  if (self.parts != 0) {
    decide(self, self.parts == Holder::kParts);
    if (self.parts == 0) self.fill = 0;
  }
}

void populate(Holder& self) {
  // As much again as there is, within bounds, and whole pages: words[] need not begin with one.
  constexpr Word kLeast = Word{1} << 12;
  constexpr Word kMost = Word{1} << 16;
  const Word from = self.populated;
  Word more = from < kLeast ? kLeast : from;
  if (more > kMost) more = kMost;
  self.populated = from + more < Holder::kWords ? from + more : Holder::kWords;
  const auto begin = (reinterpret_cast<std::uintptr_t>(&self.words[from]) + 4095) / 4096 * 4096;
  const auto end =
      (reinterpret_cast<std::uintptr_t>(self.words) + 8 * self.populated) / 4096 * 4096;
  if (begin >= end) return;
  // Where the system does not know how, it will do so when they are touched.
  constexpr long kPopulateWrite = 23;
  sys::call(SYS_madvise, static_cast<long>(begin), static_cast<long>(end - begin), kPopulateWrite);
}

void flow(Holder& self) {
  decide(self, true);
  if (self.call.first == 0) {
    self.fill = 0;
    return;
  }
  if (self.flows) {
    tell_more(self, self.part_begin, self.fill);
  } else {
    self.call.certain = self.flows = true;
    tell_part(self, self.part_begin, self.fill);
  }
  self.memory_count = 0;
  self.part_begin = self.fill = 0;
  self.anew = 0;
}

}  // namespace syndrome::rt
