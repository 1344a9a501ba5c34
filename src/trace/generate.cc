#include "trace/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <utility>

#include "trace/random.h"

namespace syndrome::trace {
namespace {

// The shape of a scope.
constexpr std::uint32_t kMinAccesses = 4;
constexpr std::uint32_t kMaxAccesses = 16;
constexpr std::uint32_t kLengths = kMaxAccesses - kMinAccesses + 1;
constexpr std::uint32_t kBareExtra = 2;   // acq, rel
constexpr std::uint32_t kBlockExtra = 4;  // begin, acq, rel, end
constexpr std::uint32_t kSmallestScope = kMinAccesses + kBareExtra;
constexpr std::uint32_t kLargestScope = kMaxAccesses + kBlockExtra;
constexpr std::uint32_t kOneBareIn = 10;
constexpr std::uint32_t kWritePercent = 30;

// Functions of each length: enough sites (2,132) to be like a program of some size.
constexpr std::uint32_t kBlockVariants = 10;
constexpr std::uint32_t kBareVariants = 2;

// Sites 1 and 2; those of functions follow.
constexpr std::uint32_t kForkSite = 1;
constexpr std::uint32_t kJoinSite = 2;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// A function of the imagined program: the sites of a scope are site, site + 1, ….
struct Function {
  std::uint32_t site = 0;
  std::uint32_t label = 0;   // 0: not a block
  std::uint16_t writes = 0;  // bit i: access i is a write
  std::uint16_t accesses = 0;
};
static_assert(kMaxAccesses <= 16, "Function::writes has a bit for each access");

enum class Phase : std::uint8_t { kIdle, kAcquire, kAccess, kRelease, kEnd };

/// A thread at work. Idle between scopes; `next` links those that wait for one lock.
struct Worker {
  std::uint32_t lock = 0;
  std::uint32_t first_var = 0;
  std::uint32_t var_count = 0;
  std::uint32_t site = 0;   // of the next event
  std::uint32_t label = 0;  // of the block, 0: none
  std::uint32_t next = kNone;
  std::uint16_t writes = 0;  // bit 0: the next access is a write
  std::uint8_t accesses_left = 0;
  Phase phase = Phase::kIdle;
};
static_assert(sizeof(Worker) == 28 && kMaxAccesses < 256);

struct LockState {
  std::uint32_t first_waiter = kNone;  // in order of arrival
  std::uint32_t last_waiter = kNone;
  bool held = false;
};

struct PlantedStep {
  bool interloper;  // of thread B
  EventKind kind;
  std::uint32_t site;  // from the first of this violation
};
// A's sites come first, then B's; each are consecutive.
constexpr std::array<PlantedStep, 11> kPlanted = {{
    {false, EventKind::kBegin, 0},
    {false, EventKind::kAcquire, 1},
    {false, EventKind::kRead, 2},
    {false, EventKind::kRelease, 3},
    {true, EventKind::kAcquire, 8},
    {true, EventKind::kWrite, 9},
    {true, EventKind::kRelease, 10},
    {false, EventKind::kAcquire, 4},
    {false, EventKind::kWrite, 5},
    {false, EventKind::kRelease, 6},
    {false, EventKind::kEnd, 7},
}};
// Events of others between two steps: fewer than this.
constexpr std::uint32_t kPlantedGap = 8;

/// Functions of every length, `variants` of each; of all their accesses exactly kWritePercent (as
/// near as can be) are writes. Labels are `stem` and a number.
std::vector<Function> make_functions(Names& names, Random& random, std::uint32_t variants,
                                     std::string_view stem, bool block) {
  std::vector<Function> functions;
  std::uint32_t accesses = 0;
  for (std::uint32_t length = kMinAccesses; length <= kMaxAccesses; ++length) {
    for (std::uint32_t variant = 0; variant < variants; ++variant) {
      Function function;
      function.accesses = static_cast<std::uint16_t>(length);
      function.site = static_cast<std::uint32_t>(names.table(Space::kSite).size());
      const std::uint32_t sites = length + (block ? kBlockExtra : kBareExtra);
      for (std::uint32_t i = 0; i < sites; ++i) {
        names.table(Space::kSite).append(fmt::format("worker.cc:{}", function.site + i));
      }
      if (block) {
        function.label =
            names.table(Space::kLabel).append(fmt::format("{}_{}", stem, functions.size()));
      }
      accesses += length;
      functions.push_back(function);
    }
  }
  // Selection sampling: goes over the accesses once and takes exactly `writes` of them.
  std::uint32_t writes = accesses * kWritePercent / 100;
  for (Function& function : functions) {
    for (std::uint32_t i = 0; i < function.accesses; ++i, --accesses) {
      if (random.below(accesses) >= writes) continue;
      function.writes = static_cast<std::uint16_t>(function.writes | 1U << i);
      --writes;
    }
  }
  return functions;
}

[[nodiscard]] std::uint64_t forks_and_joins(const GenerateOptions& options) {
  return 2 * (std::uint64_t{options.threads} - 1);
}

[[nodiscard]] Status validate(const GenerateOptions& o) {
  const auto outside = [](std::string_view what, std::uint64_t value, std::uint64_t least,
                          std::uint64_t most) {
    return Error{fmt::format("{}: expected {} to {}, found {}", what, least, most, value)};
  };
  if (o.threads < 1 || o.threads > kMaxGeneratedThreads) {
    return outside("threads", o.threads, 1, kMaxGeneratedThreads);
  }
  if (o.variables < 1 || o.variables > kMaxGeneratedVariables) {
    return outside("variables", o.variables, 1, kMaxGeneratedVariables);
  }
  if (o.locks < 1 || o.locks > o.variables) {
    return Error{
        fmt::format("locks: expected 1 to {}, found {}: each lock has a variable of its "
                    "own at least, and there are {} variables",
                    o.variables, o.locks, o.variables)};
  }
  if (o.violations > kMaxGeneratedViolations) {
    return outside("violations", o.violations, 0, kMaxGeneratedViolations);
  }
  if (o.violations > 0 && o.threads < 2) {
    return Error{
        "violations: a violation takes two threads, and there is one; give 2 threads or "
        "more"};
  }
  if (o.events < 1 || o.events > kMaxGeneratedEvents) {
    return outside("events", o.events, 1, kMaxGeneratedEvents);
  }
  const std::uint64_t fixed = forks_and_joins(o) + std::uint64_t{o.violations} * kPlanted.size();
  if (o.events != fixed && o.events < fixed + kSmallestScope) {
    std::string without_scopes = fixed > 0 ? fmt::format(", or exactly {}", fixed) : "";
    return Error{fmt::format(
        "events: {} are too few: to fork and join {} threads takes {}, {} violations take {}, and "
        "the smallest lock scope takes {}; give at least {}{}",
        o.events, o.threads, forks_and_joins(o), o.violations,
        std::uint64_t{o.violations} * kPlanted.size(), kSmallestScope, fixed + kSmallestScope,
        without_scopes)};
  }
  return {};
}

}  // namespace

class GeneratedSource::State {
 public:
  explicit State(const GenerateOptions& options);

