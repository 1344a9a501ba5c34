// How a recorded process ended.

#pragma once

#include <cstdint>
#include <optional>

namespace syndrome {

struct Ended {
  bool signal = false;                  // false: by exit
  std::uint32_t number = 0;             // of the signal, or the exit code
  std::optional<std::uint32_t> thread;  // number of the thread that ended it, where that is known

  [[nodiscard]] bool failed() const { return signal || number != 0; }
  friend bool operator==(const Ended&, const Ended&) = default;
};

}  // namespace syndrome
