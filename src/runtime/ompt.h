// The part of OpenMP 5's tool interface that interpose_openmp.cc uses, as the specification lays it
// out (chapter "OMPT Interface"), so that building the runtime needs no OpenMP.

#pragma once

#include <cstdint>

namespace syndrome::rt::ompt {

union Data {
  std::uint64_t value;
  void* pointer;
};

using Lookup = void* (*)(const char* entry_point);

struct StartTool {
  int (*initialize)(Lookup lookup, int device, Data* tool);
  void (*finalize)(Data* tool);
  Data tool;
};

using SetCallback = int (*)(int which, void* callback);

enum Callback : int {
  kParallelBegin = 3,
  kParallelEnd = 4,
  kTaskCreate = 5,
  kTaskSchedule = 6,
  kImplicitTask = 7,
  kMutexReleased = 17,
  kDependences = 18,
  kSyncRegion = 23,
  kLockDestroy = 25,
  kMutexAcquired = 27,
};

enum Endpoint : int { kBegin = 1, kEnd = 2, kBeginEnd = 3 };

enum SyncRegion : int {
  kTaskwait = 5,
  kTaskgroup = 6,
  kReduction = 7,
  // Every other one is a barrier.
};

enum TaskStatus : int {
  kComplete = 1,
  kCancel = 3,
  kEarlyFulfill = 5,
  kLateFulfill = 6,
  kTaskwaitComplete = 8,
};

struct Dependence {
  Data variable;
  int type;
};
constexpr int kDependenceIn = 1;
constexpr int kDependenceSource = 5;
constexpr int kDependenceSink = 6;

}  // namespace syndrome::rt::ompt
