// Work that several processes share, which all run the same program on the same traces
// (cli/ranks.h).
//
// Every process calls the same functions in the same order. Rank 0 has the results.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace syndrome::check {

class Spread {
 public:
  Spread() = default;
  virtual ~Spread() = default;
  Spread(const Spread&) = delete;
  Spread& operator=(const Spread&) = delete;

  [[nodiscard]] virtual unsigned rank() const = 0;

  /// Does every item below `count` once, in whichever process is free. `work` does those from the
  /// first to before the second, at least `step` of them unless they are the last, and gives what
  /// came out; it may be called by another thread than this one, but by one at a time. On rank 0
  /// `take` gets that, in any order.
  using Work = std::function<std::string(std::size_t from, std::size_t to)>;
  using Take = std::function<void(std::size_t from, std::size_t to, std::string_view result)>;
  virtual void run(std::size_t count, std::size_t step, const Work& work, const Take& take) = 0;

  /// What rank 0 says, in every process.
  [[nodiscard]] virtual std::string tell(std::string text) = 0;

  /// On rank 0, what every other process says.
  [[nodiscard]] virtual std::vector<std::string> gather(std::string text) = 0;
};

}  // namespace syndrome::check
