// libsyndrome_mpi.so: the few functions of MPI that cli/ranks.cc needs.

#include "cli/mpi_module.h"

#include <mpi.h>

#include <limits>

namespace {

constexpr int kTag = 1;

bool start(int* rank, int* size) {
  int provided = 0;
  return MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS &&
         MPI_Comm_rank(MPI_COMM_WORLD, rank) == MPI_SUCCESS &&
         MPI_Comm_size(MPI_COMM_WORLD, size) == MPI_SUCCESS;
}

bool send(int to, const char* bytes, std::size_t size) {
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) return false;
  return MPI_Send(bytes, static_cast<int>(size), MPI_BYTE, to, kTag, MPI_COMM_WORLD) == MPI_SUCCESS;
}

bool arrived(int* from, std::size_t* size) {
  int there = 0;
  MPI_Status status;
  int count = 0;
  if (MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS ||
      there == 0 || MPI_Get_count(&status, MPI_BYTE, &count) != MPI_SUCCESS) {
    return false;
  }
  *from = status.MPI_SOURCE;
  *size = static_cast<std::size_t>(count);
  return true;
}

bool receive(int from, char* into, std::size_t size) {
  return MPI_Recv(into, static_cast<int>(size), MPI_BYTE, from, kTag, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

void end() {
  MPI_Finalize();
}

void abort_all(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
}

}  // namespace

extern "C" const syndrome::cli::MpiModule* syndrome_mpi_module();
extern "C" const syndrome::cli::MpiModule* syndrome_mpi_module() {
  static constexpr syndrome::cli::MpiModule kModule = {start,   send, arrived,
                                                       receive, end,  abort_all};
  return &kModule;
}
