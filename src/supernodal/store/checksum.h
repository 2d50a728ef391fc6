/*
 * A checksum of 64 bits for blocks of a file: eight sums side by side, each of every eighth word, so that a processor
 * computes it about as fast as it reads memory. A step turns the sum, with the word in it, into another one and
 * never two into one: so any change of bytes that are in one sum changes the result, and of any other change one in
 * 2^64 goes unseen. It finds damage; it is no protection against somebody who means to deceive.
 */
#ifndef GSV_STORE_CHECKSUM_H
#define GSV_STORE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Of `count` bytes. The seed is the block's place, so that blocks that were exchanged are found, too. */
uint64_t gsv_checksum(const void *bytes, size_t count, uint64_t seed);

#endif
