/* Test and benchmark matrices: files of the Matrix Market format, members of the SuiteSparse collection by
 * name, and generators.
 *
 * A matrix A is real symmetric or complex Hermitian and its lower triangle is stored by columns. This library
 * knows neither CHOLMOD nor a GPU; it needs the C library and zlib. Everything runs on the host and allocates
 * with malloc. The functions keep no state and may be called from many threads at once, as long as no thread
 * changes the environment or the locale meanwhile.
 */
#ifndef GPUSOLVE_MATRICES_MATRIX_H
#define GPUSOLVE_MATRICES_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lower triangle with diagonal, by columns: entries colptr[j] .. colptr[j + 1] - 1 are column j. */
typedef struct gsm_matrix {
    int64_t n;       /* order, 0 <= n <= INT32_MAX */
    int64_t nnz;     /* stored entries, explicit zeros among them */
    int is_complex;  /* 1: Hermitian, 0: real symmetric */
    int64_t *colptr; /* [n + 1], colptr[0] = 0, colptr[n] = nnz */
    int32_t *rowidx; /* [nnz], 0-based, j <= i, strictly ascending in each column */
    double *values;  /* [nnz], or [2 nnz] as pairs re, im; finite; a diagonal entry has im = 0 */
    char name[64];   /* file name without folder and ending, or the generator's spec; may be cut short */
} gsm_matrix;

/* X(name, value): every status.
 *   GSM_INVALID_ARGUMENT   a null pointer, or a generator's arguments are malformed or out of range
 *   GSM_NOT_FOUND          the spec is no generator, and no file
 *   GSM_IO_ERROR           the file cannot be opened, or not be read and unpacked to its end
 *   GSM_BAD_FILE           the file breaks its format, or is not the matrix that the spec's group says
 *   GSM_UNSUPPORTED        a well-formed file of a refused kind: pattern, array, skew, unsymmetric, ...
 *   GSM_OUT_OF_MEMORY      malloc failed */
#define GSM_STATUS_LIST(X)     \
    X(GSM_SUCCESS, 0)          \
    X(GSM_INVALID_ARGUMENT, 1) \
    X(GSM_NOT_FOUND, 2)        \
    X(GSM_IO_ERROR, 3)         \
    X(GSM_BAD_FILE, 4)         \
    X(GSM_UNSUPPORTED, 5)      \
    X(GSM_OUT_OF_MEMORY, 6)

typedef enum gsm_status {
#define GSM_STATUS_ENUM(name, value) name = value,
    GSM_STATUS_LIST(GSM_STATUS_ENUM)
#undef GSM_STATUS_ENUM
} gsm_status;

/* Loads the matrix that spec names.
 *
 * spec [in]       one of
 *                   PATH.mtx, PATH.mtx.gz   that file
 *                   NAME, GROUP/NAME        NAME.mtx or NAME.mtx.gz on the search path (below)
 *                   KIND:ARGUMENTS          a generator: see gsm_generators
 *                   contrast:E:KIND:ARGUMENTS, sequence:K:KIND:ARGUMENTS
 *                                           the same with other conductances
 *                   KIND:ARGUMENTS@c        its complex Hermitian variant D A conj(D), where D is diagonal
 *                                           with entries of modulus 1
 * out [out]       the matrix, to be released with gsm_free; all zero on failure. What it held before is
 *                 overwritten, not released.
 * message [out]   text of message_size bytes, always terminated: "" on success, else one sentence that names
 *                 what is wrong. May be NULL when message_size is 0.
 * Returns GSM_SUCCESS or the reason as a gsm_status.
 *
 * The search path is the folders of the environment variable GPUSOLVE_MATRICES (separated by colons), then
 * "matrices", then "../shared/matrices". A relative folder is tried against the current directory, then
 * against the source tree that the library was built from. In each folder, NAME is looked for as NAME,
 * GROUP/NAME (where a group is given) and NAME/NAME, each ending in .mtx and then .mtx.gz. Where a group is
 * given, a file whose "% name:" comment states another one is refused.
 *
 * Files are "matrix coordinate", field real, integer or complex, symmetric, hermitian or general. Lines end in LF,
 * CR LF or CR; exponents are written with E or, as Fortran does, with D, in either case. An entry above the diagonal
 * of a symmetric file is taken as its mirror image. Explicit zeros are kept.
 *
 * A general file is accepted if it is symmetric (Hermitian) up to rounding:
 *     abs(a_ij - conj(a_ji)) <= 2^-40 sqrt(abs(re(a_ii) re(a_jj)))    (2^-40 is 9.1e-13)
 * for all i and j, an absent entry counting as zero. Pairs that agree keep their value, the others get the mean
 * (a_ij + conj(a_ji)) / 2; the lower triangle is kept. Where a diagonal entry is zero or absent nothing is rounding.
 *
 * Refused: an entry given twice (also once in each triangle of a symmetric file), numbers that are not finite,
 * integers beyond 2^53, a diagonal entry of a Hermitian file with an imaginary part, fewer or more entries than
 * declared, fewer stored entries than n (no such matrix is positive definite), text after the last entry. The message
 * starts with PATH:LINE:COLUMN of the word that is wrong, or with PATH:LINE of the line or the entry; the columns are
 * bytes. Of a matrix that is not symmetric it names the first entry of the file that differs from its mirror image,
 * by how much, and how much is allowed. */
int gsm_load(const char *spec, gsm_matrix *out, char *message, size_t message_size);

/* Loads the matrix in the file path, whatever its name ends with; "-" is standard input, which is then called so in
 * messages. Otherwise as gsm_load. */
int gsm_load_file(const char *path, gsm_matrix *out, char *message, size_t message_size);

/* Releases what gsm_load allocated and sets *matrix to zero. Takes NULL and a matrix that is all zero. */
void gsm_free(gsm_matrix *matrix);

/* A 64-bit hash of the matrix: of n, the field, the positions and the values; never of the packing, the name,
 * or the order of the entries in the file. Printed as 16 hexadecimal digits.
 *
 * Canonical form: an entry whose value is zero (both parts, for complex) is left out, so explicit zeros do
 * not count, nor does their absence; a part that is -0 is taken as +0. Values enter as IEEE 754 binary64
 * bits.
 *
 * Definition: start with h = 0xcbf29ce484222325; each 64-bit word w of the sequence
 *     n;  is_complex;
 *     for each entry by ascending column j, then row i >= j:  2^32 j + i;  bits(re);  bits(im) if is_complex;
 *     the number of entries in the sequence
 * does
 *     h = h xor w;  h = 0x100000001b3 h mod 2^64;  h = h xor (h >> 32)
 * which is FNV-1a over words with a fold that carries high bits down. It tells copies from mistakes, not from
 * malice. matrix must be valid. */
uint64_t gsm_fingerprint(const gsm_matrix *matrix);

/* Entries of the full matrix, both triangles, that are not zero: what the collection calls nnz. */
int64_t gsm_nonzeros(const gsm_matrix *matrix);

/* The largest sum of moduli in a row of the full matrix; NaN if an entry is NaN, negative if memory runs out. */
double gsm_norm(const gsm_matrix *matrix);

/* The generators, one a line: the form of the spec and what it makes. Static text. */
const char *gsm_generators(void);

/* The name of a status, such as "GSM_BAD_FILE". Static text; "unknown status" for anything else. */
const char *gsm_status_name(int status);

#ifdef __cplusplus
}
#endif

#endif
