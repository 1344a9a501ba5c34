#include "check/nondeterminism/oracle.h"

#include <algorithm>
#include <vector>

namespace syndrome::check {
namespace {

/// Depth first over all states that correct reorderings lead to. What has been done and the order
/// of the writes to each location are all that matters for what comes next and for the answers.
class BruteForce {
 public:
  BruteForce(std::span<const Event> events, std::size_t most,
             std::span<const Precedence> precedences)
      : trace_(events, precedences), most_(most) {}

  std::optional<Nondeterminism> run() {
    visit(trace_.start(), std::vector<std::vector<EventNumber>>(trace_.locations()));
    if (visited_.size() > most_) return std::nullopt;
    return std::move(result_);
  }

 private:
  using Written = std::vector<std::vector<EventNumber>>;  // by location, in order

  // Deep: one level for each event of the reordering.
  void visit(Reorderings::State state, Written written) {
    if (visited_.size() > most_ || !visited_.insert({state.done, written}).second) return;
    bool complete = true;
    for (std::size_t thread = 0; thread < trace_.threads(); ++thread) {
      const std::vector<EventNumber>& own = trace_.of_thread(thread);
      if (state.done[thread] == own.size()) continue;
      complete = false;
      const EventNumber next = own[state.done[thread]];
      if (!trace_.refusal(state, next).empty()) continue;
      const Event& event = trace_.event(next);
      if (reads(event.kind) && !reads_as_before(next, written[trace_.location(next)])) continue;
      Reorderings::State after = state;
      trace_.apply(after, next);
      Written longer = written;
      if (writes(event.kind)) longer[trace_.location(next)].push_back(next);
      visit(std::move(after), std::move(longer));
    }
    if (complete) end(written);
  }

  /// Otherwise the reordering ends here, and says something about the read.
  bool reads_as_before(EventNumber read, const std::vector<EventNumber>& before) {
    const EventNumber write = trace_.writer(read);
    const EventNumber last = before.empty() ? 0 : before.back();
    if (last == write) return true;
    result_.seen.insert({write, read, last});
    const auto at = std::ranges::find(before, write);
    const bool absent = at == before.end();
    for (auto c = absent ? before.begin() : at + 1; c != before.end(); ++c) {
      result_.feasible.insert({write, read, *c});
    }
    if (absent && write != 0) result_.feasible.insert({write, read, 0});
    return false;
  }

  void end(const Written& written) {
    for (std::size_t location = 0; location < written.size(); ++location) {
      const EventNumber write = trace_.finals()[location];
      if (write != 0 && written[location].back() != write) {
        result_.unsettled.insert({write, written[location].back()});
      }
    }
  }

  Reorderings trace_;
  std::size_t most_;
  std::set<std::pair<std::vector<std::uint32_t>, Written>> visited_;
  Nondeterminism result_;
};

}  // namespace

std::optional<Nondeterminism> nondeterminism_oracle(std::span<const Event> events, std::size_t most,
                                                    std::span<const Precedence> precedences) {
  return BruteForce(events, most, precedences).run();
}

}  // namespace syndrome::check
