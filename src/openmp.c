/*
 * The functions of OpenMP are weak references: they are there if the program, or a library of it, was linked
 * with an OpenMP runtime, and NULL otherwise. Each of them reads a setting; none starts a thread or waits for
 * one, so they are safe in a forked child.
 */
#define _GNU_SOURCE /* CPU_COUNT */
#include "openmp.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#define WEAK __attribute__((weak))
extern int omp_get_max_threads(void) WEAK;
extern int omp_get_num_procs(void) WEAK;
extern int omp_in_parallel(void) WEAK;
extern int omp_get_active_level(void) WEAK;
extern int omp_get_max_active_levels(void) WEAK;
extern int omp_get_proc_bind(void) WEAK;
extern int omp_get_num_places(void) WEAK;
extern int omp_get_place_num(void) WEAK;
extern int omp_get_place_num_procs(int place) WEAK;
extern void omp_get_place_proc_ids(int place, int *processors) WEAK;

/* The first number of a list such as "8,4", or 0 if the variable is not set or holds no such number. A number
 * beyond GSV_MAX_THREADS counts as that. */
static int number_of(const char *variable) {
    const char *text = getenv(variable);
    if (!text)
        return 0;
    char *end;
    errno = 0;
    const long number = strtol(text, &end, 10);
    while (*end == ' ' || *end == '\t')
        end++;
    if (end == text || (*end != '\0' && *end != ',') || number < 1)
        return 0;
    return number < GSV_MAX_THREADS ? (int)number : GSV_MAX_THREADS;
}

int gsv_processors(void) {
    if (omp_get_num_procs) /* OpenMP asked before it bound this thread to one of them */
        return omp_get_num_procs();
    long count = 0;
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        count = CPU_COUNT(&allowed);
#endif
    if (count < 1)
        count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (int)count;
}

int gsv_default_threads(void) {
    int threads = omp_get_max_threads ? omp_get_max_threads() : number_of("OMP_NUM_THREADS");
    if (threads < 1)
        threads = gsv_processors();
    const int limit = number_of("OMP_THREAD_LIMIT");
    if (limit > 0 && threads > limit)
        threads = limit;
    return threads < GSV_MAX_THREADS ? threads : GSV_MAX_THREADS;
}

int gsv_in_full_region(void) {
    return omp_in_parallel && omp_get_active_level && omp_get_max_active_levels && omp_in_parallel() &&
           omp_get_active_level() >= omp_get_max_active_levels();
}

int gsv_place_of_thread(int index, int most, int *processors) {
    if (!omp_get_proc_bind || !omp_get_num_places || !omp_get_place_num || !omp_get_place_num_procs ||
        !omp_get_place_proc_ids || omp_get_proc_bind() == 0)
        return 0;
    const int places = omp_get_num_places(), mine = omp_get_place_num();
    if (places < 1)
        return 0;
    const int place = (int)(((long)(mine < 0 ? 0 : mine) + 1 + index) % places);
    const int count = omp_get_place_num_procs(place);
    if (count < 1 || count > most)
        return 0;
    omp_get_place_proc_ids(place, processors);
    return count;
}
