#include "check/units/rule.h"

namespace syndrome::check::units {
namespace {

/// R W' W and R W' R: what was read is stale when it is used.
Judgement judge_stale(const OneLocation& candidate) {
  const std::uint32_t how = candidate.reaches ? candidate.how : 0;
  if ((how & unit::kFlowCompared) != 0) return {};  // a compare-and-swap notices
  Judgement best;
  if ((how & unit::kFlowData) != 0) {
    const bool pointer = (how & unit::kFlowPointer) != 0;
    // What was taken out is put back, or what was read is added: nothing of v's is lost.
    const bool kept = candidate.updates || candidate.whole || (pointer && candidate.second_writes);
    best = kept      ? Judgement{Tier::kPossible, Link::kData}
           : pointer ? Judgement{Tier::kLikely, Link::kHandle}
                     : Judgement{Tier::kCertain, Link::kData};
  }
  // What v has added is lost.
  if (candidate.second_writes && candidate.added && (how & unit::kFlowReset) != 0) {
    best = better(best, {Tier::kLikely, Link::kReset});
  }
  if (candidate.atomic) {
    // To set a flag twice does no harm.
    const bool decided = candidate.second_writes && (how & unit::kFlowControl) != 0 &&
                         (how & unit::kFlowConstant) == 0 && !candidate.waited;
    if (decided && !candidate.rechecked) best = better(best, {Tier::kLikely, Link::kControl});
    return best;
  }
  if ((how & unit::kFlowAddress) != 0 && !candidate.re_reads)
    best = better(best, {Tier::kLikely, Link::kAddress});
  // What was checked for has been done under the same lock: e2 is another matter.
  if ((how & unit::kFlowControl) != 0 && !candidate.waited && !candidate.re_reads &&
      !candidate.served) {
    best = better(best, {Tier::kLikely, Link::kControl});
  }
  // A fresh read decides e2: whatever was read before does not matter any more.
  if (candidate.rechecked && best.link != Link::kData) best = {};
  if (best.tier == Tier::kNone && (how & unit::kFlowJoined) != 0) {
    best = {Tier::kPossible, Link::kJoined};
  }
  return best;
}

}  // namespace

Judgement judge(const OneLocation& candidate) {
  Judgement best;
  if (!candidate.first_writes) {
    best = judge_stale(candidate);
  } else if (candidate.second_writes && !candidate.atomic &&
             (candidate.how & unit::kFlowSource) != 0) {
    best = {Tier::kLikely, Link::kSource};
  } else if (!candidate.second_writes && candidate.re_reads &&
             (candidate.how & unit::kFlowReread) != 0) {
    best = {Tier::kLikely, Link::kReread};
  }
  if (candidate.held && !candidate.atomic) best = better(best, {Tier::kCertain, Link::kHold});
  if (best.tier == Tier::kNone && !candidate.atomic && !candidate.rechecked) {
    best.tier = Tier::kPossible;
  }
  return best;
}

Judgement judge(const TwoLocations& candidate) {
  const std::uint32_t how = candidate.reaches ? candidate.how : 0;
  const bool together = candidate.other_writes ? candidate.other_section || candidate.other_source
                                               : candidate.other_joins || candidate.other_follows;
  // Two calls with a common argument are mostly two operations with one key, and not two halves of
  // one, unless the other thread takes them for that.
  const bool source =
      candidate.writes && (candidate.how & unit::kFlowSource) != 0 && (candidate.own || together);
  const bool through = (how & unit::kFlowAddress) != 0;  // e2 is where e1 says
  const bool stale = !candidate.writes && through && !candidate.re_reads;
  const bool joined = !candidate.writes && !through && (how & unit::kFlowJoined) != 0;
  const Link link = joined   ? Link::kJoined
                    : source ? Link::kSource
                    : stale  ? Link::kAddress
                             : Link::kNone;
  if (candidate.waited) return {};
  if (candidate.held && !candidate.atomic && (candidate.same_object || link != Link::kNone)) {
    return {Tier::kCertain, Link::kHold};
  }
  // Two operations one after the other, each of them whole: nobody has seen what is in between.
  if (candidate.writes && candidate.other_writes) {
    return candidate.same_object && !candidate.atomic ? Judgement{Tier::kPossible, link}
                                                      : Judgement{};
  }
  if (candidate.compared) return {};
  if (link != Link::kNone && together) return {stale ? Tier::kLikely : Tier::kCertain, link};
  if (!candidate.same_object) return {};
  if (candidate.writes && together && !candidate.both_atomic) return {Tier::kLikely, Link::kOther};
  // Counters that are read one after the other may differ by what is under way, unless whoever
  // writes them always writes both.
  if (candidate.atomic) {
    return joined && candidate.other_own ? Judgement{Tier::kLikely, link} : Judgement{};
  }
  return {joined || source ? Tier::kLikely : Tier::kPossible, link};
}

Judgement judge(const CheckThenAct& candidate) {
  const std::uint32_t how = candidate.reaches ? candidate.how : 0;
  if (candidate.rechecked || (how & unit::kFlowCompared) != 0) return {};
  if (candidate.writes && candidate.same_object && (how & unit::kFlowDecides) != 0) {
    return {Tier::kLikely, Link::kControl};
  }
  if ((how & unit::kFlowAddress) != 0) return {Tier::kLikely, Link::kAddress};
  return {};
}

}  // namespace syndrome::check::units
