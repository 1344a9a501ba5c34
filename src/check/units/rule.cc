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
    best = pointer ? Judgement{Tier::kLikely, Link::kHandle} : Judgement{Tier::kCertain, Link::kData};
  }
  if (candidate.atomic) return best;
  if ((how & unit::kFlowAddress) != 0) best = better(best, {Tier::kLikely, Link::kAddress});
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
  }
  if (candidate.held && !candidate.atomic) best = better(best, {Tier::kCertain, Link::kHold});
  if (best.tier == Tier::kNone && !candidate.atomic && !candidate.rechecked) {
    best.tier = Tier::kPossible;
  }
  return best;
}

Judgement judge(const TwoLocations& candidate) {
  const std::uint32_t how = candidate.reaches ? candidate.how : 0;
  const bool joined = !candidate.writes && (how & unit::kFlowJoined) != 0;
  const bool source = candidate.writes && (candidate.how & unit::kFlowSource) != 0;
  const bool stale = !candidate.writes && (how & unit::kFlowAddress) != 0;
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
  if (link != Link::kNone && candidate.other_together) {
    return {stale ? Tier::kLikely : Tier::kCertain, link};
  }
  if (candidate.atomic || !candidate.same_object) return {};
  return {joined || source ? Tier::kLikely : Tier::kPossible, link};
}

}  // namespace syndrome::check::units