  [[nodiscard]] Batch next();
  [[nodiscard]] const Names& names() const { return names_; }
  [[nodiscard]] std::uint64_t made() const { return made_; }
  [[nodiscard]] std::uint64_t total() const { return options_.events; }

  std::vector<std::string> warnings;  // none ever

 private:
  static constexpr std::size_t kBatch = 4096;

  void emit(std::uint32_t thread, EventKind kind, std::uint32_t target, std::uint32_t site) {
    assert(filled_ < buffer_.size());
    Event& event = buffer_[filled_++];
    event.thread = ThreadId(thread);
    event.target = target;
    event.site = SiteId(site);
    event.kind = kind;
    event.flags = 0;
  }

  void start_scope(Worker& worker);
  void step(std::uint32_t place);
  void stop_running(std::uint32_t place) {
    runnable_[place] = runnable_.back();
    runnable_.pop_back();
  }
  void wait_for_lock(std::uint32_t place);
  void release(std::uint32_t lock);

  [[nodiscard]] bool violation_due() const {
    return planted_ < options_.violations && made_ + filled_ >= due_;
  }
  void plan_next_violation();
  void find_actor(std::uint32_t place);
  void step_violation();

  GenerateOptions options_;
  Names names_;
  Random random_;
  std::vector<Function> blocks_;
  std::vector<Function> bare_;
  std::uint32_t planted_site_ = 0;   // the first of the first violation
  std::uint32_t planted_label_ = 0;  // of the first violation

