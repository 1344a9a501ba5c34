// Running something while its interposed calls are recorded, and what came of it in words.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace syndrome {

/// Objects by the names that the records shall show; records of others are left out.
class Recorded {
 public:
  void name(const volatile void* object, std::string text);
  /// What `body` and the threads that it runs do, one line for each record: "0 acquire m",
  /// "1 read buffer 5". The first word is the thread, counted from 0.
  std::vector<std::string> run(const std::function<void()>& body);
  /// Show these also, though no name belongs to them.
  bool threads = false;
  bool signals = false;
  /// What thread 1 allocated first: its stack.
  std::uintptr_t stack_low = 0;
  std::size_t stack_bytes = 0;

 private:
  struct Named {
    const volatile void* object;
    std::string text;
  };
  std::vector<Named> names_;
};

using Lines = std::vector<std::string>;

}  // namespace syndrome
