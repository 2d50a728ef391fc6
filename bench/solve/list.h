/* --list: the matrices on the search path, and the generators. */
#ifndef BENCH_LIST_H
#define BENCH_LIST_H

void bench_list(void);

#endif
