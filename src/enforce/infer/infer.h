// Learns atomic pairs from the events of one correct run, in one pass (Figure 5 of the paper).
//
// Two accesses of a thread to a variable with none of its own in between are a pair. What other
// threads did in between is its type: nothing (exclusive), reads (read) or a write (none). Where it
// lies is its *frontier*: the last function that was open at both accesses, and in it the two
// labels, each an access or the call that leads to it. Functions are compared by activation: calls
// in a loop are different ones. A pair whose accesses have no function in common has no place, and
// is passed over.
//
// Profiles are per instance, and merged by name: "Account::balance" is all accounts'. An instance
// that only one thread has accessed is no shared variable, and its pairs do not count.
//
// Of the program's locks those count that are held exclusively, each acquisition by itself.
//
// Variables that count as one (groups.h) are one instance for each object. What the program's
// SYNDROME_ATOMIC_SET says about them stands in the trace.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "enforce/infer/groups.h"
#include "enforce/profile.h"
#include "event/event.h"
#include "event/names.h"

namespace syndrome::enforce {

struct InferOptions {
  /// Variables that belong together: each list counts as one variable, for fields of one object one
  /// for each object.
  std::vector<Group> together;
  /// Whether companions() is asked for.
  bool correlate = false;
};

/// The name that all instances share, and what tells them apart: "Account::balance@55d0~2" is
/// {"Account::balance", "@55d0~2"}. The first is empty for memory that has only an address.
struct InstanceName {
  std::string_view variable;
  std::string_view instance;
};
[[nodiscard]] InstanceName split_instance(std::string_view name);
/// Likewise of a lock: "Account::mutex".
[[nodiscard]] std::string lock_name(std::string_view name);

class Inference {
 public:
  explicit Inference(const InferOptions& options) : correlate_(options.correlate) {
    for (const Group& group : options.together) groups_.add(group);
  }

  /// The next events, well-formed (trace/wellformed.h).
  void take(const Batch& batch, const Names& names);
  /// After the last one.
  [[nodiscard]] Profile result(const Names& names) const;
  /// Likewise: which variables functions access together.
  [[nodiscard]] Companions companions(const Names& names) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// A function that was called; who refers to it keeps it and what it was called from.
  struct Activation {
    std::uint32_t parent = kNone;
    std::uint32_t function = 0;  // label; 0: a thread's outside
    std::uint32_t site = 0;      // of the call
    std::uint32_t depth = 0;
    std::uint32_t references = 0;
    std::vector<std::uint32_t> met;  // instances that it has accessed, as long as few
  };
  struct Here {
    std::uint32_t site = 0;
    SpotKind kind = SpotKind::kRead;
    friend bool operator==(const Here&, const Here&) = default;
  };
  struct PairIds {
    std::uint32_t function = 0;
    Here first;
    Here second;
    friend bool operator==(const PairIds&, const PairIds&) = default;
  };
  struct PairHash {
    std::size_t operator()(const PairIds& pair) const noexcept;
  };
  struct Held {
    std::uint32_t lock = 0;
    EventNumber since = 0;  // which acquisition
    friend bool operator==(const Held&, const Held&) = default;
  };
  /// The last access of one thread to one variable, and what came after it from others.
  struct Last {
    ThreadId thread;
    std::uint32_t activation = kNone;
    Here here;
    bool remote_read = false;
    bool remote_write = false;
    std::vector<Held> held;
  };
  struct PairState {
    std::uint32_t pair = 0;
    AtomicType type = AtomicType::kTop;
    std::uint64_t seen = 0;
    std::vector<std::uint32_t> locks;  // held over the pair each time
  };
  struct Instance {
    std::uint32_t name = 0;    // in variables_
    std::uint32_t object = 0;  // the same for fields of one object
    bool guards_known = false;
    std::vector<Last> lasts;
    std::vector<PairState> pairs;
    std::vector<std::uint32_t> guards;
  };
  struct ThreadState {
    std::vector<std::uint32_t> stack;      // activations, outermost first
    std::vector<std::uint32_t> functions;  // their labels, marks too
    std::vector<Held> held;
  };
  struct VariableName {
    std::string name;
    std::unordered_set<std::uint32_t> accesses;  // pair ids with first == second
    std::unordered_set<std::uint32_t> cases;     // labels of functions
    /// By function and another variable, which comes later.
    std::unordered_set<std::uint64_t> together;
  };

  void apply(const Event& event, EventNumber number, const Names& names);
  void access(const Event& event, const Names& names);
  void meet(Activation& activation, std::uint32_t instance);
  void take_sets(const Names& names);
  void pair(Instance& instance, const Last& last, const ThreadState& thread, Here here);
  [[nodiscard]] ThreadState& thread(ThreadId id);
  [[nodiscard]] Instance* instance(VarId variable, const Names& names);
  void enter(ThreadState& thread, const Event& event, const Names& names);
  void leave(ThreadState& thread, LabelId function);
  void pop(ThreadState& thread);
  void keep(std::uint32_t activation) { ++activations_[activation].references; }
  void drop(std::uint32_t activation);
  [[nodiscard]] std::uint32_t intern(const PairIds& pair);

  bool correlate_;
  VariableGroups groups_;
  std::size_t labels_taken_ = 0;
  std::map<std::string, Group, std::less<>> sets_;  // of SYNDROME_ATOMIC_SET
  std::vector<Activation> activations_;
  std::vector<std::uint32_t> free_;
  std::vector<ThreadState> threads_;
  std::vector<std::uint32_t> instance_of_;  // by VarId; kNone: not looked at, kNone - 1: no name
  std::vector<Instance> instances_;
  std::unordered_map<std::string, std::uint32_t> grouped_;  // instances of variables together
  std::unordered_map<std::string, std::uint32_t> objects_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<VariableName> variables_;
  std::unordered_map<PairIds, std::uint32_t, PairHash> pair_ids_;
  std::vector<PairIds> pairs_;
};

}  // namespace syndrome::enforce
