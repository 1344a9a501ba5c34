// A scene of spheres, seen by rays that are reflected; each thread has every fourth row and, as in
// Java Grande, a scene of its own. At its end it adds the sum of its pixels to the checksum, under
// the lock of its scene: everyone holds another lock, and the additions race. --fixed: each leaves
// its sum to whoever waits for the threads.

#include <array>
#include <mutex>

#include "program.h"

namespace raytracer {

constexpr std::size_t kThreads = 4;
constexpr int kReflections = 4;

struct Vector {
  double x = 0, y = 0, z = 0;
  friend Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend Vector operator*(double f, Vector a) { return {f * a.x, f * a.y, f * a.z}; }
  friend double operator*(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
};

struct Sphere {
  Vector centre;
  double radius = 0, shine = 0;
  int colour = 0;
};

struct Scene {
  std::vector<Sphere> spheres;
  Vector light{100, 100, -150};
  std::mutex lock;
};

struct Hit {
  double distance = 1e9;
  const Sphere* sphere = nullptr;
};

static Vector unit(Vector v) {
  return 1 / std::sqrt(v * v) * v;
}

/// 4 * 4 * 4 spheres around the origin.
SYNDROME_DETERMINISTIC static void make_scene(Scene& scene) {
  for (int i = 0; i < 64; ++i) {
    const Vector centre{20.0 * (i % 4) - 30, 20.0 * (i / 4 % 4) - 30, 20.0 * (i / 16) - 30};
    scene.spheres.push_back({centre, 5.0 + i % 3, 0.2 + 0.1 * (i % 4), 100 + i % 100});
  }
}

static Hit first_hit(const Scene& scene, Vector from, Vector way) {
  Hit hit;
  for (const Sphere& sphere : scene.spheres) {
    const Vector to = sphere.centre - from;
    const double along = to * way;
    const double under = along * along - to * to + sphere.radius * sphere.radius;
    if (under < 0) continue;
    const double distance = along - std::sqrt(under);
    if (distance > 1e-6 && distance < hit.distance) hit = {distance, &sphere};
  }
  return hit;
}

static double shade(const Scene& scene, Vector from, Vector way, int left) {
  const Hit hit = first_hit(scene, from, way);
  if (hit.sphere == nullptr) return 0;
  const Vector place = from + hit.distance * way;
  const Vector normal = unit(place - hit.sphere->centre);
  const Vector light = unit(scene.light - place);
  double brightness = 20;
  if (normal * light > 0 && first_hit(scene, place, light).sphere == nullptr) {
    brightness += hit.sphere->colour * (normal * light);
  }
  if (left > 0) {
    const Vector mirrored = way - 2 * (way * normal) * normal;
    brightness += hit.sphere->shine * shade(scene, place, mirrored, left - 1);
  }
  return brightness;
}

SYNDROME_DETERMINISTIC static int pixel(const Scene& scene, std::size_t x, std::size_t y,
                                        std::size_t size) {
  const auto at = [size](std::size_t i) {
    return (static_cast<double>(i) + 0.5) / static_cast<double>(size) - 0.5;
  };
  const Vector eye{0, 20, -100};
  const Vector way = unit({at(x), at(y) - 0.2, 1});
  return std::min(255, static_cast<int>(shade(scene, eye, way, kReflections)));
}

struct Image {
  std::size_t size = 0;
  std::vector<int> pixels;
  long checksum = 0;
  std::array<long, kThreads> sums{};
};

SYNDROME_DETERMINISTIC static long render_rows(Image& image, const Scene& scene, std::size_t id) {
  long sum = 0;
  for (std::size_t y = id; y < image.size; y += kThreads) {
    for (std::size_t x = 0; x < image.size; ++x) {
      const int brightness = pixel(scene, x, y, image.size);
      image.pixels[y * image.size + x] = brightness;
      sum += brightness;
    }
  }
  return sum;
}

SYNDROME_DETERMINISTIC static void worker(Image& image, std::size_t id, bool fixed) {
  Scene scene;
  make_scene(scene);
  const long sum = render_rows(image, scene, id);
  if (fixed) {
    image.sums[id] = sum;
    return;
  }
  const std::lock_guard guard(scene.lock);
  image.checksum += sum;
}

SYNDROME_DETERMINISTIC static void kernel(Image& image, bool fixed) {
  in_parallel(kThreads, [&](std::size_t id) { worker(image, id, fixed); });
  for (const long sum : image.sums) image.checksum += sum;
}

SYNDROME_DETERMINISTIC static bool run(const Call& call) {
  Image image;
  image.size = call.pick<std::size_t>(12, 200, 500);
  image.pixels.resize(image.size * image.size);
  kernel(image, call.fixed);
  long expected = 0;
  for (const int brightness : image.pixels) expected += brightness;
  // As one thread alone computes it.
  return image.checksum == expected && expected == call.pick<long>(6'772, 1'858'866, 11'625'178);
}

}  // namespace raytracer

SYNDROME_DETERMINISTIC int main(int argc, char** argv) {
  return run_program(argc, argv, raytracer::run);
}
