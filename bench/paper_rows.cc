#include "paper_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace syndrome::bench {
namespace {

constexpr std::optional<double> kTimeout = std::nullopt;

// As printed. Two of the paper's rows cannot be right: lufact has more transactions than events,
// and tomcat repeats sparsematmult's characteristics.
constexpr std::array<PaperRow, 21> kRows = {{
    {"avrora", 1, "2.4B", 2'400'000'000, 7, 7, 1'079'000, 498'000'000, false, true, kTimeout, 1.5,
     "> 24000"},
    {"elevator", 1, "280K", 280'000, 5, 50, 725, 22'600, true, true, 162, 1.7, "97"},
    {"hedc", 1, "9.8K", 9'800, 7, 13, 1'694, 84, false, false, 0.07, 0.06, "1.16"},
    {"luindex", 1, "570M", 570'000'000, 3, 65, 2'500'000, 86'000'000, false, false, 581, 674,
     "0.86"},
    {"lusearch", 1, "2.0B", 2'000'000'000, 14, 772, 38'000'000, 306'000'000, false, true, kTimeout,
     5.5, "> 6545"},
    {"moldyn", 1, "1.7B", 1'700'000'000, 4, 1, 121'000, 1'400'000, false, true, kTimeout, 54.9,
     "> 650"},
    {"montecarlo", 1, "494M", 494'000'000, 4, 1, 30'500'000, 812'000, false, true, kTimeout, 0.75,
     "> 48000"},
    {"philo", 1, "613", 613, 6, 1, 24, 0, true, false, 0.02, 0.02, "1"},
    {"pmd", 1, "367M", 367'000'000, 13, 223, 12'900'000, 81'000'000, false, false, 3.1, 3.8,
     "0.82"},
    {"raytracer", 1, "2.8B", 2'800'000'000, 4, 1, 12'600'000, 277'000'000, true, true, kTimeout,
     3340, "> 10.7"},
    {"sor", 1, "608M", 608'000'000, 4, 2, 1'000'000, 637'000, false, false, 6.9, 9.6, "0.72"},
    {"sunflow", 1, "16.8M", 16'800'000, 16, 9, 1'200'000, 2'500'000, false, true, 67.9, 0.65,
     "104.5"},
    {"tsp", 1, "312M", 312'000'000, 9, 2, 181'000'000, 9, false, false, 4.2, 5.7, "0.73"},
    {"xalan", 1, "1.0B", 1'000'000'000, 13, 8'624, 31'000'000, 214'000'000, false, false, 1.6, 2.0,
     "0.8"},
    {"batik", 2, "186M", 186'000'000, 7, 1'916, 4'900'000, 15'000'000, false, false, 52.7, 65.5,
     "0.81"},
    {"crypt", 2, "126M", 126'000'000, 7, 1, 9'000'000, 50, false, false, 92.1, 104, "0.88"},
    {"fop", 2, "96M", 96'000'000, 1, 115, 5'000'000, 25'000'000, true, false, 88.3, 92.5, "0.95"},
    {"lufact", 2, "135M", 135'000'000, 4, 1, 252'000, 642'000'000, false, false, 2.4, 2.9, "0.82"},
    {"series", 2, "40M", 40'000'000, 4, 1, 20'000, 20'000'000, false, true, 61.0, 15.3, "3.98"},
    {"sparsematmult", 2, "726M", 726'000'000, 4, 1, 1'600'000, 25, false, false, 1210, 1197,
     "1.01"},
    {"tomcat", 2, "726M", 726'000'000, 4, 1, 1'600'000, 25, false, false, 3.4, 4.5, "0.75"},
}};

// The shape of the work.
constexpr std::uint64_t kSmallestBlock = 3;  // begin, one access, end
constexpr std::uint64_t kSmallestItem = 4;   // that, and now and then an access outside
// As dense as blocks get: 4.5 events each, as in pmd.
constexpr std::uint64_t kEventsOfTwoBlocks = 9;
constexpr std::uint64_t kLongestScope = 16;  // accesses
constexpr std::uint32_t kWritePercent = 30;
constexpr std::uint32_t kFunctions = 64;
constexpr std::uint32_t kSitesOfFunction = 32;
constexpr double kLatest = 0.95;
// A row that has few transactions or variables keeps them.
constexpr std::uint64_t kFewTransactions = 100;
constexpr std::uint64_t kFewVariables = 1000;

/// splitmix64 (Steele, Lea and Flood, public domain algorithm).
class Random {
 public:
  [[nodiscard]] std::uint64_t below(std::uint64_t limit) {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ mixed >> 30U) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ mixed >> 27U) * 0x94D049BB133111EBU;
    return (mixed ^ mixed >> 31U) % limit;
  }

 private:
  std::uint64_t state_ = 1;
};

/// What a worker still has to do in its item: accesses outside of blocks, then one block.
struct Worker {
  std::uint64_t events = 0;  // of items not started
  std::uint64_t blocks = 0;  // likewise
  std::uint64_t outside = 0;
  bool begin = false;
  std::uint64_t before = 0;  // accesses to own variables
  bool acquire = false;
  std::uint64_t inside = 0;  // accesses to the lock's
  bool release = false;
  std::uint64_t after = 0;
  bool in_block = false;
  bool bare = false;  // in a lock scope that no block is around
  std::uint32_t lock = 0;
  std::uint32_t function = 0;
  std::uint32_t step = 0;  // events of the block so far
  bool reads_config = false;

  [[nodiscard]] bool idle() const { return outside == 0 && !begin && !in_block && !bare; }
  [[nodiscard]] bool done() const { return idle() && events == 0; }
};

struct Range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};
Range part(std::uint32_t first, std::uint32_t count, std::uint64_t i, std::uint64_t parts) {
  const auto from = static_cast<std::uint32_t>(i * count / parts);
  const auto to = static_cast<std::uint32_t>((i + 1) * count / parts);
  return {first + from, to - from};
}

/// Half of them, but not many more than there are accesses in lock scopes.
std::uint32_t shared_variables(const PaperShape& shape) {
  const std::uint32_t half = (shape.variables - 2) / 2;
  if (shape.transactions == 0) return half;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(shape.transactions * 4, shape.locks, half));
}

}  // namespace

