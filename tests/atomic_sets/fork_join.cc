// Functions that prepare something, let threads work on it, wait for those and go on with it: by
// join, in rounds, by a promise and by std::async. Neither a race nor a unit of work that others
// came between.
#include <cstdio>
#include <future>
#include <thread>
#include <vector>

struct Sums {
  long given = 0;
  long found = 0;
};

static void joined(Sums& sums) {
  sums.given = 1;
  std::thread worker([&] { sums.found = sums.given + 1; });
  worker.join();
  sums.given = sums.found;
}

static void in_rounds(std::vector<long>& parts, Sums& sums) {
  for (int round = 0; round < 3; ++round) {
    sums.given = round;
    std::vector<std::thread> workers;
    for (long& part : parts) workers.emplace_back([&] { part += sums.given; });
    for (auto& worker : workers) worker.join();
  }
  for (const long part : parts) sums.found += part;
}

static void promised(Sums& sums) {
  sums.given = 1;
  std::promise<int> promise;
  std::future<int> result = promise.get_future();
  std::thread worker([&] {
    sums.found = sums.given;
    promise.set_value(3);
  });
  const int three = result.get();
  sums.given = sums.found + three;
  worker.join();
}

static long sum(const std::vector<long>& all, std::size_t from, std::size_t to) {
  if (to - from == 1) return all[from];
  const std::size_t middle = (from + to) / 2;
  std::future<long> left = std::async(std::launch::async, sum, std::cref(all), from, middle);
  const long right = sum(all, middle, to);
  return left.get() + right;
}

int main() {
  Sums one, two, three;
  joined(one);
  std::vector<long> parts(6);
  in_rounds(parts, two);
  promised(three);
  const long all = sum({1, 2, 3, 4, 5}, 0, 5);
  std::printf("%ld %ld %ld %ld\n", one.given, two.found, three.given, all);
}
