/* An advisory lock on a file, which the kernel takes back from a process that dies. A process that waits to be alone
 * lets others share meanwhile: each of them will wait to be alone in the end, so they cannot go on for ever. */
#define _DEFAULT_SOURCE /* flock */
#include "gate.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

static int gate = -1;

int bench_gate_open(const char *path) {
    if (path)
        gate = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    return path && gate < 0 ? -1 : 0;
}

static void turn(int operation) {
    while (gate >= 0 && flock(gate, operation) && errno == EINTR)
        ;
}

void bench_gate_share(void) {
    turn(LOCK_SH);
}

void bench_gate_alone(void) {
    turn(LOCK_EX);
}

void bench_gate_leave(void) {
    turn(LOCK_UN);
}