std::span<const PaperRow> paper_rows() {
  return kRows;
}

PaperShape scaled(const PaperRow& row, std::uint64_t limit) {
  PaperShape shape;
  shape.events = std::min(row.events, limit);
  const auto scale = [&](std::uint64_t value, std::uint64_t few) {
    const auto part_of = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(value) * static_cast<double>(shape.events) /
                     static_cast<double>(row.events)));
    return std::max(part_of, std::min(value, few));
  };
  shape.threads = row.threads;
  shape.locks = row.locks;
  // Each thread and each lock has a variable; two more are special.
  const std::uint64_t least = 2 * std::max<std::uint64_t>(row.threads, row.locks) + 2;
  shape.variables =
      static_cast<std::uint32_t>(std::max(scale(row.variables, kFewVariables), least));
  shape.old_block = row.old_block;
  const std::uint64_t with_blocks =
      shape.events * (row.threads - (row.old_block ? 1 : 0)) / row.threads;
  shape.transactions =
      std::min(scale(row.transactions, kFewTransactions), with_blocks * 2 / kEventsOfTwoBlocks);
  if (!row.atomic) {
    shape.violation = static_cast<std::uint64_t>(
        std::min(row.aerodrome * kPaperRate, kLatest * static_cast<double>(shape.events)));
  }
  return shape;
}

class PaperSource::State {
 public:
  explicit State(const PaperShape& shape);

  Batch next();
  [[nodiscard]] const Names& names() const { return names_; }
  [[nodiscard]] trace::Progress progress() const { return {made_, shape_.events}; }
  std::vector<std::string> warnings;  // none ever

 private:
  static constexpr std::size_t kBatch = 4096;
  enum class Phase : std::uint8_t { kStart, kWork, kEnd, kOver };

  void emit(std::uint32_t thread, EventKind kind, std::uint32_t target, std::uint32_t site) {
    buffer_.push_back({ThreadId(thread), target, SiteId(site), kind});
  }
  void access(std::uint32_t thread, Range variables, std::uint32_t site) {
    const EventKind kind =
        random_.below(100) < kWritePercent ? EventKind::kWrite : EventKind::kRead;
    emit(thread, kind, variables.first + static_cast<std::uint32_t>(random_.below(variables.count)),
         site);
  }
  [[nodiscard]] std::uint32_t site(const Worker& worker) const {
    return 1 + worker.function * kSitesOfFunction + std::min(worker.step, kSitesOfFunction - 1);
  }
  [[nodiscard]] std::uint32_t label(const Worker& worker) const { return 1 + worker.function; }
  [[nodiscard]] Range own(std::uint32_t thread) const {
    return part(shared_, ordinary_ - shared_, thread, shape_.threads);
  }
  [[nodiscard]] Range of_lock(std::uint32_t lock) const {
    return part(0, shared_, lock, shape_.locks);
  }

