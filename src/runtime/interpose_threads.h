// A new thread on its way from its creator to its first line; for pthread_create and thrd_create.

#pragma once

#include <pthread.h>

#include "runtime/interpose.h"

namespace syndrome::rt {

/// What the creator hands to the new thread, and then the entry of the table of threads.
struct Known {
  Known* next = nullptr;
  pthread_t thread{};
  std::uint32_t number = 0;
  std::uint32_t users = 0;  // of creator and new thread, those that still look at this
  bool begun = false;       // the new thread has entered itself
  bool in_table = false;
  void* (*routine)(void*) = nullptr;
  int (*c11_routine)(void*) = nullptr;
  void* argument = nullptr;
  std::uintptr_t stack_low = 0;
  std::size_t stack_bytes = 0;
};

/// In the creator, which records: draws the number and records the fork. Null without memory.
[[nodiscard]] Known* prepare_thread(const pthread_attr_t* attributes);
/// In the creator, after the real creation.
void thread_created(Known* block, pthread_t thread, bool created);
/// In the new thread, first of all; `block` is not to be used afterwards, the copy is.
[[nodiscard]] Known begin_thread(Known* block, pthread_t self);

/// The calling thread's end will be recorded, after the destructors of its thread_local variables
/// and keys, however it ends.
void end_with_key();

struct Joining {
  pthread_t thread;
  std::uint32_t number;
  bool known;
};
[[nodiscard]] Joining before_join(pthread_t thread);
void after_join(const Joining& joining, bool joined);

}  // namespace syndrome::rt