  std::vector<Event> buffer_;
  std::size_t filled_ = 0;
  std::uint64_t made_ = 0;  // events of batches before this one

  std::vector<Worker> workers_;
  std::vector<LockState> locks_;
  std::vector<std::uint32_t> runnable_;  // workers that neither wait, nor act, nor are done
  std::vector<std::uint32_t> done_;      // idle for want of budget
  std::uint64_t budget_;                 // events for scopes that have not started
  std::uint32_t forked_ = 1;             // threads, T0 included
  std::uint32_t joined_ = 1;

  // The violation in progress or to come next.
  std::uint32_t planted_ = 0;                             // complete
  std::uint64_t due_ = 0;                                 // when so many events are made
  std::array<std::uint32_t, 2> actors_ = {kNone, kNone};  // A and B, not runnable meanwhile
  std::uint32_t planted_step_ = 0;
  std::uint32_t gap_ = 0;  // events of others before the next step
};

GeneratedSource::State::State(const GenerateOptions& options)
    : options_(options),
      random_(options.seed),
      buffer_(static_cast<std::size_t>(std::min<std::uint64_t>(kBatch, options.events))),
      budget_(options.events - forks_and_joins(options) -
              std::uint64_t{options.violations} * kPlanted.size()) {
  const auto number_names = [&](Space space, std::string_view stem, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      names_.table(space).append(fmt::format("{}{}", stem, i));
    }
  };
  number_names(Space::kThread, "T", options.threads);
  number_names(Space::kVariable, "V", options.variables);
  number_names(Space::kVariable, "P", options.violations);
  number_names(Space::kLock, "L", options.locks);
  number_names(Space::kLock, "PL", options.violations);
  names_.table(Space::kSite).append("main.cc:1");
  names_.table(Space::kSite).append("main.cc:2");
  blocks_ = make_functions(names_, random_, kBlockVariants, "update", true);
  bare_ = make_functions(names_, random_, kBareVariants, "peek", false);
  planted_site_ = static_cast<std::uint32_t>(names_.table(Space::kSite).size());
  planted_label_ = static_cast<std::uint32_t>(names_.table(Space::kLabel).size());
  for (std::uint32_t i = 0; i < options.violations * kPlanted.size(); ++i) {
    names_.table(Space::kSite).append(fmt::format("planted.cc:{}", i + 1));
  }
  number_names(Space::kLabel, "planted_", options.violations);

  workers_.resize(options.threads);
  locks_.resize(options.locks);
  runnable_.reserve(options.threads);
  for (std::uint32_t i = 0; i < options.threads; ++i) runnable_.push_back(i);
  plan_next_violation();
}