  void start();
  void finish();
  void start_item(Worker& worker);
  void start_bare_scope(Worker& worker);
  void step(std::size_t place);
  void step_block(std::uint32_t thread, Worker& worker);
  void violate();

  PaperShape shape_;
  Names names_;
  Random random_;
  std::uint32_t shared_;    // variables that belong to locks, from 0 on; the others to threads
  std::uint32_t ordinary_;  // variables; behind them config and the one of the violation
  std::vector<Event> buffer_;
  std::uint64_t made_ = 0;
  Phase phase_ = Phase::kStart;
  bool violated_ = false;
  std::vector<Worker> workers_;
  std::vector<std::uint32_t> running_;
  std::vector<bool> held_;
};

PaperSource::State::State(const PaperShape& shape)
    : shape_(shape),
      shared_(shared_variables(shape)),
      ordinary_(shape.variables - 2),
      held_(shape.locks) {
  const auto name = [&](Space space, std::string_view stem, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      names_.table(space).append(fmt::format("{}{}", stem, i));
    }
  };
  name(Space::kThread, "T", shape.threads);
  name(Space::kVariable, "V", ordinary_);
  names_.table(Space::kVariable).append("config");
  names_.table(Space::kVariable).append("contended");
  name(Space::kLock, "L", shape.locks);
  name(Space::kLabel, "method_", kFunctions);
  name(Space::kSite, "Program.java:", kFunctions * kSitesOfFunction);

  workers_.resize(shape.threads);
  const std::uint64_t fixed = 2 * (std::uint64_t{shape.threads} - 1) + (shape.old_block ? 2 : 0) +
                              (shape.violation != 0 ? 3 : 0);
  const std::uint64_t budget = shape.events > fixed ? shape.events - fixed : 0;
  // The first thread has no other block when it is in an old one.
  const std::uint64_t with_blocks = shape.threads - (shape.old_block ? 1 : 0);
  for (std::uint32_t i = 0; i < shape.threads; ++i) {
    Worker& worker = workers_[i];
    worker.events = budget * (i + 1) / shape.threads - budget * i / shape.threads;
    running_.push_back(i);
    if (shape.old_block && i == 0) continue;
    const std::uint64_t nth = shape.old_block ? i - 1 : i;
    worker.blocks =
        shape.transactions * (nth + 1) / with_blocks - shape.transactions * nth / with_blocks;
    worker.blocks = std::min(worker.blocks, worker.events / kSmallestItem);
    worker.reads_config = shape.old_block;
  }
}

void PaperSource::State::start() {
  for (std::uint32_t i = 1; i < shape_.threads; ++i) emit(0, EventKind::kFork, i, 1);
  if (shape_.old_block) {
    emit(0, EventKind::kBegin, 1, 1);
    emit(0, EventKind::kWrite, ordinary_, 2);
  }
}

void PaperSource::State::finish() {
  if (shape_.old_block) emit(0, EventKind::kEnd, 1, 3);
  for (std::uint32_t i = 1; i < shape_.threads; ++i) emit(0, EventKind::kJoin, i, 4);
}

/// Splits what is left evenly over the blocks that are left, give or take a half.
void PaperSource::State::start_item(Worker& worker) {
  if (worker.blocks == 0 && shape_.transactions == 0) return start_bare_scope(worker);
  if (worker.blocks == 0) {
    worker.outside = worker.events;
    worker.events = 0;
    return;
  }
  std::uint64_t size = worker.events;
  if (worker.blocks > 1) {
    const std::uint64_t share = worker.events / worker.blocks;
    const std::uint64_t most = worker.events - (worker.blocks - 1) * kSmallestItem;
    size = std::clamp(share / 2 + random_.below(share + 1), kSmallestItem, most);
  }
  worker.events -= size;
  --worker.blocks;
  worker.outside =
      std::min(size / 10 + (random_.below(10) < size % 10 ? 1 : 0), size - kSmallestBlock);
  std::uint64_t accesses = size - worker.outside - 2;
  worker.begin = true;
  worker.acquire = worker.release = accesses >= 3;
  worker.inside = worker.acquire ? 1 + random_.below(std::min(kLongestScope, accesses - 2)) : 0;
  accesses -= worker.acquire ? worker.inside + 2 : 0;
  worker.before = accesses / 2;
  worker.after = accesses - worker.before;
  worker.lock = static_cast<std::uint32_t>(random_.below(shape_.locks));
  worker.function = static_cast<std::uint32_t>(random_.below(kFunctions));
  worker.step = 0;
}

