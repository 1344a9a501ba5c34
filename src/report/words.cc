#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/details.h"
#include "report/pattern_words.h"
#include "report/reordering.h"
#include "spec/pattern.h"

namespace syndrome::report {
namespace {

/// A verb, and what kind of thing follows it.
struct Phrase {
  std::string_view verb;
  std::string_view noun;   // "lock " where the target's name alone would not say what it is
  std::string_view after;  // " (shared)"
};

Phrase phrase_of(EventKind op) {
  switch (op) {
    case EventKind::kRead: return {"reads", "", ""};
    case EventKind::kWrite: return {"writes", "", ""};
    case EventKind::kRmw: return {"updates", "", ""};
    case EventKind::kAcquire: return {"takes", "lock ", ""};
    case EventKind::kRelease: return {"releases", "lock ", ""};
    case EventKind::kAcquireShared: return {"takes", "lock ", " (shared)"};
    case EventKind::kReleaseShared: return {"releases", "lock ", " (shared)"};
    case EventKind::kFork: return {"starts", "", ""};
    case EventKind::kJoin: return {"joins", "", ""};
    case EventKind::kBegin: return {"begins", "", ""};
    case EventKind::kEnd: return {"ends", "", ""};
    case EventKind::kBarrierArrive: return {"arrives at", "barrier ", ""};
    case EventKind::kBarrierLeave: return {"leaves", "barrier ", ""};
    case EventKind::kPost: return {"posts", "semaphore ", ""};
    case EventKind::kWait: return {"passes", "semaphore ", ""};
    case EventKind::kCondWait: return {"is woken by", "condition ", ""};
    case EventKind::kCondSignal: return {"signals", "condition ", ""};
    case EventKind::kCondBroadcast: return {"broadcasts", "condition ", ""};
    case EventKind::kThreadStart: return {"starts running", "", ""};
    case EventKind::kThreadStop: return {"stops", "", ""};
    case EventKind::kAlloc: return {"allocates", "", ""};
    case EventKind::kFree: return {"frees", "", ""};
    case EventKind::kEnter: return {"enters", "", ""};
    case EventKind::kExit: return {"leaves", "", ""};
    case EventKind::kFence: return {"passes a fence", "", ""};
    case EventKind::kHappensBefore: return {"marks happens-before on", "", ""};
    case EventKind::kHappensAfter: return {"marks happens-after on", "", ""};
    case EventKind::kObject: return {"works on", "", ""};
  }
  return {"does", "", ""};
}

std::string where(const Site& site) {
  const std::string place = short_text(own_place(site));
  return place.empty() ? fmt::format("(event {})", site.event)
                       : fmt::format("(event {}, {})", site.event, place);
}

std::string bare_name(const Block& block) {
  if (!block.label.empty()) return function_words(block.label);
  const std::string place = short_text(block.place);
  return place.empty() ? fmt::format("block at event {}", block.begin)
                       : fmt::format("block at {}", place);
}

/// An edge in the past tense, for the message: "T1 read x at 4".
std::string past(EventKind op, std::string_view target) {
  switch (op) {
    case EventKind::kRead: return fmt::format("read {}", target);
    case EventKind::kWrite: return fmt::format("wrote {}", target);
    case EventKind::kRmw: return fmt::format("updated {}", target);
    case EventKind::kAcquire:
    case EventKind::kAcquireShared: return fmt::format("took lock {}", target);
    case EventKind::kRelease:
    case EventKind::kReleaseShared: return fmt::format("released lock {}", target);
    case EventKind::kFork: return fmt::format("started {}", thread_words(target));
    case EventKind::kJoin: return fmt::format("joined {}", thread_words(target));
    case EventKind::kBegin: return "began";
    case EventKind::kEnd: return "ended";
    default: return fmt::format("did {}({})", name_of(op), target);
  }
}

}  // namespace

std::string says(EventKind op, std::string_view target) {
  const Phrase phrase = phrase_of(op);
  if (op == EventKind::kFork || op == EventKind::kJoin) {
    return fmt::format("{} {}", phrase.verb, thread_words(target));
  }
  if (!target_space(op)) return std::string(phrase.verb);
  if (target.empty() && target_space(op) == Space::kLabel) {
    return fmt::format("{} a block", phrase.verb);
  }
  if (target_space(op) == Space::kLabel) {
    return fmt::format("{} {}", phrase.verb, function_words(target));
  }
  return fmt::format("{} {}{}{}", phrase.verb, phrase.noun, target, phrase.after);
}

std::string says_it(EventKind op) {
  const Phrase phrase = phrase_of(op);
  return fmt::format("{} it{}", phrase.verb, phrase.after);
}

std::string thread_words(std::string_view thread) {
  const bool number =
      !thread.empty() && std::ranges::all_of(thread, [](char c) { return c >= '0' && c <= '9'; });
  return number ? fmt::format("thread {}", thread) : std::string(thread);
}

std::string function_words(std::string_view label) {
  return std::string(spec::spoken_name(label));
}

std::string block_words(const Finding& finding, const Block& block) {
  std::string name = bare_name(block);
  bool same_name = false;
  bool same_thread = false;
  for (const Block& other : finding.blocks) {
    if (other.begin == block.begin || bare_name(other) != name) continue;
    same_name = true;
    same_thread |= other.thread == block.thread;
  }
  if (!same_name) return block.label.empty() ? "the " + name : name;
  if (!same_thread) return fmt::format("{}'s {}", thread_words(block.thread), name);
  return fmt::format("{}'s {} (event {})", thread_words(block.thread), name, block.begin);
}

std::string transaction_words(const Finding& finding, const Site& site) {
  const Block* block = site.block == 0 ? nullptr : finding.block_at(site.block);
  return block != nullptr ? block_words(finding, *block) : fmt::format("event {}", site.event);
}

std::string edge_words(const Site& from, const Site& to) {
  const bool same_target = target_space(from.op) == target_space(to.op) &&
                           target_space(from.op) != Space::kLabel && from.target == to.target;
  if (from.thread == to.thread) {
    return fmt::format("{} {} {} before it {} {}", thread_words(from.thread),
                       says(from.op, from.target), where(from), says(to.op, to.target), where(to));
  }
  return fmt::format("{} {} {} before {} {} {}", thread_words(from.thread),
                     says(from.op, from.target), where(from), thread_words(to.thread),
                     same_target ? says_it(to.op) : says(to.op, to.target), where(to));
}

std::string race_words(const Finding& finding) {
  const Site* const earlier = finding.site_at(finding.events.front());
  const Site* const later = finding.site_at(finding.events.back());
  if (earlier == nullptr || later == nullptr) return {};
  return fmt::format("{} {} {}, {} {} {}", thread_words(earlier->thread),
                     says(earlier->op, earlier->target), where(*earlier),
                     thread_words(later->thread), says_it(later->op), where(*later));
}

std::string race_headline(const Finding& finding) {
  const Site* const site = finding.site_at(finding.events.front());
  return site == nullptr ? "data race" : fmt::format("data race on {}", site->target);
}

std::string conflict_words(const Finding& finding) {
  const Block* block = finding.block_at(finding.block);
  const std::string name = block == nullptr ? "the block" : block_words(finding, *block);
  std::string text = fmt::format(
      "{}. Inside {}, no fork, join, barrier or semaphore leads from the one to the other: which "
      "comes first is up to the schedule.",
      race_words(finding), name);
  const Site* const site = finding.site_at(finding.events.front());
  if (site == nullptr) return text;
  switch (site->op) {
    case EventKind::kAcquire:
    case EventKind::kAcquireShared:
      return text + " The lock keeps them apart, but does not say whose turn it is.";
    case EventKind::kWait: return text + " Either can take what was posted.";
    default: return text;
  }
}

std::string_view property_of(const Finding& finding) {
  return finding.check == "determinism" ? "deterministic" : "atomic";
}

std::string message_of(const Finding& finding) {
  if (is_reordering(finding)) return reordering_words(finding);
  if (is_pattern(finding)) {
    return fmt::format("{}, atomic set {}: {} (pattern {}): {}", pattern_headline(finding),
                       finding.set, pattern_words(finding), finding.pattern,
                       pattern_meaning(finding));
  }
  if (finding.rule == "race" && finding.events.size() == 2) {
    return fmt::format("{}: {}; nothing orders the two", race_headline(finding),
                       race_words(finding));
  }
  const Block* block = finding.block == 0 ? nullptr : finding.block_at(finding.block);
  std::string text;
  if (block != nullptr) {
    text = fmt::format("{} ({}) is not {}: ", block_words(finding, *block),
                       thread_words(block->thread), property_of(finding));
  }
  if (finding.rule == "conflict-in-block" && finding.events.size() == 2) {
    return fmt::format("{}{}; nothing inside the block orders the two", text, race_words(finding));
  }
  if (is_set_cycle(finding)) {
    text = fmt::format("{}, atomic set {}: ", set_cycle_headline(finding), finding.set);
  }
  // A long cycle is told by its beginning; the list `cycle` has all of it.
  constexpr std::size_t kToldEdges = 6;
  for (std::size_t i = 0; i < std::min(finding.cycle.size(), kToldEdges); ++i) {
    const Site* from = finding.site_at(finding.cycle[i].from);
    const Site* to = finding.site_at(finding.cycle[i].to);
    if (from == nullptr || to == nullptr) continue;
    if (i != 0) text += "; ";
    text += fmt::format("{} {} at {} before {} {} at {}", thread_words(from->thread),
                        past(from->op, from->target), from->event, thread_words(to->thread),
                        past(to->op, to->target), to->event);
  }
  if (finding.cycle.size() > kToldEdges) {
    text += fmt::format("; and {} more", finding.cycle.size() - kToldEdges);
  }
  if (!finding.cycle.empty()) text += "; no serial order gives this result";
  return text.empty() ? fmt::format("{} at event {}", finding.rule, finding.event) : text;
}

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string result;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) result += ',';
    result += digits[i];
  }
  return result;
}

std::string many(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string many(std::uint64_t number, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", grouped(number), number == 1 ? one : more);
}

}  // namespace syndrome::report
