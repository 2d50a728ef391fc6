/*
 * A factor, its workspaces, and A for refinement, as the Python package holds them.
 *
 * Threads. All members are called with the interpreter's lock held; long calls of the library let it go. Solves share
 * the factor's gate, a refresh has it alone. A call keeps what it uses alive, so close() may be called at any time.
 */
#ifndef GPUSOLVE_PYTHON_FACTOR_H
#define GPUSOLVE_PYTHON_FACTOR_H

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gpusolve_selection.h"
#include "handles.h"
#include "operand.h"

/* A workspace that no call uses now. */
struct Room {
    gpusolve_workspace *workspace;
    int64_t columns;  /* that it was made for */
    void *stream;     /* on which its last solve may still be under way */
    uint64_t capture; /* the capture whose graph it belongs to, for good; 0: none */
    int refreshes; /* that the factor had had when it was last used: a new plan lays it out anew, which no capture allows */
};

/* Shared or alone; a thread that wants it alone waits for those that have it, and those that come later wait for it. */
class Gate {
    std::mutex mutex_;
    std::condition_variable changed_;
    int inside_ = 0, waiting_ = 0; /* sharing it; wanting it alone */
    bool is_alone_ = false;

    bool is_free(bool alone) const {
        return alone ? inside_ == 0 && !is_alone_ : waiting_ == 0 && !is_alone_;
    }

  public:
    bool try_enter(bool alone);
    void enter(bool alone);
    void leave(bool alone);
};

class FactorState {
    gpusolve_factor *factor_ = nullptr;
    std::vector<Room> rooms_;
    std::unique_ptr<Gate> gate_ = std::make_unique<Gate>();
    unsigned generation_ = process_generation();
    int refreshes_ = 0;

    void renew_after_fork();
    friend class Turn;

  public:
    Place place;
    int64_t n = 0;
    gpusolve_dtype dtype = GPUSOLVE_DOUBLE;
    double log_determinant = 0; /* of the absolute value */
    double sign = 1;

    FactorState(const Place &where, const gpusolve_factor_data &data);
    /* From a file: gpusolve_factor_map, or gpusolve_factor_load, which always verifies. */
    FactorState(const Place &where, const std::string &path, bool is_mapped, bool verify);
    ~FactorState();
    FactorState(const FactorState &) = delete;
    FactorState &operator=(const FactorState &) = delete;

    gpusolve_factor *get() const {
        return factor_;
    }
    void refresh(const gpusolve_factor_data &data);
    void save(const std::string &path); /* gpusolve_factor_save */
    bool is_on_device() const {
        return place.backend == GPUSOLVE_BACKEND_CUDA;
    }
    /* Takes a workspace for at least this many columns; made if need be. */
    Room take_room(gpusolve_handle *handle, int64_t columns, void *stream);
    void return_room(const Room &room);
    /* Refuses operands in the memory of a device that the factor's backend cannot read. */
    void check_place(const Operand &operand, const char *name) const;
    void check_process() const;
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

/* Inside the factor's gate, for as long as this lives: with others or alone. Waits without the interpreter's lock. */
class Turn {
    Gate *gate_;
    bool alone_;

  public:
    Turn(FactorState &state, bool alone);
    ~Turn();
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;
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
