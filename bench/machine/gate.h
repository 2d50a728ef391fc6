/* Turns on one device between processes that benchmark on it at the same time (bench/all): one is alone while it times,
 * and any number may share the device to prepare. Without a file all calls do nothing. */
#ifndef BENCH_GATE_H
#define BENCH_GATE_H

/* The file that all of the processes name, made if it is missing; NULL: no gate. 0, or -1 with errno set. */
int bench_gate_open(const char *path);

/* Wait until no other process is alone. */
void bench_gate_share(void);
/* Wait until no other process is inside. A process that is inside itself need not leave first. */
void bench_gate_alone(void);
void bench_gate_leave(void);

#endif
