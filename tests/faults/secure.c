// Says what it finds of ours in its environment, and whether it has more rights than its caller.
#include <string.h>
#include <sys/auxv.h>

#include "fault.h"

extern char** environ;

int main(void) {
  race_before();
  race_after();
  printf("secure %lu\n", getauxval(AT_SECURE));
  for (char** each = environ; *each != NULL; ++each) {
    if (strncmp(*each, "SYNDROME_", 9) == 0) printf("%s\n", *each);
  }
  return 3;
}
