// The processes that `mpirun -n N syndrome check …` starts: N ranks that read the same traces and
// share the work. Rank 0 hands out what is to do, a part at a time to whoever asks, does some
// itself, and reports. A rank that is lost ends them all, with a message: there is no verdict
// without it.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check/spread.h"
#include "cli/mpi_module.h"
#include "event/result.h"

namespace syndrome::cli {

class Ranks final : public check::Spread {
 public:
  /// Null when mpirun did not start this process, or started it alone. An error when it did, and
  /// this installation has no MPI.
  [[nodiscard]] static Result<std::unique_ptr<Ranks>> join();

  ~Ranks() override;

  [[nodiscard]] unsigned rank() const override { return static_cast<unsigned>(rank_); }
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(size_); }

  void run(std::size_t count, std::size_t step, const Work& work, const Take& take) override;
  [[nodiscard]] std::string tell(std::string text) override;
  [[nodiscard]] std::vector<std::string> gather(std::string text) override;

  /// Says why on standard error and ends all ranks with exit code 2.
  [[noreturn]] void give_up(std::string_view why) const;

 private:
  Ranks(const MpiModule& module, int rank, int size) : module_(module), rank_(rank), size_(size) {}

  struct Message {
    int from = 0;
    std::string text;
  };
  void send(int to, std::string_view text) const;
  [[nodiscard]] bool receive(Message& message) const;
  /// Waits.
  [[nodiscard]] Message next() const;
  void lead(std::size_t count, std::size_t step, const Work& work, const Take& take);
  void follow(const Work& work);

  const MpiModule& module_;
  int rank_;
  int size_;
};

}  // namespace syndrome::cli
