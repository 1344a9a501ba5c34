// Threads: create, join, exit, names. C11's threads use the same table (interpose_c11.cc).
//
// A thread's number is drawn by its creator, whose kFork comes before the real creation. The table
// that leads from a pthread_t to the number is filled by the new thread before the program's
// function runs in it, or by the creator, whoever comes first: the creator may join at once, and a
// detached thread may be over, and its pthread_t another's, before the creator returns.
//
// State, and who may touch it:
//   Starting, table, free_blocks     under `spin`
//   ended                            this thread alone

#include "runtime/interpose_threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>

namespace syndrome::rt {
namespace {

SYNDROME_REAL(pthread_create);
SYNDROME_REAL(pthread_join);
SYNDROME_REAL(pthread_tryjoin_np);
SYNDROME_REAL(pthread_timedjoin_np);
SYNDROME_REAL(pthread_clockjoin_np);
SYNDROME_REAL(pthread_setname_np);
SYNDROME_REAL(prctl);
SYNDROME_REAL(mmap);

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBuckets = 4096;

Spin spin;
Known* table[kBuckets];
Known* free_blocks = nullptr;

pthread_key_t end_key;
bool has_end_key = false;

Known*& bucket_of(pthread_t thread) {
  return table[wire::shard_of(thread >> 6) % kBuckets];
}

// From whole pages that are never given back: what is freed is used again.
Known* new_block() {
  if (free_blocks == nullptr) {
    constexpr std::size_t kBytes = 16 * kPage;
    void* const pages =
        real_mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return nullptr;
    auto* const blocks = static_cast<Known*>(pages);
    for (std::size_t i = 0; i < kBytes / sizeof(Known); ++i) {
      blocks[i].next = free_blocks;
      free_blocks = &blocks[i];
    }
  }
  Known* const block = free_blocks;
  free_blocks = block->next;
  *block = Known{};
  return block;
}

void free_block(Known* block) {
  block->next = free_blocks;
  free_blocks = block;
}

// Unlinks what the table knows of this pthread_t; null when nothing.
Known* take(pthread_t thread) {
  for (Known** at = &bucket_of(thread); *at != nullptr; at = &(*at)->next) {
    if ((*at)->thread != thread) continue;
    Known* const found = *at;
    *at = found->next;
    found->in_table = false;
    return found;
  }
  return nullptr;
}

void enter(Known* block, pthread_t thread) {
  if (block->in_table) return;
  if (Known* const old = take(thread); old != nullptr && old->users == 0) free_block(old);
  block->thread = thread;
  block->in_table = true;
  Known*& head = bucket_of(thread);
  block->next = head;
  head = block;
}

// Called with the block's user count still including the caller.
void let_go(Known* block) {
  if (--block->users == 0 && !block->in_table) free_block(block);
}

// glibc puts the thread's descriptor into the last page of its stack, and what has the size that
// was asked for ends with that page.
void find_stack(Known& block, pthread_t self) {
  if (block.stack_low == 0 && block.stack_bytes != 0) {
    const std::uintptr_t end = (self + kPage - 1) & ~(kPage - 1);
    block.stack_low = end - block.stack_bytes;
  }
}

struct Ending {
  std::uintptr_t stack_low = 0;
  std::size_t stack_bytes = 0;
};
thread_local Ending ending;

// The destructor of a key: runs after those of thread_local variables, and asks to be run again
// until the last round, so that the program's own keys have had theirs.
void end_round(void* value) {
  const auto rounds = reinterpret_cast<std::uintptr_t>(value);
  if (rounds > 1) {
    pthread_setspecific(end_key, reinterpret_cast<void*>(rounds - 1));
    return;
  }
  if (recording()) {
    note_robust_released();
    if (ending.stack_bytes != 0) sync(Sync::kFree, ending.stack_low, ending.stack_bytes);
  }
  thread_end();
}

// A low number: values of those are kept in the thread's descriptor, without an allocation.
__attribute__((constructor(102))) void make_end_key() {
  has_end_key = pthread_key_create(&end_key, end_round) == 0;
  if (process_recorded()) end_with_key();
}

void* run(void* argument) {
  auto* const block = static_cast<Known*>(argument);
  const pthread_t self = pthread_self();
  const Known copy = begin_thread(block, self);
  return copy.routine(copy.argument);
}

// Numbers of the joined thread, taken before the join: afterwards the pthread_t may be another's.
template <typename Call>
int join(pthread_t thread, Call call) {
  if (!recording()) return call();
  const Joining joining = before_join(thread);
  const int result = call();
  after_join(joining, result == 0);
  return result;
}

}  // namespace

void end_with_key() {
  if (!has_end_key) return;
  pthread_setspecific(end_key, reinterpret_cast<void*>(PTHREAD_DESTRUCTOR_ITERATIONS));
}

Known* prepare_thread(const pthread_attr_t* attributes) {
  spin.lock();
  Known* const block = new_block();
  spin.unlock();
  if (block == nullptr) return nullptr;
  block->users = 2;  // the creator and the new thread
  pthread_attr_t defaults{};
  void* low = nullptr;
  std::size_t bytes = 0;
  pthread_attr_getstack(attributes != nullptr ? attributes : &defaults, &low, &bytes);
  if (number_of(low) + bytes != 0 && bytes != 0) block->stack_low = number_of(low);
  if (block->stack_low == 0) {
    pthread_attr_getstacksize(attributes != nullptr ? attributes : &defaults, &bytes);
  }
  block->stack_bytes = bytes;
  block->number = new_thread_number();
  sync(Sync::kFork, block->number);
  return block;
}

void thread_created(Known* block, pthread_t thread, bool created) {
  const Hold hold(spin);
  if (created) {
    if (!block->begun) enter(block, thread);
  } else {
    --block->users;
  }
  let_go(block);
}

Known begin_thread(Known* block, pthread_t self) {
  spin.lock();
  block->begun = true;
  enter(block, self);
  find_stack(*block, self);
  const Known copy = *block;
  let_go(block);
  spin.unlock();
  thread_begin(copy.number);
  end_with_key();
  ending = Ending{copy.stack_low, copy.stack_bytes};
  if (recording() && copy.stack_bytes != 0) {
    sync(Sync::kAlloc, copy.stack_low, copy.stack_bytes);
  }
  if (noise_on && recording()) make_noise_at_begin();
  return copy;
}

Joining before_join(pthread_t thread) {
  const Hold hold(spin);
  for (const Known* at = bucket_of(thread); at != nullptr; at = at->next) {
    if (at->thread == thread) return Joining{thread, at->number, true};
  }
  return Joining{thread, 0, false};
}

void after_join(const Joining& joining, bool joined) {
  if (!joining.known || !joined) return;
  spin.lock();
  for (Known* at = bucket_of(joining.thread); at != nullptr; at = at->next) {
    if (at->thread != joining.thread || at->number != joining.number) continue;
    take(joining.thread);
    if (at->users == 0) free_block(at);
    break;
  }
  spin.unlock();
  if (recording()) sync(Sync::kJoin, joining.number);
}

Spin& threads_spin() {
  return spin;
}

void Spin::pause() {
  sched_yield();
}

SYNDROME_INTERPOSE int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                      void* (*routine)(void*), void* argument) noexcept {
  if (!recording()) return real_pthread_create(thread, attributes, routine, argument);
  modules_changed();
  Known* const block = prepare_thread(attributes);
  if (block == nullptr) return EAGAIN;
  block->routine = routine;
  block->argument = argument;
  const int result = real_pthread_create(thread, attributes, run, block);
  thread_created(block, result == 0 ? *thread : pthread_t{}, result == 0);
  if (noise_on && result == 0) make_noise_at_fork();
  return result;
}

