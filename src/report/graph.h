// The transaction graph around a finding, for Graphviz: its blocks, and every other transaction
// that touched the same variables and locks between its first and its last event; an edge from one
// to another that conflicts with it and comes later, those of the cycle in red.

#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "event/event.h"
#include "event/names.h"
#include "report/report.h"

namespace syndrome::report {

class TransactionGraph {
 public:
  explicit TransactionGraph(const Finding& finding);  // outlives it

  /// Whether later events can still matter.
  [[nodiscard]] bool wants(EventNumber number) const { return number <= last_; }
  void take(const Batch& batch, const Names& names);
  [[nodiscard]] std::string dot() const;

 private:
  using Node = std::size_t;
  struct Transaction {
    std::string thread;
    std::string name;
    EventNumber first = 0;
    EventNumber last = 0;
    bool guilty = false;
  };
  struct Link {
    Node from = 0;
    Node to = 0;
    friend auto operator<=>(const Link&, const Link&) = default;
  };
  struct Open {  // the outermost begin … end that a thread is in
    EventNumber begin = 0;
    std::size_t depth = 0;
    std::string label;
  };
  struct Target {
    bool written = false;
    Node writer = 0;
    std::set<Node> readers;  // since the last write
  };

  void one(EventNumber number, const Event& event, const Names& names);
  Node node_at(EventNumber number, const std::string& thread, const Event& event,
               const Names& names);
  void link(Node from, Node to, const std::string& why);

  const Finding& finding_;
  EventNumber first_ = 0;
  EventNumber last_ = 0;
  std::set<std::string, std::less<>> targets_;  // by space and name
  std::map<std::uint32_t, Open> open_;          // by thread
  std::map<EventNumber, Node> of_block_;        // by begin
  std::map<EventNumber, Node> of_event_;        // of the finding's own events
  std::vector<Transaction> nodes_;
  std::map<Link, std::set<std::string>> links_;
  std::map<std::string, Target, std::less<>> state_;
  std::map<std::string, Node, std::less<>> before_;  // of a thread: its last transaction
  std::set<Link> program_order_;
  std::size_t left_out_ = 0;  // events of further transactions
};

}  // namespace syndrome::report
