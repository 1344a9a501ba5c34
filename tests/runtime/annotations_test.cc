// What others say of synchronization: TSan's annotations, and libomp through OMPT. A small libomp
// of our own calls the callbacks in the order in which the real one does.

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "event/wire.h"
#include "fake_log.h"
#include "recorded.h"
#include "runtime/ompt.h"

extern "C" {
void __tsan_acquire(void*);
void __tsan_release(void*);
void __tsan_mutex_create(void*, unsigned);
void __tsan_mutex_pre_lock(void*, unsigned);
void __tsan_mutex_post_lock(void*, unsigned, int);
int __tsan_mutex_pre_unlock(void*, unsigned);
void __tsan_mutex_post_unlock(void*, unsigned);
void __tsan_mutex_destroy(void*, unsigned);
void AnnotateHappensBefore(const char*, int, const volatile void*);
void AnnotateHappensAfter(const char*, int, const volatile void*);
void AnnotateRWLockAcquired(const char*, int, const volatile void*, long);
void AnnotateRWLockReleased(const char*, int, const volatile void*, long);
syndrome::rt::ompt::StartTool* ompt_start_tool(unsigned, const char*);
}

namespace syndrome {
namespace {

TEST(InterposedAnnotations, TsansInterface) {
  int object = 0;
  Recorded recorded;
  recorded.name(&object, "x");
  EXPECT_EQ(recorded.run([&] {
    __tsan_release(&object);
    __tsan_acquire(&object);
    __tsan_mutex_create(&object, 0);
    __tsan_mutex_pre_lock(&object, 0);
    __tsan_mutex_post_lock(&object, 0, 1);
    __tsan_mutex_pre_unlock(&object, 0);
    __tsan_mutex_post_unlock(&object, 0);
    constexpr unsigned kRead = 1u << 3;
    constexpr unsigned kTryFailed = (1u << 4) | (1u << 5);
    __tsan_mutex_post_lock(&object, kRead, 1);
    __tsan_mutex_post_lock(&object, kTryFailed, 1);
    __tsan_mutex_pre_unlock(&object, kRead);
    __tsan_mutex_destroy(&object, 0);
  }),
            (Lines{"0 before x", "0 after x", "0 destroy x", "0 acquire x", "0 release x",
                   "0 acquire-shared x", "0 release-shared x", "0 destroy x"}));
}

TEST(InterposedAnnotations, DynamicAnnotations) {
  int object = 0;
  Recorded recorded;
  recorded.name(&object, "x");
  EXPECT_EQ(recorded.run([&] {
    AnnotateHappensBefore("file", 1, &object);
    AnnotateHappensAfter("file", 2, &object);
    AnnotateRWLockAcquired("file", 3, &object, 1);
    AnnotateRWLockReleased("file", 4, &object, 1);
    AnnotateRWLockAcquired("file", 5, &object, 0);
    AnnotateRWLockReleased("file", 6, &object, 0);
  }),
            (Lines{"0 before x", "0 after x", "0 acquire x", "0 release x", "0 acquire-shared x",
                   "0 release-shared x"}));
}

namespace ompt = rt::ompt;

std::map<int, void*> callbacks;

void* look_up(const char* name) {
  if (std::strcmp(name, "ompt_set_callback") != 0) return nullptr;
  const ompt::SetCallback set = [](int which, void* callback) {
    callbacks[which] = callback;
    return 5;
  };
  return reinterpret_cast<void*>(set);
}

template <typename... Arguments>
void tell(ompt::Callback which, Arguments... arguments) {
  ASSERT_TRUE(callbacks.contains(which));
  reinterpret_cast<void (*)(Arguments...)>(callbacks[which])(arguments...);
}

void barrier(ompt::Endpoint endpoint, ompt::Data* parallel, ompt::Data* task, int kind = 3) {
  tell(ompt::kSyncRegion, kind, static_cast<int>(endpoint), parallel, task,
       static_cast<const void*>(nullptr));
}
void implicit(ompt::Endpoint endpoint, ompt::Data* parallel, ompt::Data* task, unsigned index) {
  tell(ompt::kImplicitTask, static_cast<int>(endpoint), parallel, task, 2u, index, 2);
}
void create(ompt::Data* parent, ompt::Data* task) {
  tell(ompt::kTaskCreate, parent, static_cast<const void*>(nullptr), task, 4, 0,
       static_cast<const void*>(nullptr));
}
void schedule(ompt::Data* prior, int status, ompt::Data* next) {
  tell(ompt::kTaskSchedule, prior, status, next);
}
constexpr int kSwitch = 7;

// Objects of "before" and "after" that one step has recorded.
class Step {
 public:
  explicit Step(const std::function<void()>& body) {
    fake_start();
    body();
    fake_stop();
    std::size_t count = 0;
    const FakeRecord* const records = fake_records(&count);
    for (std::size_t i = 0; i < count; ++i) {
      if (records[i].kind != FakeRecord::kSync) continue;
      const auto kind = static_cast<wire::Sync>(records[i].sync);
      if (kind == wire::Sync::kHappensBefore) before_.insert(records[i].object);
      if (kind == wire::Sync::kHappensAfter) after_.insert(records[i].object);
    }
  }
  /// Some edge leads from this step to the later one.
  [[nodiscard]] bool is_before(const Step& later) const {
    for (const std::uintptr_t object : before_) {
      if (later.after_.contains(object)) return true;
    }
    return false;
  }

