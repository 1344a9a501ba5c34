// OpenMP programs that run with libomp, through its tool interface (OMPT).
//
// What orders what, as pairs of kHappensBefore and kHappensAfter on objects that are numbers of
// this file and no addresses:
//   team            the encountering thread's past, before every implicit task of the region
//   team's barrier  one of two, in turns: everyone's past, before everyone who leaves. Nobody can
//                   be two barriers ahead, so two are enough. The end of the region is after both.
//                   A task's end counts as an arrival: a barrier waits for the team's tasks.
//   task            its creation, before it runs; where it is suspended, before it goes on
//   task's children ends of tasks, before the end of their parent's taskwait
//   group           ends of tasks, before the end of their taskgroup
//   dependences     by variable: the end of a task with `out`, before the start of the next one
//   with
//                   `in` or `out`; of one with `in`, before the next with `out`. Two parents' tasks
//                   that name the same variable are ordered too, which OpenMP does not promise.
// critical, ordered and omp_lock_t are locks, known by their wait id. In a reduction, combining
// comes after what the combined threads did before it, and after every combining before.
//
// State, and who may touch it:
//   Slab, locks       under `spin`
//   Task              the thread that runs it; users: under `spin`
//   reducing          this thread alone

#include <sched.h>
#include <sys/mman.h>

#include "runtime/interpose.h"
#include "runtime/ompt.h"

extern "C" {
using SyndromeReduce = void(void* left, void* right);
int __kmpc_reduce(void* place, int thread, int count, std::size_t bytes, void* data,
                  SyndromeReduce* function, void* lock);
int __kmpc_reduce_nowait(void* place, int thread, int count, std::size_t bytes, void* data,
                         SyndromeReduce* function, void* lock);
void __kmpc_end_reduce(void* place, int thread, void* lock);
void __kmpc_end_reduce_nowait(void* place, int thread, void* lock);
}

namespace syndrome::rt {
namespace {

using wire::Word;

SYNDROME_REAL(mmap);
SYNDROME_REAL(__kmpc_reduce);
SYNDROME_REAL(__kmpc_reduce_nowait);
SYNDROME_REAL(__kmpc_end_reduce);
SYNDROME_REAL(__kmpc_end_reduce_nowait);

Spin spin;

// Above every address.
constexpr Word kNumbers = Word{1} << 48;
constexpr Word kOutDependences = Word{1} << 49;
constexpr Word kInDependences = Word{1} << 50;
constexpr Word kReductions = Word{1} << 51;
constexpr Word kStep = 64;  // objects of one number, so that none shares a granule with another's
constexpr Word kChildren = 8;  // of a task
constexpr Word kBarrier = 8;   // of a team: this one and the next
std::uint64_t drawn = 0;

Word new_number() {
  return kNumbers | (__atomic_add_fetch(&drawn, 1, __ATOMIC_RELAXED) * kStep);
}

void before(Word object) {
  if (object != 0 && recording()) sync(Sync::kHappensBefore, object);
}
void after(Word object) {
  if (object != 0 && recording()) sync(Sync::kHappensAfter, object);
}

/// Objects of one kind, in pages that are never given back.
template <typename T>
class Slab {
 public:
  T* get() {
    if (free_ == nullptr && !grow()) return nullptr;
    T* const object = free_;
    free_ = object->next;
    *object = T{};
    return object;
  }
  void put(T* object) {
    object->next = free_;
    free_ = object;
  }

