#include "engine/pairs.h"

namespace syndrome::engine {
namespace {

/// A way on its way up to the calls around it.
struct Climb {
  Step at;
  bool reaches = true;  // what is read comes up to the step
  bool steered = true;  // an argument can decide where or whether the access is
  bool own = true;      // the step is the access

  explicit Climb(Step step) : at(step) {}
  void up() {
    reaches = reaches && at.node->has_site(at.site, SiteInfo::kReaches);
    steered = steered && at.node->has_site(at.site, SiteInfo::kSteered);
    own = false;
    at = {at.node->parent, at.node->call};
  }
};

/// To the innermost function that both are in; false: there is none.
bool meet(Climb& first, Climb& second) {
  if (first.at.node == nullptr || second.at.node == nullptr) return false;
  while (first.at.node->depth > second.at.node->depth) first.up();
  while (second.at.node->depth > first.at.node->depth) second.up();
  while (first.at.node != second.at.node) {
    if (first.at.node->depth == 0) return false;
    first.up();
    second.up();
  }
  return first.at.node->function != nullptr;
}

/// Index of the step in its unit; false: not known.
bool index_of(const Step& step, std::uint32_t& index) {
  if (step.node->unit == nullptr || step.site - 1 >= step.node->count) return false;
  index = step.node->unit->step(step.node->function->first + step.site - 1);
  return true;
}

}  // namespace

Pairs::Steps Pairs::steps(const Contexts& contexts, std::uint32_t first, std::uint32_t second) {
  Climb from(contexts.step_of(first));
  Climb to(contexts.step_of(second));
  if (!meet(from, to)) return {};
  return {from.at.node, from.at.site, to.at.site};
}

Pairs::Answer Pairs::find(const Contexts& contexts, std::uint32_t first, std::uint32_t second) {
  const Step one = contexts.step_of(first);
  const Step other = contexts.step_of(second);
  Climb from(one);
  Climb to(other);
  Answer answer = kValid;
  if (one.node != nullptr && one.node->has_site(one.site, SiteInfo::kAlsoReads)) {
    answer |= kFirstAlsoReads;
  }
  if (!meet(from, to) || from.at.site == to.at.site) return answer;
  std::uint32_t from_index = 0;
  std::uint32_t to_index = 0;
  const bool known = index_of(from.at, from_index) && index_of(to.at, to_index);
  if (known && from_index == to_index) return answer;
  answer |= kDiffers | (Answer{from.at.node->depth} << 2);
  const SiteInfo* const second_info = other.node->site(other.site);
  if (!known || second_info == nullptr) return answer;

  const std::uint32_t how = from.at.node->unit->how(from_index, to_index);
  const bool atomic = second_info->kind == unit::SiteKind::kAtomic;
  const bool only_reads =
      second_info->kind == unit::SiteKind::kRead || second_info->kind == unit::SiteKind::kRangeRead;
  const bool may_read = only_reads || second_info->has(SiteInfo::kAlsoReads);
  const bool decides = second_info->has(SiteInfo::kDecides);
  const auto has = [how](std::uint32_t flow) { return (how & flow) != 0; };

  if (from.reaches && !has(unit::kFlowCompared)) {
    // What is taken out and put back, as far as it is a pointer, is not lost.
    const bool kept = has(unit::kFlowPointer) && !may_read;
    // What a call is given need not have to do with what it reads.
    const bool aside = only_reads && !to.steered;
    if (has(unit::kFlowData) && !kept && !aside) answer |= kData;
    const bool anew = only_reads && decides;
    if (has(unit::kFlowAddress) && !anew) answer |= kAddress;
    if (has(unit::kFlowControl) && !anew) answer |= kControl;
    if (has(unit::kFlowReset) && (!only_reads || atomic)) answer |= kReset;
  }
  if (from.reaches && has(unit::kFlowControl | unit::kFlowCompared)) answer |= kLooks;
  if (has(unit::kFlowSource) && from.own && to.own) answer |= kSource;
  if (has(unit::kFlowReread) && decides && may_read) answer |= kReread;
  if (from.reaches && to.reaches && has(unit::kFlowJoined | unit::kFlowAddress))
    answer |= kTwoReads;
  if (has(unit::kFlowSource)) answer |= kTwoWrites;
  if (from.reaches && has(unit::kFlowDecides | unit::kFlowAddress) && !has(unit::kFlowCompared)) {
    answer |= kCheck;
  }
  if (has(unit::kFlowJoined | unit::kFlowSource | unit::kFlowDecides)) answer |= kTogether;
  return answer;
}

}  // namespace syndrome::engine
