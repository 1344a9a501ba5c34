#include "check/nondeterminism/decide.h"

#include <algorithm>

namespace syndrome::check {

void DecisionCounts::add(const DecisionCounts& other) {
  reads += other.reads;
  triples += other.triples;
  refuted_by_order += other.refuted_by_order;
  feasible += other.feasible;
  choices += other.choices;
  undecided_reads += other.undecided_reads;
}

/// A question about a reordering that ends in the read.
void Decider::restart(const std::vector<std::uint32_t>& wanted) {
  question_.wanted = wanted;
  question_.edges.clear();
  question_.last_write = kNoIndex;
  question_.limit.resize(order_.threads());
  for (std::size_t t = 0; t < order_.threads(); ++t) {
    question_.limit[t] = static_cast<std::uint32_t>(order_.of_thread(t).size());
  }
  if (read_ != kNoIndex) question_.limit[order_.thread(read_)] = order_.position(read_);
}

void Decider::want(Index e) {
  std::uint32_t& wanted = question_.wanted[order_.thread(e)];
  wanted = std::max(wanted, order_.position(e) + 1);
}

Answer Decider::ask() {
  const Answer answer = search_.ask(question_);
  verdict_.undecided |= answer == Answer::kUndecided;
  return answer;
}

void Decider::prove(const Family& family) {
  for (std::uint32_t place = family.from; place < family.to; ++place) {
    proven_[place - first_place_] = 1;
  }
}

/// Notes what the read reads in the reordering that was found.
void Decider::saw() {
  const Index seen = search_.last_write(order_.object(read_));
  if (verdict_.seen != kNoIndex || verdict_.seen_initial) return;
  verdict_.seen = seen;
  verdict_.seen_initial = seen == kNoIndex;
}

ReadVerdict Decider::decide(Index read) {
  read_ = read;
  writer_ = order_.writer(read);
  verdict_ = {};
  verdict_.read = read;
  groups_ = order_.writes().threads(order_.object(read));
  if (groups_.empty()) {
    ++counts_.reads;
    return {};
  }
  first_place_ = groups_.front().begin;
  const std::size_t places = groups_.back().end - first_place_;
  for (std::vector<std::uint8_t>* marks : {&proven_, &in_question_, &chosen_}) {
    if (marks->size() < places) marks->resize(places, 0);
  }
  touched_.clear();
  base_.assign(order_.threads(), 0);
  order_.join_before(read, base_.data());

  without_writer();
  if (writer_ != kNoIndex) after_writer();
  conclude();
  return std::move(verdict_);
}

/// The clocks do not refute these.
void Decider::question(const Family& family) {
  for (std::uint32_t place = family.from; place < family.to; ++place) {
    in_question_[place - first_place_] = 1;
  }
  for (Family& known : touched_) {
    if (known.group.thread != family.group.thread) continue;
    known.from = std::min(known.from, family.from);
    known.to = std::max(known.to, family.to);
    return;
  }
  touched_.push_back(family);
}

/// Reads the marks, counts them, and takes them back.
void Decider::conclude() {
  std::ranges::sort(touched_, {}, &Family::from);
  std::uint64_t asked = 0;
  for (const Family& family : touched_) {
    for (std::uint32_t place = family.from; place < family.to; ++place) {
      const std::uint32_t i = place - first_place_;
      asked += in_question_[i];
      counts_.choices += chosen_[i];
      if (proven_[i] != 0) {
        ++counts_.feasible;
        if (!verdict_.feasible.empty() && verdict_.feasible.back().second == place) {
          ++verdict_.feasible.back().second;
        } else {
          verdict_.feasible.emplace_back(place, place + 1);
        }
      }
      proven_[i] = in_question_[i] = chosen_[i] = 0;
    }
  }
  counts_.feasible += verdict_.initial ? 1 : 0;
  ++counts_.reads;
  counts_.undecided_reads += verdict_.undecided ? 1 : 0;
  // All writes but w and the read's own, and the initial value unless that is w.
  const std::uint64_t triples =
      groups_.back().end - first_place_ - (Order::is_write(order_.op(read_)) ? 1 : 0);
  counts_.triples += triples;
  counts_.refuted_by_order += triples - std::min(triples, asked + (verdict_.initial ? 1 : 0));
}

/// Case A, and all there is when the read read the initial value.
void Decider::without_writer() {
  const bool initial = writer_ == kNoIndex;
  if (!initial && base_[order_.thread(writer_)] > order_.position(writer_)) return;
  families_.clear();
  for (const OfThread& group : groups_) {
    const std::span<const Index> events = order_.writes().events(group);
    const auto end = std::ranges::partition_point(events, [&](Index c) {
      return !order_.before(read_, c) && (initial || !order_.before(writer_, c));
    });
    if (end == events.begin()) continue;
    families_.push_back(
        {group, group.begin, group.begin + static_cast<std::uint32_t>(end - events.begin())});
    question(families_.back());
  }
  if (initial && families_.empty()) return;
  if (ask_without(families_) == Answer::kYes) {
    for (const Family& family : families_) prove(family);
    verdict_.initial = !initial;
    saw();
    return;
  }
  if (!initial) {
    if (!families_.empty() && ask_without({}) != Answer::kYes) return;
    if (families_.empty()) return;  // that was the question
    verdict_.initial = true;
    saw();
  }
  const std::vector<Family> families = families_;
  for (Family family : families) {
    // What is there anyway is proven with the question above.
    while (!initial && family.from < family.to &&
           base_[family.group.thread] > order_.position(at(family.from))) {
      proven_[family.from++ - first_place_] = 1;
    }
    last_of(family);
  }
}

/// Proves the writes of the family up to the last one that can be there.
void Decider::last_of(const Family& family) {
  std::uint32_t low = family.from;  // all before it can
  std::uint32_t high = family.to + 1;
  while (low + 1 < high) {
    // The last one first: mostly it can.
    const std::uint32_t middle = high == family.to + 1 ? family.to : low + (high - low) / 2;
    const Family part{family.group, family.from, middle};
    if (ask_without({&part, 1}) == Answer::kYes) {
      prove(part);
      saw();
      low = middle;
    } else {
      high = middle;
    }
  }
}

/// Whether the last writes of all these can be there without w.
Answer Decider::ask_without(std::span<const Family> families) {
  restart(base_);
  if (writer_ != kNoIndex) {
    std::uint32_t& limit = question_.limit[order_.thread(writer_)];
    limit = std::min(limit, order_.position(writer_));
  }
  for (const Family& family : families) want(at(family.to - 1));
  const Answer answer = ask();
  if (search_.had_choices()) {
    for (const Family& family : families) chosen_[family.to - 1 - first_place_] = 1;
  }
  return answer;
}

/// Case B.
void Decider::after_writer() {
  with_writer_ = base_;
  order_.join(writer_, with_writer_.data());
  families_.clear();
  for (const OfThread& group : groups_) {
    const std::span<const Index> events = order_.writes().events(group);
    const auto begin =
        std::ranges::partition_point(events, [&](Index c) { return order_.before(c, writer_); });
    const auto end =
        std::ranges::partition_point(events, [&](Index c) { return !order_.before(read_, c); });
    Family family{group, group.begin + static_cast<std::uint32_t>(begin - events.begin()),
                  group.begin + static_cast<std::uint32_t>(end - events.begin())};
    if (family.from < family.to) question(family);
    while (family.from < family.to && proven_[family.from - first_place_] != 0) ++family.from;
    while (family.from < family.to && proven_[family.to - 1 - first_place_] != 0) --family.to;
    if (family.from < family.to) families_.push_back(family);
  }
  if (families_.empty()) return;
  if (ask_behind(families_) == Answer::kYes) {
    for (const Family& family : families_) prove(family);
    saw();
    return;
  }
  const std::vector<Family> families = families_;
  for (const Family& family : families) {
    if (families.size() > 1 && ask_behind({&family, 1}) == Answer::kYes) {
      prove(family);
      saw();
    } else if (family.to - family.from > 1) {
      behind(family);
    }
  }
}

/// Of a range that is not feasible as a whole: what is.
void Decider::behind(Family family) {
  // How far the thread can go at all; its first write may be there already.
  std::uint32_t low = family.from;
  std::uint32_t high = family.to + 1;
  while (low + 1 < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    restart(with_writer_);
    want(at(middle - 1));
    (ask() == Answer::kYes ? low : high) = middle;
  }
  family.to = low;
  // From where on writes can be kept from coming before w.
  low = family.from;
  high = family.to;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    restart(with_writer_);
    want(writer_);
    question_.edges.push_back({writer_, at(middle)});
    if (ask() == Answer::kYes) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  family.from = low;
  if (family.from < family.to) halve(family);
}

void Decider::halve(const Family& family) {
  if (ask_behind({&family, 1}) == Answer::kYes) {
    prove(family);
    saw();
    return;
  }
  if (family.to - family.from < 2) return;
  const std::uint32_t middle = family.from + (family.to - family.from) / 2;
  halve({family.group, family.from, middle});
  halve({family.group, middle, family.to});
}

/// Whether all these writes can be there behind w.
Answer Decider::ask_behind(std::span<const Family> families) {
  restart(with_writer_);
  want(writer_);
  for (const Family& family : families) {
    want(at(family.to - 1));
    question_.edges.push_back({writer_, at(family.from)});
  }
  const Answer answer = ask();
  if (search_.had_choices()) {
    for (const Family& family : families) {
      for (std::uint32_t place = family.from; place < family.to; ++place) {
        chosen_[place - first_place_] = 1;
      }
    }
  }
  return answer;
}

Answer Decider::reads_from(Index read, Index challenger) {
  read_ = read;
  base_.assign(order_.threads(), 0);
  order_.join_before(read, base_.data());
  restart(base_);
  if (challenger != kNoIndex) {
    want(challenger);
    question_.last_write = challenger;
  }
  // No later write of the challenger's thread; none at all before the initial value is read.
  for (const OfThread& group : order_.writes().threads(order_.object(read))) {
    if (challenger != kNoIndex && group.thread != order_.thread(challenger)) continue;
    const std::span<const Index> events = order_.writes().events(group);
    const auto next =
        challenger == kNoIndex ? events.begin() : std::ranges::upper_bound(events, challenger);
    if (next == events.end()) continue;
    std::uint32_t& limit = question_.limit[group.thread];
    limit = std::min(limit, order_.position(*next));
  }
  return search_.ask(question_);
}

Answer Decider::ends_with(Index challenger) {
  read_ = kNoIndex;
  base_.resize(order_.threads());
  for (std::size_t t = 0; t < order_.threads(); ++t) {
    base_[t] = static_cast<std::uint32_t>(order_.of_thread(t).size());
  }
  restart(base_);
  question_.last_write = challenger;
  return search_.ask(question_);
}

}  // namespace syndrome::check
