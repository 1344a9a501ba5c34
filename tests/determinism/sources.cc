// Calls of functions that say something else in each run, in a deterministic block and in a thread
// that it forks; and one outside.

#include <sys/random.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <random>
#include <string>
#include <thread>

#include <syndrome/syndrome.h>

static long sum;

SYNDROME_DETERMINISTIC static void work() {
  std::thread([] { sum += rand() % 2; }).join();
  sum += time(nullptr) % 2;
  sum += std::chrono::steady_clock::now().time_since_epoch().count() % 2;
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) == 0) sum += now.tv_nsec % 2;
  timeval day{};
  if (gettimeofday(&day, nullptr) == 0) sum += day.tv_usec % 2;
  sum += random() % 2;
  char byte = 0;
  if (getrandom(&byte, 1, 0) == 1) sum += byte % 2;
  std::random_device device;
  sum += device() % 2;
  sum += getpid() % 2;
  if (getenv("HOME") != nullptr) ++sum;
  if (read(STDIN_FILENO, &byte, 1) == 1) sum += byte;
  std::string line;
  if (std::getline(std::cin, line)) ++sum;
}

int main() {
  work();
  sum += clock() % 2;
  std::puts("done");
}