 private:
  std::set<std::uintptr_t> before_;
  std::set<std::uintptr_t> after_;
};

class InterposedOpenMp : public testing::Test {
 protected:
  InterposedOpenMp() {
    EXPECT_EQ(ompt_start_tool(202011, "test"), nullptr) << "only a recorded process has a tool";
    fake_start();
    ompt::StartTool* const tool = ompt_start_tool(202011, "test");
    fake_stop();
    EXPECT_NE(tool, nullptr);
    const int begun = tool != nullptr ? tool->initialize(look_up, 0, &tool->tool) : 0;
    EXPECT_EQ(begun, 1);
    implicit(ompt::kBegin, nullptr, &initial, 0);
  }
  void begin_region() {
    tell(ompt::kParallelBegin, &initial, static_cast<const void*>(nullptr), &parallel, 2u, 0,
         static_cast<const void*>(nullptr));
  }
  ompt::Data initial{};
  ompt::Data parallel{};
  ompt::Data first{};
  ompt::Data second{};
};

TEST_F(InterposedOpenMp, RegionsForkMeetAtBarriersAndJoin) {
  const Step fork([&] { begin_region(); });
  const Step starts([&] { implicit(ompt::kBegin, &parallel, &first, 0); });
  const Step other_starts([&] { implicit(ompt::kBegin, &parallel, &second, 1); });
  EXPECT_TRUE(fork.is_before(starts));
  EXPECT_TRUE(fork.is_before(other_starts));
  EXPECT_FALSE(starts.is_before(other_starts));
  const Step arrives([&] { barrier(ompt::kBegin, &parallel, &first); });
  const Step other_arrives([&] { barrier(ompt::kBegin, &parallel, &second); });
  const Step leaves([&] { barrier(ompt::kEnd, &parallel, &first); });
  EXPECT_TRUE(other_arrives.is_before(leaves));
  // The first one is at the next barrier before the second has left this one.
  const Step arrives_again([&] { barrier(ompt::kBegin, &parallel, &first, 9); });
  const Step other_leaves([&] { barrier(ompt::kEnd, &parallel, &second); });
  EXPECT_TRUE(arrives.is_before(other_leaves));
  EXPECT_FALSE(arrives_again.is_before(other_leaves));
  const Step other_ends([&] { barrier(ompt::kBegin, &parallel, &second, 9); });
  const Step join(
      [&] { tell(ompt::kParallelEnd, &parallel, &initial, 0, static_cast<const void*>(nullptr)); });
  EXPECT_TRUE(other_ends.is_before(join));
  // The worker leaves when its team is gone.
  barrier(ompt::kEnd, nullptr, &second, 9);
  implicit(ompt::kEnd, nullptr, &second, 1);
}

TEST_F(InterposedOpenMp, TasksAreAfterTheirCreationAndBeforeWhoeverWaits) {
  begin_region();
  implicit(ompt::kBegin, &parallel, &first, 0);
  implicit(ompt::kBegin, &parallel, &second, 1);
  ompt::Data task{};
  ompt::Data sibling{};
  const Step created([&] { create(&first, &task); });
  create(&first, &sibling);
  const Step runs([&] { schedule(&second, kSwitch, &task); });
  const Step sibling_runs([&] { schedule(&first, kSwitch, &sibling); });
  EXPECT_TRUE(created.is_before(runs));
  EXPECT_FALSE(created.is_before(sibling_runs));
  const Step ends([&] { schedule(&task, ompt::kComplete, &second); });
  EXPECT_FALSE(ends.is_before(sibling_runs));
  schedule(&sibling, ompt::kComplete, &first);
  const Step waited([&] { barrier(ompt::kEnd, &parallel, &first, ompt::kTaskwait); });
  EXPECT_TRUE(ends.is_before(waited));
  barrier(ompt::kBegin, &parallel, &first);
  const Step left([&] { barrier(ompt::kEnd, &parallel, &first); });
  EXPECT_TRUE(ends.is_before(left));
}

TEST_F(InterposedOpenMp, GroupsWaitForTheirTasksOnly) {
  begin_region();
  implicit(ompt::kBegin, &parallel, &first, 0);
  ompt::Data outside{};
  ompt::Data inside{};
  create(&first, &outside);
  barrier(ompt::kBegin, &parallel, &first, ompt::kTaskgroup);
  create(&first, &inside);
  schedule(&first, kSwitch, &outside);
  const Step outside_ends([&] { schedule(&outside, ompt::kComplete, nullptr); });
  const Step inside_ends([&] { schedule(&inside, ompt::kComplete, nullptr); });
  const Step waited([&] { barrier(ompt::kEnd, &parallel, &first, ompt::kTaskgroup); });
  EXPECT_TRUE(inside_ends.is_before(waited));
  EXPECT_FALSE(outside_ends.is_before(waited));
}

TEST_F(InterposedOpenMp, DependencesOrderWritersAndReaders) {
  begin_region();
  implicit(ompt::kBegin, &parallel, &first, 0);
  ompt::Data tasks[4] = {};
  const int types[4] = {2, 1, 1, 3};  // out, in, in, inout
  int variable = 0;
  for (int i = 0; i < 4; ++i) {
    create(&first, &tasks[i]);
    ompt::Dependence dependence{{}, types[i]};
    dependence.variable.pointer = &variable;
    tell(ompt::kDependences, &tasks[i], static_cast<const ompt::Dependence*>(&dependence), 1);
  }
  std::vector<Step> starts;
  std::vector<Step> ends;
  for (ompt::Data& task : tasks) {
    starts.emplace_back([&] { schedule(nullptr, kSwitch, &task); });
    ends.emplace_back([&] { schedule(&task, ompt::kComplete, nullptr); });
  }
  EXPECT_TRUE(ends[0].is_before(starts[1]));
  EXPECT_TRUE(ends[0].is_before(starts[2]));
  EXPECT_FALSE(ends[1].is_before(starts[2]));
  EXPECT_TRUE(ends[1].is_before(starts[3]));
  EXPECT_TRUE(ends[2].is_before(starts[3]));
}

TEST_F(InterposedOpenMp, LocksByTheirWaitId) {
  int lock = 0;
  const auto id = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&lock));
  const void* const nowhere = nullptr;
  Recorded recorded;
  recorded.name(&lock, "l");
  EXPECT_EQ(recorded.run([&] {
    tell(ompt::kMutexAcquired, 5, id, nowhere);
    tell(ompt::kMutexReleased, 5, id, nowhere);
    tell(ompt::kMutexAcquired, 5, id, nowhere);
    tell(ompt::kMutexReleased, 5, id, nowhere);
    tell(ompt::kLockDestroy, 1, id, nowhere);
  }),
            (Lines{"0 acquire l", "0 release l", "0 acquire l", "0 release l", "0 destroy l"}));
}

}  // namespace
}  // namespace syndrome
