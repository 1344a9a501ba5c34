// verdict: clean
// blocks: multiply_tile
// args: 48
// output: multiplied 48 x 48
// Matrix multiplication by a pool of threads: tiles of the result are tasks in a queue under a
// mutex; the factors are read by everyone.
//
//   matmul [SIZE]
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }

  ~Pool() {
    {
      const std::lock_guard guard(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  void submit(std::function<void()> task) {
    {
      const std::lock_guard guard(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  void work() {
    std::unique_lock guard(mutex_);
    while (true) {
      changed_.wait(guard, [this] { return closing_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      guard.unlock();
      task();
      guard.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

struct Matrix {
  explicit Matrix(std::size_t n) : size(n), cells(n * n) {}
  double& at(std::size_t row, std::size_t column) { return cells[row * size + column]; }
  [[nodiscard]] double at(std::size_t row, std::size_t column) const {
    return cells[row * size + column];
  }
  std::size_t size;
  std::vector<double> cells;
};

static constexpr std::size_t kTile = 32;

static void multiply_tile(const Matrix& a, const Matrix& b, Matrix& c, std::size_t top,
                          std::size_t left) {
  const std::size_t bottom = std::min(top + kTile, a.size);
  const std::size_t right = std::min(left + kTile, a.size);
  for (std::size_t row = top; row < bottom; ++row) {
    for (std::size_t k = 0; k < a.size; ++k) {
      const double factor = a.at(row, k);
      for (std::size_t column = left; column < right; ++column) {
        c.at(row, column) += factor * b.at(k, column);
      }
    }
  }
}

int main(int argc, char** argv) {
  const std::size_t size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 700;
  Matrix a(size), b(size), c(size);
  for (std::size_t i = 0; i < size * size; ++i) {
    a.cells[i] = static_cast<double>(i % 7);
    b.cells[i] = static_cast<double>(i % 5);
  }
  {
    Pool pool(4);
    for (std::size_t top = 0; top < size; top += kTile) {
      for (std::size_t left = 0; left < size; left += kTile) {
        pool.submit([&a, &b, &c, top, left] { multiply_tile(a, b, c, top, left); });
      }
    }
  }
  // Whole numbers below 2^53 add up exactly, in any order.
  for (std::size_t i = 0; i < size; i += 1 + size / 16) {
    const std::size_t j = (i * 7 + 3) % size;
    double expected = 0;
    for (std::size_t k = 0; k < size; ++k) expected += a.at(i, k) * b.at(k, j);
    if (c.at(i, j) != expected) {
      std::printf("wrong at %zu, %zu\n", i, j);
      return 1;
    }
  }
  std::printf("multiplied %zu x %zu\n", size, size);
}
