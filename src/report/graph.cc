#include "report/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "report/cells.h"
#include "report/diagram.h"
#include "report/story.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

constexpr std::size_t kMostNodes = 60;   // more is not a picture
constexpr std::size_t kMostReasons = 3;  // variables and locks that the label of an edge names
constexpr std::size_t kNoNode = std::numeric_limits<std::size_t>::max();

std::string key_of(EventKind kind, std::string_view target) {
  return fmt::format("{}{}", target_space(kind) == Space::kLock ? 'l' : 'v', target);
}

bool counts(EventKind kind) {
  switch (kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
    case EventKind::kRmw:
    case EventKind::kAcquire:
    case EventKind::kRelease:
    case EventKind::kAcquireShared:
    case EventKind::kReleaseShared: return true;
    default: return false;
  }
}

/// A string of DOT.
std::string dot_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return result + "\"";
}

}  // namespace

TransactionGraph::TransactionGraph(const Finding& finding) : finding_(finding) {
  first_ = std::numeric_limits<EventNumber>::max();
  for (const Step& step : steps_of(finding)) {
    first_ = std::min(first_, step.event);
    last_ = std::max(last_, step.event);
    if (counts(step.op())) targets_.insert(key_of(step.op(), step.target()));
  }
}

void TransactionGraph::take(const Batch& batch, const Names& names) {
  for (std::size_t i = 0; i < batch.events.size() && wants(batch.first + i); ++i) {
    one(batch.first + i, batch.events[i], names);
  }
}

void TransactionGraph::one(EventNumber number, const Event& event, const Names& names) {
  const std::uint32_t id = event.thread.value;
  if (event.kind == EventKind::kBegin) {
    Open& open = open_[id];
    if (open.depth++ == 0) open = {number, 1, std::string(names.label(event.label()))};
  }
  const bool own = finding_.site_at(number) != nullptr;
  const bool touches =
      counts(event.kind) &&
      targets_.contains(key_of(event.kind, names.of(*target_space(event.kind), event.target)));
  if (number >= first_ && (own || touches)) {
    const std::string thread(names.thread(event.thread));
    const Node node = node_at(number, thread, event, names);
    if (node != kNoNode && touches) {
      const std::string_view name = names.of(*target_space(event.kind), event.target);
      const std::string why = target_space(event.kind) == Space::kLock
                                  ? fmt::format("lock {}", name)
                                  : std::string(name);
      Target& target = state_[key_of(event.kind, name)];
      const bool reads = event.kind == EventKind::kRead || event.kind == EventKind::kAcquireShared;
      if (target.written) link(target.writer, node, why);
      if (reads) {
        target.readers.insert(node);
      } else {
        for (const Node reader : target.readers) link(reader, node, why);
        target.readers.clear();
        target.written = true;
        target.writer = node;
      }
    }
  }
  if (event.kind != EventKind::kEnd) return;
  const auto open = open_.find(id);
  if (open != open_.end() && --open->second.depth == 0) open_.erase(open);
}

TransactionGraph::Node TransactionGraph::node_at(EventNumber number, const std::string& thread,
                                                 const Event& event, const Names& names) {
  EventNumber begin = 0;
  std::string name;
  const Site* const site = finding_.site_at(number);
  for (const Block& block : finding_.blocks) {
    const bool inside =
        block.thread == thread && block.begin <= number &&
        (block.end == 0 ? site != nullptr && site->block == block.begin : number <= block.end);
    if (!inside) continue;
    begin = block.begin;
    name = block_words(finding_, block);
  }
  const auto open = open_.find(event.thread.value);
  if (begin == 0 && open != open_.end()) {
    begin = open->second.begin;
    const std::string& label = open->second.label;
    name = label.empty() ? fmt::format("block at event {}", begin) : function_words(label);
  }
  Node node = kNoNode;
  if (const auto known = of_block_.find(begin); begin != 0 && known != of_block_.end()) {
    node = known->second;
  } else {
    if (nodes_.size() >= kMostNodes && site == nullptr) {
      ++left_out_;
      return kNoNode;
    }
    node = nodes_.size();
    if (begin == 0) {
      const std::optional<Space> space = target_space(event.kind);
      name = says(event.kind, space ? names.of(*space, event.target) : std::string_view());
    } else {
      of_block_[begin] = node;
    }
    nodes_.push_back({thread, name, number, number, begin != 0 && begin == finding_.block});
    if (const auto before = before_.find(thread); before != before_.end()) {
      program_order_.insert({before->second, node});
    }
  }
  nodes_[node].last = number;
  before_[thread] = node;
  if (site != nullptr) of_event_[number] = node;
  return node;
}

void TransactionGraph::link(Node from, Node to, const std::string& why) {
  if (from != to && nodes_[from].thread != nodes_[to].thread) links_[{from, to}].insert(why);
}

std::string TransactionGraph::dot() const {
  std::string out = fmt::format(
      "// {}\ndigraph finding {{\n  rankdir=TB;\n  label={};\n  node [shape=box, style=rounded, "
      "fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10, color=gray50, "
      "fontcolor=gray30];\n",
      clean(finding_.fingerprint), dot_string(clean(headline_of(finding_))));
  for (Node i = 0; i < nodes_.size(); ++i) {
    const Transaction& one = nodes_[i];
    const std::string events = one.first == one.last
                                   ? fmt::format("event {}", one.first)
                                   : fmt::format("events {} to {}", one.first, one.last);
    out += fmt::format("  t{} [label={}{}];\n", i,
                       dot_string(fmt::format("{}: {}\n{}", clean(thread_words(one.thread)),
                                              clean(one.name), events)),
                       one.guilty ? ", color=red, penwidth=2" : "");
  }
  std::set<Link> red;
  const std::vector<check::Edge> arrows = arrows_of(finding_);
  for (std::size_t i = 0; i < arrows.size(); ++i) {
    const auto from = of_event_.find(arrows[i].from);
    const auto to = of_event_.find(arrows[i].to);
    if (from == of_event_.end() || to == of_event_.end()) continue;
    const Site& tail = *finding_.site_at(arrows[i].from);
    const Site& head = *finding_.site_at(arrows[i].to);
    red.insert({from->second, to->second});
    out += fmt::format("  t{} -> t{} [color=red, fontcolor=red, penwidth=2, label={}];\n",
                       from->second, to->second,
                       dot_string(fmt::format("{}: {} ({})\nbefore {} ({})", letter(i),
                                              clean(says(tail.op, tail.target)), tail.event,
                                              clean(says(head.op, head.target)), head.event)));
  }
  for (const auto& [pair, reasons] : links_) {
    if (red.contains(pair)) continue;
    std::vector<std::string> named;
    for (const std::string& reason : reasons) {
      if (named.size() == kMostReasons) {
        named.emplace_back("…");
        break;
      }
      named.push_back(clean(reason));
    }
    out += fmt::format("  t{} -> t{} [label={}];\n", pair.from, pair.to,
                       dot_string(fmt::format("{}", fmt::join(named, "\n"))));
  }
  for (const Link& pair : program_order_) {
    if (!red.contains(pair)) {
      out += fmt::format("  t{} -> t{} [style=dashed, arrowhead=open];\n", pair.from, pair.to);
    }
  }
  if (left_out_ != 0) {
    out += fmt::format(
        "  rest [shape=plaintext, label={}];\n",
        dot_string(fmt::format("{} of other transactions are left out", many(left_out_, "event"))));
  }
  return out + "}\n";
}

}  // namespace syndrome::report