/// Takes a scope out of the budget; what remains is nothing or enough for another scope.
void GeneratedSource::State::start_scope(Worker& worker) {
  assert(budget_ >= kSmallestScope);
  const std::uint64_t choice = random_.bits();
  const auto pick = [choice](unsigned shift, std::uint32_t limit) {
    return static_cast<std::uint32_t>((choice >> shift & 0xFFFFU) * limit >> 16U);
  };
  bool bare = pick(0, kOneBareIn) == 0;
  std::uint32_t length = kMinAccesses + pick(16, kLengths);
  if (budget_ <= kLargestScope) {
    const auto rest = static_cast<std::uint32_t>(budget_);
    if (rest < kMinAccesses + kBlockExtra) bare = true;
    if (rest > kMaxAccesses + kBareExtra) bare = false;
    length = rest - (bare ? kBareExtra : kBlockExtra);
  }
  std::uint32_t size = length + (bare ? kBareExtra : kBlockExtra);
  if (const std::uint64_t rest = budget_ - size; rest > 0 && rest < kSmallestScope) {
    const auto missing = static_cast<std::uint32_t>(kSmallestScope - rest);
    length -= missing;
    size -= missing;
  }
  // The budget was over kLargestScope if it was cut, so that the scope is still long enough.
  assert(length >= kMinAccesses && length <= kMaxAccesses);
  budget_ -= size;

  const std::uint32_t variants = bare ? kBareVariants : kBlockVariants;
  const Function& function =
      (bare ? bare_ : blocks_)[(length - kMinAccesses) * variants + pick(32, variants)];
  worker.lock = random_.below(options_.locks);
  const auto first_var = [&](std::uint64_t lock) {
    return static_cast<std::uint32_t>(lock * options_.variables / options_.locks);
  };
  worker.first_var = first_var(worker.lock);
  worker.var_count = first_var(std::uint64_t{worker.lock} + 1) - worker.first_var;
  worker.site = function.site;
  worker.label = function.label;
  worker.writes = function.writes;
  worker.accesses_left = static_cast<std::uint8_t>(length);
}

void GeneratedSource::State::wait_for_lock(std::uint32_t place) {
  const std::uint32_t thread = runnable_[place];
  LockState& lock = locks_[workers_[thread].lock];
  workers_[thread].next = kNone;
  if (lock.first_waiter == kNone) {
    lock.first_waiter = thread;
  } else {
    workers_[lock.last_waiter].next = thread;
  }
  lock.last_waiter = thread;
  stop_running(place);
}

/// Wakes one waiter, which may find the lock taken again and then waits again: at most one vain
/// attempt for each release, so the cost of an event does not depend on how many wait.
void GeneratedSource::State::release(std::uint32_t lock) {
  LockState& state = locks_[lock];
  state.held = false;
  if (state.first_waiter == kNone) return;
  runnable_.push_back(state.first_waiter);
  state.first_waiter = workers_[state.first_waiter].next;
}

/// The next event of a runnable worker, or none when it has to wait or has nothing left to do.
void GeneratedSource::State::step(std::uint32_t place) {
  const std::uint32_t thread = runnable_[place];
  Worker& worker = workers_[thread];
  switch (worker.phase) {
    case Phase::kIdle:
      if (budget_ == 0) {
        done_.push_back(thread);
        stop_running(place);
        return;
      }
      start_scope(worker);
      worker.phase = Phase::kAcquire;
      if (worker.label != 0) {
        emit(thread, EventKind::kBegin, worker.label, worker.site++);
        return;
      }
      [[fallthrough]];
    case Phase::kAcquire:
      if (locks_[worker.lock].held) {
        wait_for_lock(place);
        return;
      }
      locks_[worker.lock].held = true;
      emit(thread, EventKind::kAcquire, worker.lock, worker.site++);
      worker.phase = Phase::kAccess;
      return;
    case Phase::kAccess: {
      const EventKind kind = (worker.writes & 1U) != 0 ? EventKind::kWrite : EventKind::kRead;
      emit(thread, kind, worker.first_var + random_.below(worker.var_count), worker.site++);
      worker.writes = static_cast<std::uint16_t>(worker.writes >> 1U);
      if (--worker.accesses_left == 0) worker.phase = Phase::kRelease;
      return;
    }
    case Phase::kRelease:
      emit(thread, EventKind::kRelease, worker.lock, worker.site++);
      worker.phase = worker.label != 0 ? Phase::kEnd : Phase::kIdle;
      release(worker.lock);
      return;
    case Phase::kEnd:
      emit(thread, EventKind::kEnd, worker.label, worker.site);
      worker.phase = Phase::kIdle;
      return;
  }
}

