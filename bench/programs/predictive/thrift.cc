// A server for remote calls in the manner of Apache Thrift, whose traces the paper has three of:
// clients put calls into a queue, workers of a thread pool take them out, look the method up, run
// it on the objects that it names, each with a lock, and answer through the call's own lock and
// condition.
//
//   thrift WORKERS CLIENTS CALLS OBJECTS

#include <cstdlib>

#include "program.h"

namespace {

using namespace predictive;

struct Object {
  Mutex mutex;
  int value = 0;
  int version = 0;
  int readers = 0;
};
struct Call {
  Mutex mutex;
  Condition answered;
  std::size_t object = 0;
  int method = 0;
  int argument = 0;
  int result = 0;
  bool done = false;
};

constexpr std::size_t kMostObjects = 200;
Object objects[kMostObjects];
std::size_t object_count = 8;
int calls_each = 10;
Mutex queue_mutex;
Condition queue_filled;
Call* queue[kMostThreads];  // no client has more than one call in it
std::size_t queue_begin = 0;
std::size_t queue_end = 0;
bool closed = false;
Mutex totals_mutex;
int calls_served = 0;
int calls_by_method[3];

void serve(Call& call) {
  Object& object = objects[call.object];
  int result = 0;
  {
    const Guard guard(object.mutex);
    switch (call.method) {
      case 0:
        ++object.readers;
        result = object.value + object.version;
        break;
      case 1:
        object.value += call.argument;
        ++object.version;
        result = object.value;
        break;
      default:
        if (object.value > call.argument) object.value = call.argument;
        result = object.version;
        break;
    }
  }
  {
    const Guard guard(totals_mutex);
    ++calls_served;
    ++calls_by_method[call.method];
  }
  const Guard guard(call.mutex);
  call.result = result;
  call.done = true;
  call.answered.notify_one();
}

void work(std::size_t) {
  while (true) {
    Call* call = nullptr;
    {
      const Guard guard(queue_mutex);
      while (queue_begin == queue_end && !closed) queue_filled.wait(queue_mutex);
      if (queue_begin == queue_end) return;
      call = queue[queue_begin++ % kMostThreads];
    }
    serve(*call);
  }
}

void ask(std::size_t client) {
  Call call;
  for (int i = 0; i < calls_each; ++i) {
    call.object = (client * 7 + static_cast<std::size_t>(i) * 3) % object_count;
    call.method = i % 3;
    call.argument = i;
    call.done = false;
    {
      const Guard guard(queue_mutex);
      queue[queue_end++ % kMostThreads] = &call;
      queue_filled.notify_one();
    }
    const Guard guard(call.mutex);
    while (!call.done) call.answered.wait(call.mutex);
  }
}

int argument(int argc, char** argv, int index, int otherwise) {
  return argc > index ? std::atoi(argv[index]) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const auto workers = static_cast<std::size_t>(argument(argc, argv, 1, 1));
  const auto clients = static_cast<std::size_t>(argument(argc, argv, 2, 2));
  calls_each = argument(argc, argv, 3, calls_each);
  object_count = static_cast<std::size_t>(argument(argc, argv, 4, 8));
  if (workers + clients > kMostThreads || object_count == 0 || object_count > kMostObjects) {
    return 2;
  }
  Threads pool;
  pool.start(workers, work);
  in_threads(clients, ask);
  {
    const Guard guard(queue_mutex);
    closed = true;
    queue_filled.notify_all();
  }
  pool.join();
  return calls_served == static_cast<int>(clients) * calls_each ? 0 : 1;
}
