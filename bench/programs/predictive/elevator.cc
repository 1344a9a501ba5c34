// Elevator: three lifts serve the calls of ten floors; each floor has a lock, and so does the
// building.

#include "program.h"

namespace {

using namespace predictive;

constexpr std::size_t kFloors = 10;
constexpr std::size_t kLifts = 3;

struct Floor {
  Mutex mutex;
  int up = 0;
  int down = 0;
  int people = 0;
  int served = 0;
};
struct Lift {
  std::size_t floor = 0;
  int direction = 1;
  int load = 0;
  int moves = 0;
  int stops = 0;
};

Floor floors[kFloors];
Lift lifts[kLifts];
Mutex building;
int delivered = 0;

void stop(Lift& lift, Floor& floor) {
  const Guard guard(floor.mutex);
  if (floor.people == 0) return;
  --floor.people;
  ++lift.load;
  ++lift.stops;
  floor.up = floor.people > 0 ? 1 : 0;
  floor.down = 0;
  ++floor.served;
}

void run(Lift& lift) {
  for (int i = 0; i < 50; ++i) {
    stop(lift, floors[lift.floor]);
    if (lift.floor + 1 == kFloors) lift.direction = -1;
    if (lift.floor == 0) lift.direction = 1;
    lift.floor = static_cast<std::size_t>(static_cast<int>(lift.floor) + lift.direction);
    ++lift.moves;
    if (lift.load == 2) {
      const Guard guard(building);
      delivered += lift.load;
      lift.load = 0;
    }
  }
}

}  // namespace

int main() {
  for (std::size_t i = 0; i < kFloors; ++i) {
    floors[i].people = 1 + static_cast<int>(i % 3);
    floors[i].up = 1;
  }
  in_threads(kLifts, [](std::size_t number) { run(lifts[number]); });
  return delivered > 0 ? 0 : 1;
}
