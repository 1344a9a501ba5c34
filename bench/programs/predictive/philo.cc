// philo: five philosophers; a table with one lock and a condition for each seat, at which one waits
// until both forks are free.

#include "program.h"

namespace {

using namespace predictive;

constexpr std::size_t kSeats = 5;
constexpr int kMeals = 4;

struct Table {
  Mutex mutex;
  Condition freed;
  bool fork[kSeats] = {true, true, true, true, true};
  int eating = 0;
  int meals = 0;
};
struct Philosopher {
  Mutex mutex;
  int thoughts = 0;
  int meals = 0;
  int hunger = 0;
};

Table table;
Philosopher philosophers[kSeats];

void dine(std::size_t seat) {
  const std::size_t left = seat;
  const std::size_t right = (seat + 1) % kSeats;
  for (int meal = 0; meal < kMeals; ++meal) {
    {
      const Guard guard(philosophers[seat].mutex);
      ++philosophers[seat].thoughts;
      philosophers[seat].hunger = 1;
    }
    {
      const Guard guard(table.mutex);
      while (!table.fork[left] || !table.fork[right]) table.freed.wait(table.mutex);
      table.fork[left] = false;
      table.fork[right] = false;
      ++table.eating;
      ++table.meals;
    }
    ++philosophers[seat].meals;
    const Guard guard(table.mutex);
    table.fork[left] = true;
    table.fork[right] = true;
    --table.eating;
    table.freed.notify_all();
  }
}

}  // namespace

int main() {
  in_threads(kSeats, dine);
  return table.meals == static_cast<int>(kSeats) * kMeals ? 0 : 1;
}
