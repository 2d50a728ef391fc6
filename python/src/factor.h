/* A factor, and A for refinement, as the Python package holds them. */
#ifndef GPUSOLVE_PYTHON_FACTOR_H
#define GPUSOLVE_PYTHON_FACTOR_H

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gpusolve_selection.h"
#include "shared.h"

class FactorState final : public Shared {
    gpusolve_factor *factor_ = nullptr;

    gpusolve_status make_room(gpusolve_handle *handle, int64_t columns, void **memory) override;
    void free_room(void *memory) override;

  public:
    double log_determinant = 0; /* of the absolute value */
    double sign = 1;

    FactorState(const Place &where, const gpusolve_factor_data &data);
    /* From a file: gpusolve_factor_map, or gpusolve_factor_load, which always verifies. */
    FactorState(const Place &where, const std::string &path, bool is_mapped, bool verify);
    ~FactorState() override;

    gpusolve_factor *get() const {
        return factor_;
    }
    void refresh(const gpusolve_factor_data &data);
    void save(const std::string &path); /* gpusolve_factor_save */
};

/* What Python holds; empty when it is closed. */
struct CoreFactor {
    std::shared_ptr<FactorState> state;

    FactorState &open() const {
        if (!state)
            throw Failure(GPUSOLVE_INVALID_ARGUMENT, "the factor is closed");
        state->check_process();
        return *state;
    }
};

class Matrix {
  public:
    gpusolve_matrix *matrix = nullptr;
    Matrix(const Place &place, const gpusolve_matrix_data &data);
    ~Matrix();
    Matrix(const Matrix &) = delete;
    Matrix &operator=(const Matrix &) = delete;

  private:
    Place place_;
    unsigned generation_ = process_generation();
};

class Selection {
    std::shared_ptr<FactorState> state_;
    gpusolve_selection *selection_ = nullptr;
    std::unique_ptr<std::mutex> lock_ = std::make_unique<std::mutex>();
    void *stream_ = nullptr;
    unsigned generation_ = process_generation();
    int64_t b_count_, x_count_;

  public:
    Selection(std::shared_ptr<FactorState> state, int system, int64_t b_count, const int64_t *b_rows,
              int64_t x_count, const int64_t *x_rows, int64_t max_nrhs);
    ~Selection();
    Selection(const Selection &) = delete;
    Selection &operator=(const Selection &) = delete;
    bool solve(nb::handle b, nb::handle x, uintptr_t stream);
    gpusolve_selection_info info();
};

/* log |det A| and its sign, of arrays that the library has accepted in single precision: these have not been rounded. */
void measure_determinant(const gpusolve_factor_data &data, double *logarithm, double *sign);

/* The diagonal of L, or D of L D L'. */
std::vector<double> diagonal_of(const gpusolve_factor_data &data);

/* False if b or x are not in a layout or dtype that the library takes; nothing is done then. */
bool solve(const std::shared_ptr<FactorState> &state, nb::handle b, nb::handle x, int system,
           uintptr_t stream);

/*
 * The same for arrays that known::read takes, on their package's current stream. False, with nothing done, also if their
 * shapes or dtypes are not what the factor wants.
 */
bool solve_into(const std::shared_ptr<FactorState> &state, nb::handle b, nb::handle x, int system);

/* Seconds that a call of gpusolve_solve takes by itself, of `count` in a row: what bench/python compares a call from Python with. */
double time_calls(const std::shared_ptr<FactorState> &state, nb::handle b, nb::handle x, int system,
                  uintptr_t stream, int count);

bool refine(const std::shared_ptr<FactorState> &state, const Matrix &matrix, nb::handle b, nb::handle x,
            const gpusolve_refine_options &options, uintptr_t stream, double *errors, int *steps,
            int64_t columns);

/* gpusolve_factor_rcond. */
double estimate_rcond(const std::shared_ptr<FactorState> &state, const Matrix &matrix);

#endif
