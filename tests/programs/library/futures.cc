// verdict: clean
// blocks: Report::write, Report::read
// output: 30 30 30 broken
// Futures from std::async, std::promise and std::packaged_task hand over plain data, and
// exceptions.
#include <cstdio>
#include <future>
#include <stdexcept>
#include <thread>

struct Report {
  int pages = 0, lines = 0;
  void write() {
    pages = 10;
    lines = 2 * pages;
  }
  int read() const { return pages + lines; }
};

int main() {
  Report first, second, third;
  auto async = std::async(std::launch::async, [&first] { first.write(); });

  std::promise<Report*> promise;
  auto promised = promise.get_future();
  std::thread promiser([&second, &promise] {
    second.write();
    promise.set_value(&second);
  });

  std::packaged_task<Report*()> task([&third] {
    third.write();
    return &third;
  });
  auto packaged = task.get_future();
  std::thread packager(std::move(task));

  auto broken = std::async(std::launch::async, []() -> int { throw std::runtime_error("broken"); });

  async.get();
  const int one = first.read();
  const int two = promised.get()->read();
  const int three = packaged.get()->read();
  const char* outcome = "whole";
  try {
    broken.get();
  } catch (const std::runtime_error&) {
    outcome = "broken";
  }
  promiser.join();
  packager.join();
  std::printf("%d %d %d %s\n", one, two, three, outcome);
}
