/* What the program is at, on the terminal. */
#ifndef GPUSOLVE_COMMAND_PROGRESS_H
#define GPUSOLVE_COMMAND_PROGRESS_H

/* Starts a thread that writes the stage and its seconds to standard error once a stage has taken longer than a second;
 * does nothing if standard error is no terminal, or if there is no thread to be had. */
void progress_start(void);

/* The stage that begins now, in printf's format; NULL: none. Wipes what stands there of the last one. */
__attribute__((format(printf, 1, 2))) void progress_stage(const char *format, ...);

void progress_stop(void);

#endif
