// Closes descriptors that it did not open, as daemons do, and uses the numbers for files of its
// own: nothing of ours may come into them.
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fault.h"

int main(int count, char** arguments) {
  const int from = count > 1 ? atoi(arguments[1]) : 3;
  race_before();
  closefrom(from);
  for (int fd = from; fd < from + 5; ++fd) {
    char name[16];
    snprintf(name, sizeof name, "own.%d", fd);
    must(open(name, O_RDWR | O_CREAT | O_TRUNC, 0600) == fd, name);
  }
  race_after();
  for (int fd = from; fd < from + 5; ++fd) {
    must(write(fd, "mine\n", 5) == 5, "write");
  }
  race_in_child();
  must(lseek(from + 4, 0, SEEK_END) == 5, "lseek");
  if (count > 2) {
    // None is left: the most that this process may have, it has.
    const struct rlimit few = {from + 5, from + 5};
    must(setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
    must(dup(0) < 0, "dup");
    pthread_t threads[12];
    for (int i = 0; i < 12; ++i) pthread_create(&threads[i], NULL, thread_after, NULL);
    for (int i = 0; i < 12; ++i) pthread_join(threads[i], NULL);
  }
  return 3;
}
