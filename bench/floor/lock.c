/* The physical limit of taking and leaving a lock: open, flock, close. Prints nanoseconds of each round. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count != 3) return 64;
  long rounds = atol(arguments[2]);
  for (long round = 0; round < rounds; round++) {
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    int file = open(arguments[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) != 0 || close(file) != 0) return 1;
    clock_gettime(CLOCK_MONOTONIC, &after);
    printf("%ld\n", (after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec);
  }
  return 0;
}
