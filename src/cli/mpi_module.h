// What `syndrome` and libsyndrome_mpi.so say to each other. The module alone is linked with MPI,
// and only a process that mpirun started loads it: without MPI, everything else works.

#pragma once

#include <cstddef>

namespace syndrome::cli {

struct MpiModule {
  /// False: MPI could not be started.
  bool (*start)(int* rank, int* size);
  bool (*send)(int to, const char* bytes, std::size_t size);
  /// Whether a message is there; from whom and how long. Does not wait.
  bool (*arrived)(int* from, std::size_t* size);
  /// The message that has arrived.
  bool (*receive)(int from, char* into, std::size_t size);
  void (*end)();
  /// Ends all processes.
  void (*abort)(int code);
};

inline constexpr const char* kMpiModuleEntry = "syndrome_mpi_module";

}  // namespace syndrome::cli
