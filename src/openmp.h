/*
 * What the program's OpenMP says about threads. The library runs on threads of its own (pool.h) and links no
 * OpenMP; where the program has one, its settings count.
 */
#ifndef GSV_OPENMP_H
#define GSV_OPENMP_H

enum { GSV_MAX_THREADS = 1024 }; /* of one handle: keeps typing errors out */

/* Threads of a handle whose options name no number, 1 to GSV_MAX_THREADS: what OpenMP would take, else
 * OMP_NUM_THREADS, else one for each processor that the process may use. */
int gsv_default_threads(void);

/* Processors that the process may use, at least 1. */
int gsv_processors(void);

/* Whether the caller is inside a parallel region of OpenMP in which another region would have one thread. */
int gsv_in_full_region(void);

/* Where OpenMP binds its threads (OMP_PROC_BIND): write the processors of the place for the index-th thread
 * after the caller to processors[0 .. count-1] and return how many there are, at most `most`. 0: nothing is
 * bound. */
int gsv_place_of_thread(int index, int most, int *processors);

#endif
