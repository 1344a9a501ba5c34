// Molecular dynamics: atoms in a box that repeats, under the Lennard-Jones potential. Each thread
// computes the forces of its atoms on all later ones into an array of its own; after a barrier each
// adds up a part of the arrays and moves those atoms; then comes another barrier.

#include <array>
#include <barrier>

#include "program.h"

namespace moldyn {

constexpr std::size_t kThreads = 4;
constexpr double kDensity = 0.83134;
constexpr double kTemperature = 0.722;
constexpr double kStep = 0.004;

using Vector = std::array<double, 3>;

struct World {
  double side = 0;
  double cutoff = 0;
  std::vector<Vector> places, speeds;
  std::vector<Vector> forces[kThreads];  // by the thread that computed them
  std::array<double, kThreads> potential{};
};

struct Energy {
  double kinetic, potential;
};

/// Four atoms in each of cells^3 cubes.
SYNDROME_DETERMINISTIC static void place_atoms(World& world, std::size_t cells) {
  const auto count = 4 * cells * cells * cells;
  world.side = std::cbrt(static_cast<double>(count) / kDensity);
  world.cutoff = std::min(2.5, world.side / 2);
  const double cube = world.side / static_cast<double>(cells);
  constexpr double kCorners[4][3] = {{0, 0, 0}, {0, 0.5, 0.5}, {0.5, 0, 0.5}, {0.5, 0.5, 0}};
  for (std::size_t i = 0; i < count; ++i) {
    const std::array<std::size_t, 3> cell = {i / 4 % cells, i / 4 / cells % cells,
                                             i / 4 / cells / cells};
    Vector place;
    for (std::size_t d = 0; d < 3; ++d) {
      place[d] = (static_cast<double>(cell[d]) + kCorners[i % 4][d]) * cube;
    }
    world.places.push_back(place);
  }
}

/// At random, without a common movement, and with the energy of the temperature.
SYNDROME_DETERMINISTIC static void push_atoms(World& world) {
  Random random(7);
  const auto count = static_cast<double>(world.places.size());
  Vector mean{};
  for (std::size_t i = 0; i < world.places.size(); ++i) {
    world.speeds.push_back({random.gauss(), random.gauss(), random.gauss()});
    for (std::size_t d = 0; d < 3; ++d) mean[d] += world.speeds[i][d] / count;
  }
  double square = 0;
  for (Vector& speed : world.speeds) {
    for (std::size_t d = 0; d < 3; ++d) {
      speed[d] -= mean[d];
      square += speed[d] * speed[d];
    }
  }
  const double scale = std::sqrt(3 * kTemperature * count / square);
  for (Vector& speed : world.speeds) {
    for (double& part : speed) part *= scale;
  }
}

/// Of atom i on those behind it, and of them on it.
SYNDROME_DETERMINISTIC static double force_of(const World& world, std::vector<Vector>& forces,
                                              std::size_t i) {
  const double side = world.side;
  const double limit = world.cutoff * world.cutoff;
  const Vector me = world.places[i];
  Vector sum{};
  double energy = 0;
  for (std::size_t j = i + 1; j < world.places.size(); ++j) {
    Vector way;
    double square = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      way[d] = me[d] - world.places[j][d];
      if (way[d] < -side / 2) way[d] += side;
      if (way[d] > side / 2) way[d] -= side;
      square += way[d] * way[d];
    }
    if (square > limit) continue;
    const double near6 = 1 / (square * square * square);
    energy += 4 * near6 * (near6 - 1);
    const double strength = 48 * near6 * (near6 - 0.5) / square;
    for (std::size_t d = 0; d < 3; ++d) {
      sum[d] += strength * way[d];
      forces[j][d] -= strength * way[d];
    }
  }
  for (std::size_t d = 0; d < 3; ++d) forces[i][d] += sum[d];
  return energy;
}

SYNDROME_DETERMINISTIC static void forces_of(World& world, std::size_t id) {
  std::vector<Vector>& forces = world.forces[id];
  forces.assign(world.places.size(), {});
  double energy = 0;
  for (std::size_t i = id; i < world.places.size(); i += kThreads) {
    energy += force_of(world, forces, i);
  }
  world.potential[id] = energy;
}

SYNDROME_DETERMINISTIC static void move(World& world, Part part) {
  for (std::size_t i = part.from; i < part.to; ++i) {
    for (std::size_t d = 0; d < 3; ++d) {
      double force = 0;
      for (const std::vector<Vector>& forces : world.forces) force += forces[i][d];
      world.speeds[i][d] += kStep * force;
      double& place = world.places[i][d];
      place += kStep * world.speeds[i][d];
      if (place < 0) place += world.side;
      if (place >= world.side) place -= world.side;
    }
  }
}

static void worker(World& world, std::barrier<>& barrier, std::size_t id, int moves) {
  for (int i = 0; i < moves; ++i) {
    forces_of(world, id);
    barrier.arrive_and_wait();
    move(world, Part(world.places.size(), id, kThreads));
    barrier.arrive_and_wait();
  }
}

SYNDROME_DETERMINISTIC static void kernel(World& world, int moves) {
  std::barrier<> barrier(static_cast<std::ptrdiff_t>(kThreads));
  in_parallel(kThreads, [&](std::size_t id) { worker(world, barrier, id, moves); });
}

SYNDROME_DETERMINISTIC static Energy energy_of(const World& world) {
  Energy energy{};
  for (const Vector& speed : world.speeds) {
    for (const double part : speed) energy.kinetic += part * part / 2;
  }
  for (const double part : world.potential) energy.potential += part;
  return energy;
}

SYNDROME_DETERMINISTIC static bool run(const Call& call) {
  World world;
  place_atoms(world, call.pick<std::size_t>(2, 4, 8));
  push_atoms(world);
  kernel(world, 1);
  const Energy before = energy_of(world);
  kernel(world, call.pick(4, 100, 50));
  const Energy after = energy_of(world);
  Vector momentum{};
  for (const Vector& speed : world.speeds) {
    for (std::size_t d = 0; d < 3; ++d) momentum[d] += speed[d];
  }
  // Nothing comes from outside: momentum stays, and energy as far as the steps are fine.
  const double total = before.kinetic + before.potential;
  const double change = after.kinetic + after.potential - total;
  const double limit = 0.05 * static_cast<double>(world.places.size());
  return std::fabs(change) < limit && std::fabs(momentum[0]) < 1e-6 &&
         std::fabs(momentum[1]) < 1e-6 && std::fabs(momentum[2]) < 1e-6 &&
         std::fabs(after.potential - before.potential) > 1e-6;
}

}  // namespace moldyn

SYNDROME_DETERMINISTIC int main(int argc, char** argv) {
  return run_program(argc, argv, moldyn::run);
}
