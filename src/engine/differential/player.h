// Plays traces to the engine, all threads from one: what the runtime would call, in the order of
// the trace. Its cells, slots, epochs and objects are few, so that the corners come up. The threads
// that it has started may also be used by as many threads of the system, through engine().

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "event/event.h"
#include "event/unit.h"

namespace syndrome::engine {

/// A unit of made-up functions, in memory as the compiler pass would leave it.
class MadeUpUnit {
 public:
  struct Function {
    std::string name;
    std::vector<unit::Site> sites;
  };
  MadeUpUnit(std::span<const Function> functions, std::vector<unit::Flow> flows);

  [[nodiscard]] const unit::Header* header() const;
  [[nodiscard]] const unit::Function* function(std::size_t index) const;

 private:
  std::vector<std::uint64_t> words_;
};

struct SeenRace {
  std::uint64_t event = 0;  // Player::event when it was reported
  Place earlier;
  Place now;
};
struct SeenCandidate {
  std::uint64_t event = 0;
  Candidate candidate;
};

class Player {
 public:
  /// Memory of the program, as far as there are cells for it.
  static constexpr std::uint64_t kBase = 0x10000;
  static constexpr std::uint64_t kBytes = 0x1000;

  explicit Player(const Limits& limits);
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  [[nodiscard]] Engine& engine() { return *engine_; }
  /// Of the trace; it starts with its first event.
  [[nodiscard]] Thread& thread(ThreadId id);
  void stop(ThreadId id);
  /// All that is neither an access nor a function.
  void synchronize(const Event& what);
  [[nodiscard]] Counters counters() const;

  std::uint64_t event = 0;  // the number of the one that is played
  std::vector<SeenRace> races;
  std::vector<SeenCandidate> candidates;
  /// What a thread does first.
  const unit::Function* outermost = nullptr;
  unsigned variable_bytes = 8;

  [[nodiscard]] std::uint64_t address_of(std::uint32_t variable) const {
    return kBase + std::uint64_t{variable} * variable_bytes;
  }

 private:
  struct Mapped {
    void* at;
    std::size_t bytes;
  };
  struct Played {
    Thread* thread = nullptr;
    bool started = false;
    bool stopped = false;
  };
  [[nodiscard]] void* map(std::size_t bytes);
  [[nodiscard]] Played& played(ThreadId id);

  std::mutex mutex_;  // of what the engine's calls change here
  std::vector<Mapped> mapped_;
  std::vector<Played> threads_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Entry[]> cells_;
};

[[nodiscard]] Order order_of(MemoryOrder order);

}  // namespace syndrome::engine