void GeneratedSource::State::plan_next_violation() {
  if (planted_ == options_.violations) return;
  // In the middle of its share of the trace. At most 1e12 * 2e6: fits into 64 bits.
  due_ = options_.events * (2 * std::uint64_t{planted_} + 1) /
         (2 * std::uint64_t{options_.violations});
  planted_step_ = 0;
  gap_ = 0;
  actors_ = {kNone, kNone};
}

/// An idle worker stops to take part in the violation that is due.
void GeneratedSource::State::find_actor(std::uint32_t place) {
  actors_[actors_[0] == kNone ? 0 : 1] = runnable_[place];
  stop_running(place);
}

void GeneratedSource::State::step_violation() {
  const PlantedStep& step = kPlanted[planted_step_];
  std::uint32_t target = 0;
  switch (*target_space(step.kind)) {
    case Space::kVariable: target = options_.variables + planted_; break;
    case Space::kLock: target = options_.locks + planted_; break;
    default: target = planted_label_ + planted_; break;
  }
  const auto sites = static_cast<std::uint32_t>(kPlanted.size());
  emit(actors_[step.interloper ? 1 : 0], step.kind, target,
       planted_site_ + planted_ * sites + step.site);
  gap_ = random_.below(kPlantedGap);
  if (++planted_step_ < kPlanted.size()) return;
  for (const std::uint32_t actor : actors_) runnable_.push_back(actor);
  ++planted_;
  plan_next_violation();
}

Batch GeneratedSource::State::next() {
  made_ += filled_;
  filled_ = 0;
  while (forked_ < options_.threads && filled_ < buffer_.size()) {
    emit(0, EventKind::kFork, forked_++, kForkSite);
  }
  while (filled_ < buffer_.size()) {
    if (planted_ < options_.violations && actors_[1] != kNone && (gap_ == 0 || runnable_.empty())) {
      step_violation();
      continue;
    }
    if (runnable_.empty()) {
      // Everyone is done (whoever holds a lock is runnable), but violations may be left.
      if (planted_ == options_.violations) break;
      due_ = 0;
      runnable_.swap(done_);
    }
    const std::uint32_t place = random_.below(static_cast<std::uint32_t>(runnable_.size()));
    if (actors_[1] == kNone && violation_due() &&
        workers_[runnable_[place]].phase == Phase::kIdle) {
      find_actor(place);
      continue;
    }
    const std::size_t before = filled_;
    step(place);
    if (filled_ > before && gap_ > 0) --gap_;
  }
  while (joined_ < options_.threads && filled_ < buffer_.size()) {
    emit(0, EventKind::kJoin, joined_++, kJoinSite);
  }
  // `filled_` may stop short of the buffer only at the end of the trace.
  assert(filled_ == buffer_.size() || made_ + filled_ == options_.events);
  return Batch{std::span(buffer_).first(filled_), made_ + 1};
}

GeneratedSource::GeneratedSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
GeneratedSource::~GeneratedSource() = default;

Result<std::unique_ptr<GeneratedSource>> GeneratedSource::make(const GenerateOptions& options) {
  if (Status status = validate(options); !status) return status.error();
  return std::unique_ptr<GeneratedSource>(new GeneratedSource(std::make_unique<State>(options)));
}

Result<Batch> GeneratedSource::next() {
  return state_->next();
}
const Names& GeneratedSource::names() const {
  return state_->names();
}
Progress GeneratedSource::progress() const {
  return {state_->made(), state_->total()};
}
const std::vector<std::string>& GeneratedSource::warnings() const {
  return state_->warnings;
}

}  // namespace syndrome::trace