 private:
  bool grow() {
    constexpr std::size_t kBytes = std::size_t{64} << 10;
    void* const pages =
        real_mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return false;
    for (std::size_t i = 0; i < kBytes / sizeof(T); ++i) put(static_cast<T*>(pages) + i);
    return true;
  }
  T* free_ = nullptr;
};

struct Dependence {
  Dependence* next = nullptr;
  Word variable = 0;
  bool reads = false;
};

struct Group {
  Group* next = nullptr;  // the one around it
  Word number = 0;
};

struct Task {
  Task* next = nullptr;
  Word number = 0;
  Word team = 0;   // 0: none
  Word group = 0;  // the group that it belongs to
  Task* parent = nullptr;
  Group* groups = nullptr;  // those that it has opened
  Dependence* dependences = nullptr;
  unsigned users = 1;   // itself and its children
  bool second = false;  // which of the team's barriers is next
  bool started = false;
};

Slab<Task> tasks;
Slab<Group> groups;
Slab<Dependence> dependences;

Task* task_of(const ompt::Data* data) {
  return data != nullptr ? static_cast<Task*>(data->pointer) : nullptr;
}

Task* new_task(Task* parent) {
  const Hold hold(spin);
  Task* const task = tasks.get();
  if (task == nullptr) return nullptr;
  task->number = new_number();
  if (parent != nullptr) {
    ++parent->users;
    task->parent = parent;
    task->team = parent->team;
    task->group = parent->groups != nullptr ? parent->groups->number : parent->group;
  }
  return task;
}

void let_go(Task* task) {
  const Hold hold(spin);
  while (task != nullptr && --task->users == 0) {
    Task* const parent = task->parent;
    while (Dependence* const first = task->dependences) {
      task->dependences = first->next;
      dependences.put(first);
    }
    tasks.put(task);
    task = parent;
  }
}

void after_dependences(const Task& task) {
  for (const Dependence* at = task.dependences; at != nullptr; at = at->next) {
    after(kOutDependences | at->variable);
    if (!at->reads) after(kInDependences | at->variable);
  }
}

void before_dependences(const Task& task) {
  for (const Dependence* at = task.dependences; at != nullptr; at = at->next) {
    before((at->reads ? kInDependences : kOutDependences) | at->variable);
  }
}

void finish(Task* task) {
  if (task->parent != nullptr) before(task->parent->number + kChildren);
  before(task->group);
  if (task->team != 0) {
    before(task->team + kBarrier);
    before(task->team + 2 * kBarrier);
  }
  before_dependences(*task);
  let_go(task);
}

void parallel_begin(ompt::Data*, const void*, ompt::Data* parallel, unsigned, int, const void*) {
  parallel->value = new_number();
  before(parallel->value);
}

void parallel_end(ompt::Data* parallel, ompt::Data*, int, const void*) {
  after(parallel->value + kBarrier);
  after(parallel->value + 2 * kBarrier);
}

void implicit_task(int endpoint, ompt::Data* parallel, ompt::Data* data, unsigned, unsigned, int) {
  if (endpoint == ompt::kBegin) {
    Task* const task = new_task(nullptr);
    data->pointer = task;
    if (task == nullptr || parallel == nullptr) return;
    task->team = parallel->value;
    after(task->team);
  } else if (Task* const task = task_of(data); task != nullptr) {
    data->pointer = nullptr;
    let_go(task);
  }
}

void task_create(ompt::Data* encountering, const void*, ompt::Data* created, int, int,
                 const void*) {
  Task* const task = new_task(task_of(encountering));
  created->pointer = task;
  if (task != nullptr) before(task->number);
}

void task_dependences(ompt::Data* data, const ompt::Dependence* given, int count) {
  Task* const task = task_of(data);
  if (task == nullptr) return;
  const Hold hold(spin);
  for (int i = 0; i < count; ++i) {
    if (given[i].type == ompt::kDependenceSource || given[i].type == ompt::kDependenceSink)
      continue;
    Dependence* const kept = dependences.get();
    if (kept == nullptr) return;
    kept->variable = given[i].variable.value & wire::kAddressMask;
    kept->reads = given[i].type == ompt::kDependenceIn;
    kept->next = task->dependences;
    task->dependences = kept;
  }
}

void task_schedule(ompt::Data* prior_data, int status, ompt::Data* next_data) {
  Task* const prior = task_of(prior_data);
  Task* const next = task_of(next_data);
  if (prior != nullptr) {
    switch (status) {
      case ompt::kComplete:
      case ompt::kCancel:
      case ompt::kLateFulfill:
        prior_data->pointer = nullptr;
        finish(prior);
        break;
      case ompt::kTaskwaitComplete:  // a taskwait that names dependences, as an empty task
        prior_data->pointer = nullptr;
        after_dependences(*prior);
        let_go(prior);
        break;
      case ompt::kEarlyFulfill: break;
      default: before(prior->number); break;
    }
  }
  if (next != nullptr) {
    after(next->number);
    if (!next->started) after_dependences(*next);
    next->started = true;
  }
}

void at_barrier(int endpoint, const ompt::Data* parallel, Task& task) {
  if (task.team == 0) return;
  const Word barrier = task.team + (task.second ? 2 : 1) * kBarrier;
  if (endpoint == ompt::kBegin) {
    before(barrier);
    return;
  }
  // A worker leaves the region's last barrier when the next region begins, or never; its team is
  // gone by then.
  if (parallel != nullptr) after(barrier);
  task.second = !task.second;
}

void at_group(int endpoint, Task& task) {
  if (endpoint == ompt::kBegin) {
    const Hold hold(spin);
    Group* const group = groups.get();
    if (group == nullptr) return;
    group->number = new_number();
    group->next = task.groups;
    task.groups = group;
  } else if (Group* const group = task.groups; group != nullptr) {
    after(group->number);
    const Hold hold(spin);
    task.groups = group->next;
    groups.put(group);
  }
}

void sync_region(int kind, int endpoint, ompt::Data* parallel, ompt::Data* data, const void*) {
  Task* const task = task_of(data);
  if (task == nullptr || endpoint == ompt::kBeginEnd) return;
  switch (kind) {
    case ompt::kReduction: break;
    case ompt::kTaskgroup: at_group(endpoint, *task); break;
    case ompt::kTaskwait:
      if (endpoint == ompt::kEnd) after(task->number + kChildren);
      break;
    default: at_barrier(endpoint, parallel, *task); break;
  }
}

/// A lock of OpenMP's. libomp says that one has been released after it was: someone else may have
/// it, and have said so, by then. So whoever acquires one waits here until the release has been
/// recorded, too.
struct Lock {
  Lock* next = nullptr;
  Word wait_id = 0;
  bool held = false;
};
Slab<Lock> lock_slab;
constexpr std::size_t kBuckets = 256;
Lock* locks[kBuckets];

// Null without memory.
Lock* lock_of(Word wait_id) {
  Lock*& head = locks[wire::shard_of(wait_id) % kBuckets];
  for (Lock* at = head; at != nullptr; at = at->next) {
    if (at->wait_id == wait_id) return at;
  }
  Lock* const made = lock_slab.get();
  if (made == nullptr) return nullptr;
  made->wait_id = wait_id;
  made->next = head;
  head = made;
  return made;
}

bool take(Word wait_id) {
  const Hold hold(spin);
  Lock* const lock = lock_of(wait_id);
  if (lock == nullptr) return true;
  if (lock->held) return false;
  lock->held = true;
  return true;
}

void give(Word wait_id) {
  const Hold hold(spin);
  if (Lock* const lock = lock_of(wait_id); lock != nullptr) lock->held = false;
}

void mutex_acquired(int, std::uint64_t wait_id, const void*) {
  // The holder is about to say that it has released. Should a libomp not say so, go on.
  constexpr int kTries = 100'000;
  for (int i = 0; i < kTries && !take(wait_id); ++i) sched_yield();
  if (recording()) sync(Sync::kAcquire, wait_id);
}

void mutex_released(int, std::uint64_t wait_id, const void*) {
  if (recording()) sync(Sync::kRelease, wait_id);
  give(wait_id);
}

void lock_destroy(int, std::uint64_t wait_id, const void*) {
  if (recording()) sync(Sync::kDestroy, wait_id);
  give(wait_id);
}

int initialize(ompt::Lookup lookup, int, ompt::Data*) {
  const auto set = reinterpret_cast<ompt::SetCallback>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  set(ompt::kParallelBegin, reinterpret_cast<void*>(parallel_begin));
  set(ompt::kParallelEnd, reinterpret_cast<void*>(parallel_end));
  set(ompt::kImplicitTask, reinterpret_cast<void*>(implicit_task));
  set(ompt::kTaskCreate, reinterpret_cast<void*>(task_create));
  set(ompt::kTaskSchedule, reinterpret_cast<void*>(task_schedule));
  set(ompt::kDependences, reinterpret_cast<void*>(task_dependences));
  set(ompt::kSyncRegion, reinterpret_cast<void*>(sync_region));
  set(ompt::kMutexAcquired, reinterpret_cast<void*>(mutex_acquired));
  set(ompt::kMutexReleased, reinterpret_cast<void*>(mutex_released));
  set(ompt::kLockDestroy, reinterpret_cast<void*>(lock_destroy));
  return 1;
}

void finalize(ompt::Data*) {}

ompt::StartTool tool{initialize, finalize, {}};

// The reduction that this thread takes part in. Its combining function runs inside of libomp's
// barrier, on the thread that combines, and gets no argument of ours.
struct Reducing {
  SyndromeReduce* function = nullptr;
  Word lock = 0;
  bool holds = false;
};
thread_local Reducing reducing;

void combine(void* left, void* right) {
  after(reducing.lock);
  reducing.function(left, right);
  before(reducing.lock);
}

// The answer 1: this thread combines, alone. 2: each thread combines, with atomic operations.
template <typename Call>
int reduce(SyndromeReduce* function, void* lock, Call call) {
  if (!recording()) return call(function);
  reducing = Reducing{function, kReductions | number_of(lock), false};
  before(reducing.lock);
  const int answer = call(combine);
  if (answer == 1) {
    after(reducing.lock);
    reducing.holds = true;
  }
  return answer;
}

void end_reduce() {
  if (reducing.holds) before(reducing.lock);
  reducing.holds = false;
}

}  // namespace

Spin& openmp_spin() {
  return spin;
}

SYNDROME_INTERPOSE ompt::StartTool* ompt_start_tool(unsigned, const char*) {
  return process_recorded() ? &tool : nullptr;
}

SYNDROME_INTERPOSE int __kmpc_reduce(void* place, int thread, int count, std::size_t bytes,
                                     void* data, SyndromeReduce* function, void* lock) {
  return reduce(function, lock, [=](SyndromeReduce* used) {
    return real___kmpc_reduce(place, thread, count, bytes, data, used, lock);
  });
}
SYNDROME_INTERPOSE int __kmpc_reduce_nowait(void* place, int thread, int count, std::size_t bytes,
                                            void* data, SyndromeReduce* function, void* lock) {
  return reduce(function, lock, [=](SyndromeReduce* used) {
    return real___kmpc_reduce_nowait(place, thread, count, bytes, data, used, lock);
  });
}
SYNDROME_INTERPOSE void __kmpc_end_reduce(void* place, int thread, void* lock) {
  end_reduce();
  real___kmpc_end_reduce(place, thread, lock);
}
SYNDROME_INTERPOSE void __kmpc_end_reduce_nowait(void* place, int thread, void* lock) {
  end_reduce();
  real___kmpc_end_reduce_nowait(place, thread, lock);
}

}  // namespace syndrome::rt
