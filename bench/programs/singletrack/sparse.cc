#include "sparse.h"

SYNDROME_DETERMINISTIC int main(int argc, char** argv) {
  return run_program(argc, argv, sparse::run);
}
