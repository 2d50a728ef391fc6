/*
 * The Matrix Market readers, of matrices and of blocks, fed from memory: this file has the six functions of zlib that the reader calls.
 * The first byte says which of them reads, and how reading ends: well, or as zlib reports a file that is cut off or damaged.
 * What is accepted must be a matrix as matrix.h promises it; what is refused leaves nothing behind.
 */
#include "bytes.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "matrices/block.h"
#include "matrices/internal.h"

/* ----------------------------------------------------------------------------------- zlib, from memory --- */

static fuzz_bytes input;
static int ending;

gzFile gzopen(const char *path, const char *mode) {
    (void)mode;
    return (gzFile)(uintptr_t)path;
}

gzFile gzdopen(int number, const char *mode) {
    (void)number;
    (void)mode;
    return NULL;
}

int gzbuffer(gzFile file, unsigned size) {
    (void)file;
    (void)size;
    return 0;
}

int gzread(gzFile file, void *buffer, unsigned length) {
    (void)file;
    const size_t got = input.left < length ? input.left : length;
    memcpy(buffer, input.at, got);
    input.at += got;
    input.left -= got;
    if (got < length && ending == Z_ERRNO) {
        errno = EIO;
        return -1;
    }
    return (int)got;
}

const char *gzerror(gzFile file, int *code) {
    (void)file;
    *code = ending;
    return "a sentence of zlib's";
}

int gzclose(gzFile file) {
    (void)file;
    return Z_OK;
}

/* ---------------------------------------------------------------------------------------------- target --- */

static void check_matrix(const gsm_matrix *m) {
    const int parts = m->is_complex ? 2 : 1;
    FUZZ_CHECK(m->n >= 0 && m->colptr && m->colptr[0] == 0 && m->colptr[m->n] == m->nnz && m->nnz >= m->n);
    for (int64_t j = 0; j < m->n; j++) {
        FUZZ_CHECK(m->colptr[j] <= m->colptr[j + 1]);
        for (int64_t k = m->colptr[j]; k < m->colptr[j + 1]; k++) {
            FUZZ_CHECK(m->rowidx[k] >= j && m->rowidx[k] < m->n);
            FUZZ_CHECK(k == m->colptr[j] || m->rowidx[k] > m->rowidx[k - 1]);
            FUZZ_CHECK(!m->is_complex || m->rowidx[k] != j || m->values[2 * k + 1] == 0);
        }
    }
    for (int64_t k = 0; k < parts * m->nnz; k++)
        FUZZ_CHECK(isfinite(m->values[k]));
    FUZZ_CHECK(gsm_nonzeros(m) <= 2 * m->nnz);
    gsm_fingerprint(m);
}

static void read_block(int64_t rows) {
    static const gsm_block none;
    char text[64];
    gsm_block block;
    const int status = gsm_load_block("b.mtx", rows, &block, text, sizeof text);
    FUZZ_CHECK((status == GSM_SUCCESS) == (text[0] == '\0') && strlen(text) < sizeof text);
    FUZZ_CHECK(status != GSM_OUT_OF_MEMORY || ending == Z_MEM_ERROR);
    if (status == GSM_SUCCESS) {
        const int64_t count = block.rows * block.cols * (block.is_complex ? 2 : 1);
        FUZZ_CHECK(block.rows >= 0 && block.cols >= 0 && block.values && (rows < 0 || block.rows == rows));
        for (int64_t k = 0; k < count; k++)
            FUZZ_CHECK(isfinite(block.values[k]));
    } else {
        FUZZ_CHECK(memcmp(&block, &none, sizeof none) == 0);
    }
    gsm_free_block(&block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int endings[] = {Z_OK, Z_OK, Z_OK, Z_OK, Z_BUF_ERROR, Z_DATA_ERROR, Z_ERRNO, Z_MEM_ERROR};
    static const gsm_matrix none;
    char text[64]; /* short: some messages are cut */
    gsm_report report = {text, sizeof text};
    gsm_matrix matrix = {0};
    input = (fuzz_bytes){data, size};
    const uint8_t first = fuzz_byte(&input);
    ending = endings[first % 8];
    if (first & 128) {
        read_block(first & 64 ? 3 : -1);
        return 0;
    }
    text[0] = '\0';
    const int status = gsm_read_market("a.mtx", first & 8 ? "HB" : NULL, &matrix, &report);
    FUZZ_CHECK((status == GSM_SUCCESS) == (text[0] == '\0') && strlen(text) < sizeof text);
    FUZZ_CHECK(status != GSM_OUT_OF_MEMORY || ending == Z_MEM_ERROR);
    if (status == GSM_SUCCESS)
        check_matrix(&matrix);
    else
        FUZZ_CHECK(memcmp(&matrix, &none, sizeof none) == 0);
    gsm_free(&matrix);
    return 0;
}
