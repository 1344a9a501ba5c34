#include "runtime/hold.h"
#include "runtime/holder.h"

namespace syndrome::rt {

/// A line that begins with it begins with the time of what is told, which may be long ago.
void tell_words(Holder& self, const Word* words, std::size_t count) {
  if (!holding()) return;
  const std::uint64_t line = tls.line;
  Word* const at = room(static_cast<unsigned>(count));
  if (at == nullptr) return;
  if (tls.line != line && self.told_time != 0) {
    tls.words[tls.line & (process.ring_words - 1)] = self.told_time;
  }
  for (std::size_t i = 0; i < count; ++i) at[i] = words[i];
  appended(static_cast<unsigned>(count));
}

namespace {

void tell_word(Holder& self, Word word) {
  tell_words(self, &word, 1);
}

void tell_bytes(Word address, Word bytes) {
  address &= wire::kAddressMask;
  for (Word at = address & ~Word{7}; at < address + bytes; at += 8) {
    HoldChunk* const chunk = hold_chunk_at(at & wire::kAddressMask);
    if (chunk == nullptr) return;
    __atomic_store_n(&chunk->told[(at >> 3) % kHoldChunkCells], 1, __ATOMIC_RELAXED);
  }
}

void push(Holder& self, Word word) {
  // Others are not told of.
  if (self.told_depth == Holder::kMaxDepth + 64) return;
  self.told_frames[self.told_depth] = word;
  self.told_marks[self.told_depth++] = 0;
}
void resume(Holder& self, Word mark) {
  std::uint32_t at = self.told_depth;
  while (at > 0 && self.told_marks[at - 1] != mark) --at;
  if (at > 0) self.told_depth = at;
}
void pop(Holder& self, Word word) {
  const Word function = wire::payload_of(word);
  std::uint32_t at = self.told_depth;
  while (at > 0 && wire::payload_of(self.told_frames[at - 1]) != function) --at;
  if (at > 0) self.told_depth = at - 1;
}

struct Site {
  const unit::Site* site;  // null: not known
  std::uint32_t number;    // in the process, 0: not known
};
[[nodiscard]] Site site_at(const Holder& self, std::uint32_t number) {
  if (self.told_depth == 0) return {nullptr, 0};
  const auto* const function = reinterpret_cast<const unit::Function*>(
      wire::payload_of(self.told_frames[self.told_depth - 1]));
  HoldFunction what =
      self.functions[(reinterpret_cast<std::uintptr_t>(function) >> 5) % Holder::kFunctions];
  if (what.function != function) what = find_hold_function(function);
  if (number - 1 >= what.count) return {nullptr, 0};
  return {&what.sites[number - 1], what.base != 0 ? what.base + number - 1 : 0};
}

void tell_access(Holder& self, Word address, const Site& site) {
  const Word bytes = site.site != nullptr ? site.site->bytes : 8;
  tell_names(self, address, bytes, site.number);
  tell_bytes(address, bytes);
}

void tell_run(Holder& self, const Word* record, std::size_t length) {
  const std::size_t sites = wire::top_of(*record) & 0xf;
  const Word rounds = wire::payload_of(*record) >> 4;
  const Word* const first = record + length - sites;
  for (std::size_t i = 0; i < sites; ++i) {
    const Site site = site_at(self, wire::top_of(first[i]));
    const std::int64_t stride = wire::stride_of(record[1 + i / wire::kStridesInWord], i);
    Word address = wire::address_of(first[i]);
    for (Word k = 0; site.site != nullptr && k <= rounds; ++k) {
      tell_access(self, address & wire::kAddressMask, site);
      address += static_cast<Word>(stride);
    }
  }
}

}  // namespace

void tell_part(Holder& self, Word begin, Word end) {
  const Word frames = self.words[begin] & (kHoldMarks - 1);
  const Word* const frame = &self.words[begin + 1];
  const Word* const marks = (self.words[begin] & kHoldMarks) != 0 ? frame + frames : nullptr;
  const Word body = begin + 1 + (marks != nullptr ? 2 : 1) * frames;
  self.told_depth = 0;
  for (Word& named : self.named) named = 0;
  // What comes first is a time.
  if (body < end) {
    self.told_time = self.words[body];
    tell_word(self, self.told_time);
  }
  for (Word i = 0; i < frames; ++i) {
    tell_word(self, frame[i]);
    push(self, frame[i]);
    if (marks == nullptr || marks[i] == 0) continue;
    const Word mark = wire::control(wire::Control::kFrame, marks[i] << 4, 0);
    tell_word(self, mark);
    if (self.told_depth != 0) self.told_marks[self.told_depth - 1] = wire::payload_of(mark);
  }
  tell_more(self, body, end);
}

void tell_more(Holder& self, Word begin, Word end) {
  using wire::Control;
  Word wide = 0;
  Word leaf = 0;
  for (Word at = begin; at < end;) {
    const Word* const record = &self.words[at];
    const std::size_t length = record_words(*record);
    at += length;
    if (!wire::is_control(*record)) {
      const std::uint32_t number = wire::top_of(*record) | (wire::top_of(wide) << 16);
      if (leaf != 0) push(self, leaf);
      tell_access(self, wire::address_of(*record), site_at(self, number));
      // Together, behind the names.
      if (leaf != 0) {
        tell_word(self, leaf);
        if (self.told_depth != 0) --self.told_depth;
      }
      if (wide != 0) tell_word(self, wide);
      tell_word(self, *record);
      wide = leaf = 0;
      continue;
    }
    const Control kind = wire::kind_of(*record);
    if (kind == Control::kPad) continue;
    if (kind == Control::kLeaf) {
      leaf = *record;
      continue;
    }
    if (kind == Control::kWide) {
      wide = *record;
      continue;
    }
    if (kind == Control::kRun) tell_run(self, record, length);
    if (kind == Control::kRange) {
      const std::uint32_t site = wire::top_of(*record);
      tell_names(self, wire::value_of(record[1]), wire::value_of(record[2]),
                 site_at(self, site).number);
      tell_bytes(wire::value_of(record[1]), wire::value_of(record[2]));
    }
    tell_words(self, record, length);
    switch (kind) {
      case Control::kEnter: push(self, *record); break;
      case Control::kExit: pop(self, *record); break;
      case Control::kTime: self.told_time = *record; break;
      case Control::kFrame:
        if (self.told_depth != 0) {
          self.told_marks[self.told_depth - 1] = wire::payload_of(*record);
        }
        break;
      case Control::kResume: resume(self, wire::payload_of(*record)); break;
      case Control::kSync: {
        const wire::Sync sync = wire::sync_of(*record);
        // A thread may end in the middle of functions.
        if (sync == wire::Sync::kThreadStop) self.told_depth = 0;
        if (sync == wire::Sync::kAtomicLoad || sync == wire::Sync::kAtomicStore ||
            sync == wire::Sync::kAtomicRmw) {
          tell_bytes(wire::value_of(record[1]), 8);
        }
        break;
      }
      default: break;
    }
  }
}

void tell_end(Holder& self) {
  while (self.told_depth > 0 && holding()) {
    --self.told_depth;
    tell_word(self, wire::control(wire::Control::kExit,
                                  wire::payload_of(self.told_frames[self.told_depth]), 0));
  }
}

}  // namespace syndrome::rt