SYNDROME_INTERPOSE int pthread_join(pthread_t thread, void** value) {
  return join(thread, [&] { return real_pthread_join(thread, value); });
}
SYNDROME_INTERPOSE int pthread_tryjoin_np(pthread_t thread, void** value) noexcept {
  return join(thread, [&] { return real_pthread_tryjoin_np(thread, value); });
}
SYNDROME_INTERPOSE int pthread_timedjoin_np(pthread_t thread, void** value, const timespec* until) {
  return join(thread, [&] { return real_pthread_timedjoin_np(thread, value, until); });
}
SYNDROME_INTERPOSE int pthread_clockjoin_np(pthread_t thread, void** value, clockid_t clock,
                                            const timespec* until) {
  return join(thread, [&] { return real_pthread_clockjoin_np(thread, value, clock, until); });
}

SYNDROME_INTERPOSE int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  const int result = real_pthread_setname_np(thread, name);
  if (result == 0 && pthread_equal(thread, pthread_self()) != 0 && recording()) thread_named(name);
  return result;
}

SYNDROME_INTERPOSE int prctl(int option, ...) noexcept {
  va_list list;
  va_start(list, option);
  unsigned long arguments[4];
  for (unsigned long& argument : arguments) argument = va_arg(list, unsigned long);
  va_end(list);
  const int result =
      real_prctl.pointer()(option, arguments[0], arguments[1], arguments[2], arguments[3]);
  if (result == 0 && option == PR_SET_NAME && recording()) {
    thread_named(reinterpret_cast<const char*>(arguments[0]));
  }
  return result;
}

}  // namespace syndrome::rt