/// Where there are no blocks at all, locks are taken outside of them.
void PaperSource::State::start_bare_scope(Worker& worker) {
  const std::uint64_t size = std::min(worker.events, kLongestScope + 2);
  worker.events -= size;
  worker.bare = worker.acquire = worker.release = size >= 3;
  worker.inside = worker.bare ? size - 2 : 0;
  worker.outside = worker.bare ? 0 : size;
  worker.lock = static_cast<std::uint32_t>(random_.below(shape_.locks));
}

/// The next event of a worker, or none when it waits for a lock or is done.
void PaperSource::State::step(std::size_t place) {
  const std::uint32_t thread = running_[place];
  Worker& worker = workers_[thread];
  if (worker.done()) {
    running_[place] = running_.back();
    running_.pop_back();
    return;
  }
  if (worker.idle()) start_item(worker);
  if (worker.outside > 0) {
    --worker.outside;
    if (worker.reads_config) {
      worker.reads_config = false;
      emit(thread, EventKind::kRead, ordinary_, 2);
    } else {
      access(thread, own(thread), site(worker));
    }
    return;
  }
  step_block(thread, worker);
}

void PaperSource::State::step_block(std::uint32_t thread, Worker& worker) {
  const std::uint32_t at = site(worker);
  if (worker.acquire && !worker.begin && worker.before == 0) {
    if (held_[worker.lock]) return;
    held_[worker.lock] = true;
    worker.acquire = false;
    emit(thread, EventKind::kAcquire, worker.lock, at);
  } else if (worker.begin) {
    worker.begin = false;
    worker.in_block = true;
    emit(thread, EventKind::kBegin, label(worker), at);
  } else if (worker.before > 0) {
    --worker.before;
    if (worker.reads_config) {
      worker.reads_config = false;
      emit(thread, EventKind::kRead, ordinary_, 2);
    } else {
      access(thread, own(thread), at);
    }
  } else if (worker.inside > 0) {
    --worker.inside;
    access(thread, of_lock(worker.lock), at);
  } else if (worker.release) {
    worker.release = false;
    held_[worker.lock] = false;
    emit(thread, EventKind::kRelease, worker.lock, at);
  } else if (worker.after > 0) {
    --worker.after;
    access(thread, own(thread), at);
  } else if (worker.bare) {
    worker.bare = false;
  } else {
    worker.in_block = false;
    emit(thread, EventKind::kEnd, label(worker), at);
  }
  ++worker.step;
}

void PaperSource::State::violate() {
  violated_ = true;
  assert(shape_.threads >= (shape_.old_block ? 3U : 2U));
  const std::uint32_t victim = shape_.threads - 1;
  const std::uint32_t other = shape_.threads - 2;
  const std::uint32_t variable = ordinary_ + 1;
  const bool in_block = workers_[victim].in_block;
  if (!in_block) emit(victim, EventKind::kBegin, 1, 5);
  emit(victim, EventKind::kRead, variable, 6);
  emit(other, EventKind::kWrite, variable, 7);
  emit(victim, EventKind::kWrite, variable, 8);
  if (!in_block) emit(victim, EventKind::kEnd, 1, 9);
}

Batch PaperSource::State::next() {
  made_ += buffer_.size();
  buffer_.clear();
  while (buffer_.size() < kBatch && phase_ != Phase::kOver) {
    switch (phase_) {
      case Phase::kStart:
        start();
        phase_ = Phase::kWork;
        break;
      case Phase::kWork:
        if (shape_.violation != 0 && !violated_ &&
            (made_ + buffer_.size() >= shape_.violation || running_.empty())) {
          violate();
        } else if (running_.empty()) {
          phase_ = Phase::kEnd;
        } else {
          step(random_.below(running_.size()));
        }
        break;
      case Phase::kEnd:
        finish();
        phase_ = Phase::kOver;
        break;
      case Phase::kOver: break;
    }
  }
  return Batch{buffer_, made_ + 1};
}

PaperSource::PaperSource(const PaperShape& shape) : state_(std::make_unique<State>(shape)) {}
PaperSource::~PaperSource() = default;
Result<Batch> PaperSource::next() {
  return state_->next();
}
const Names& PaperSource::names() const {
  return state_->names();
}
trace::Progress PaperSource::progress() const {
  return state_->progress();
}
const std::vector<std::string>& PaperSource::warnings() const {
  return state_->warnings;
}

}  // namespace syndrome::bench
