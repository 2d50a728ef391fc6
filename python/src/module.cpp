/* gpusolve._core: the C library, thinly. The package's Python files check arguments and convert arrays. */
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <complex>

#include "arrays.h"
#include "blas_threads.h"
#include "cholmod.h"
#include "driver.h"
#include "factor.h"
#include "known.h"
#include "rounded.h"
#include "unlocked.h"

using namespace nb::literals;

namespace {

gpusolve_dtype dtype_of(const Numbers &x) {
    if (x.dtype() == nb::dtype<float>())
        return GPUSOLVE_FLOAT;
    if (x.dtype() == nb::dtype<double>())
        return GPUSOLVE_DOUBLE;
    if (x.dtype() == nb::dtype<std::complex<float>>())
        return GPUSOLVE_COMPLEX_FLOAT;
    if (x.dtype() == nb::dtype<std::complex<double>>())
        return GPUSOLVE_COMPLEX_DOUBLE;
    throw Failure(GPUSOLVE_TYPE_MISMATCH, "x: its numbers must be float32, float64, complex64 or complex128");
}

const void *data_of(const std::optional<Indices> &array) {
    return array ? array->data() : nullptr;
}

int64_t size_of(const std::optional<Indices> &array) {
    return array ? static_cast<int64_t>(array->size()) : 0;
}

/* Sizes are checked here, contents by the library. */
gpusolve_factor_data describe(int kind, int64_t n, const Numbers &x, const std::optional<Indices> &perm,
                              const std::vector<std::optional<Indices>> &arrays, bool allow_fill) {
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    const auto wants = [&](bool condition, const char *text) {
        if (!condition)
            throw Failure(GPUSOLVE_INVALID_FACTOR, text);
    };
    data.kind = static_cast<gpusolve_factor_kind>(kind);
    data.dtype = dtype_of(x);
    data.itype = GPUSOLVE_INT64;
    data.n = data.minor = n;
    data.x = x.data();
    data.xsize = static_cast<int64_t>(x.size());
    data.perm = data_of(perm);
    data.allow_fill = allow_fill;
    wants(n >= 0, "n: is negative");
    wants(!perm || size_of(perm) == n, "perm: must have n entries");
    if (kind == GPUSOLVE_SUPERNODAL_LL) {
        data.super = data_of(arrays[0]);
        data.pi = data_of(arrays[1]);
        data.px = data_of(arrays[2]);
        data.s = data_of(arrays[3]);
        data.nsuper = size_of(arrays[0]) - 1;
        data.ssize = size_of(arrays[3]);
        wants(data.nsuper >= 0 && size_of(arrays[1]) == data.nsuper + 1 &&
                  size_of(arrays[2]) == data.nsuper + 1,
              "super, pi, px: must have one entry more than there are supernodes");
        return data;
    }
    data.p = data_of(arrays[0]);
    data.i = data_of(arrays[1]);
    data.nz = data_of(arrays[2]);
    wants(size_of(arrays[0]) == n + 1, "p: must have n + 1 entries");
    wants(!data.nz || size_of(arrays[2]) == n, "nz: must have n entries");
    const auto *p = static_cast<const int64_t *>(data.p);
    wants(p[n] <= size_of(arrays[1]) && p[n] <= data.xsize, "p: its last entry exceeds the length of i or x");
    return data;
}

CoreFactor import_numeric(const Place &place, const cholmod::Numeric &numeric, bool is_single,
                          bool stored_in_single) {
    gpusolve_factor_data data = numeric.describe();
    if (stored_in_single)
        data.storage = GPUSOLVE_STORAGE_SINGLE;
    if (!is_single)
        return {std::make_shared<FactorState>(place, data)};
    const Rounded rounded(data);
    CoreFactor made{std::make_shared<FactorState>(place, rounded.data)};
    measure_determinant(data, &made.state->log_determinant, &made.state->sign);
    return made;
}

nb::dict info_of(FactorState &state, int64_t max_nrhs) {
    gpusolve_info info{};
    info.size = sizeof info;
    const Turn turn(state, false);
    const Handle handle(state.place);
    check(gpusolve_factor_info(handle, state.get(), max_nrhs, &info), handle);
    nb::dict d;
    d["device"] = gpusolve_get_device_name(handle);
    d["n"] = info.n;
    d["nnz"] = info.nnz_l;
    d["stored_bytes"] = info.stored_bytes;
    d["supernodes"] = info.supernodes;
    d["levels"] = info.levels;
    d["widest_supernode"] = info.widest_supernode;
    d["update_rows"] = info.update_rows;
    d["factor_bytes"] = info.factor_bytes;
    d["prepare_bytes"] = info.prepare_bytes;
    d["plan_bytes"] = info.plan_bytes;
    d["workspace_bytes"] = info.workspace_bytes;
    d["max_nrhs"] = info.max_nrhs;
    d["plan_ms"] = info.plan_ms;
    d["prepare_ms"] = info.prepare_ms;
    d["split_ms"] = info.split_ms;
    d["plans"] = info.plans;
    return d;
}

nb::dict cost_of(FactorState &state, int64_t nrhs) {
    gpusolve_cost cost{};
    cost.size = sizeof cost;
    const Turn turn(state, false);
    const Handle handle(state.place);
    check(gpusolve_factor_cost(handle, state.get(), nrhs, 0, &cost), handle);
    nb::dict d;
    d["bytes"] = cost.bytes;
    d["vector_bytes"] = cost.vector_bytes;
    d["flops"] = cost.flops;
    d["hops"] = cost.hops;
    d["wall_us"] = cost.wall_us;
    d["predicted_us"] = cost.predicted_us;
    return d;
}

std::string summary_of(FactorState &state) {
    size_t needed = 0;
    const Turn turn(state, false);
    const Handle handle(state.place);
    check(gpusolve_factor_summary(handle, state.get(), nullptr, 0, &needed), handle);
    std::string text(needed, '\0');
    check(gpusolve_factor_summary(handle, state.get(), text.data(), needed, nullptr), handle);
    text.resize(needed ? needed - 1 : 0);
    return text;
}

/* As pattern_of, with numbers. */
cholmod::Sparse sparse_of(int64_t n, const Indices &p, const Indices &i, const Numbers &x, int stype) {
    cholmod::Sparse a = pattern_of(n, p, i, stype);
    if (p.data()[a.ncol] > static_cast<int64_t>(x.size()))
        throw Failure(GPUSOLVE_INVALID_ARGUMENT, "A: its arrays do not fit together");
    if (dtype_of(x) != GPUSOLVE_DOUBLE && dtype_of(x) != GPUSOLVE_COMPLEX_DOUBLE)
        throw Failure(GPUSOLVE_TYPE_MISMATCH, "A: CHOLMOD factorises in double precision");
    a.x = const_cast<void *>(x.data());
    a.xtype = dtype_of(x) == GPUSOLVE_DOUBLE ? 1 : 2;
    return a;
}

/* The threads that CHOLMOD's BLAS should use for this; `wanted` if that is not 0. */
int blas_threads(const cholmod::Factor &factor, const cholmod::Sparse &a, int wanted) {
    return wanted > 0 ? wanted : blas::threads_for(cholmod::blas_flops(factor, a.xtype != 1));
}

/* L's arrays, copied, under the names of Factor.from_arrays. */
nb::dict arrays_of(const cholmod::Numeric &numeric) {
    const gpusolve_factor_data data = numeric.describe();
    const auto n = static_cast<size_t>(data.n);
    nb::dict d;
    d["n"] = data.n;
    d["kind"] = static_cast<int>(data.kind);
    if (data.kind == GPUSOLVE_SUPERNODAL_LL) {
        const auto supernodes = static_cast<size_t>(data.nsuper);
        d["super"] = copy_of<int64_t>(data.super, supernodes + 1);
        d["pi"] = copy_of<int64_t>(data.pi, supernodes + 1);
        d["px"] = copy_of<int64_t>(data.px, supernodes + 1);
        d["s"] = copy_of<int64_t>(data.s, static_cast<size_t>(data.ssize));
    } else {
        d["p"] = copy_of<int64_t>(data.p, n + 1);
        d["i"] = copy_of<int64_t>(data.i, static_cast<size_t>(data.xsize));
        d["nz"] = copy_of<int64_t>(data.nz, n);
    }
    const auto size = static_cast<size_t>(data.xsize);
    d["x"] = data.dtype == GPUSOLVE_DOUBLE ? copy_of<double>(data.x, size)
                                           : copy_of<std::complex<double>>(data.x, size);
    return d;
}

void translate(const std::exception_ptr &thrown, void *) {
    try {
        std::rethrow_exception(thrown);
    } catch (const Failure &failure) {
        const nb::object exception =
            nb::module_::import_("gpusolve._errors")
                .attr("from_status")(static_cast<int>(failure.status), gpusolve_status_name(failure.status),
                                     failure.what(), failure.column);
        PyErr_SetObject(reinterpret_cast<PyObject *>(exception.type().ptr()), exception.ptr());
    }
}

void bind_cholmod(nb::module_ &m) {
    m.def("blas_threads_for", &blas::threads_for);
    m.def("open_cholmod",
          [](const std::vector<std::string> &names) { return cholmod::version(cholmod::open(names)); });

    nb::class_<cholmod::Numeric>(m, "Numeric")
        .def("arrays", &arrays_of)
        .def("diagonal",
             [](const cholmod::Numeric &f) {
                 const std::vector<double> diagonal = diagonal_of(f.describe());
                 return copy_of<double>(diagonal.data(), diagonal.size());
             })
        .def(
            "factorize",
            [](cholmod::Numeric &self, int64_t n, const Indices &p, const Indices &i, const Numbers &x,
               int stype, double beta, int threads) {
                cholmod::Sparse a = sparse_of(n, p, i, x, stype);
                const blas::Threads fewer(cholmod::opened(self.library),
                                          blas_threads(*self.factor, a, threads));
                const Unlocked unlocked;
                self.factorize(&a, beta);
            },
            "n"_a, "p"_a, "i"_a, "x"_a, "stype"_a, "beta"_a, "blas_threads"_a = 0)
        .def_prop_ro("kind", [](const cholmod::Numeric &f) { return static_cast<int>(f.describe().kind); })
        .def_prop_ro("perm",
                     [](cholmod::Numeric &f) { return copy_of<int64_t>(f.factor->Perm, f.factor->n); });

    nb::class_<cholmod::Symbolic>(m, "Symbolic")
        .def(
            "__init__",
            [](cholmod::Symbolic *self, int64_t n, const Indices &p, const Indices &i, int stype,
               int ordering, int mode, std::optional<Indices> permutation) {
                cholmod::Sparse a = pattern_of(n, p, i, stype);
                auto *given = permutation ? const_cast<int64_t *>(permutation->data()) : nullptr;
                const cholmod::Library *const library = cholmod::open({});
                const Unlocked unlocked;
                new (self) cholmod::Symbolic(library, &a, static_cast<cholmod::Ordering>(ordering),
                                             static_cast<cholmod::Mode>(mode), given);
            },
            "n"_a, "p"_a, "i"_a, "stype"_a, "ordering"_a, "mode"_a, "permutation"_a.none())
        .def("factorize",
             [](const cholmod::Symbolic &self, int64_t n, const Indices &p, const Indices &i,
                const Numbers &x, int stype, double beta, bool is_ldl) {
                 cholmod::Sparse a = sparse_of(n, p, i, x, stype);
                 const blas::Threads fewer(cholmod::opened(cholmod::open({})),
                                           blas_threads(*self.factor(), a, 0));
                 const Unlocked unlocked;
                 return self.factorize(&a, beta, is_ldl);
             })
        .def_prop_ro("flops",
                     [](const cholmod::Symbolic &s) { return cholmod::blas_flops(*s.factor(), false); })
        .def_prop_ro(
            "perm",
            [](const cholmod::Symbolic &s) { return copy_of<int64_t>(s.factor()->Perm, s.factor()->n); })
        .def_prop_ro(
            "column_counts",
            [](const cholmod::Symbolic &s) { return copy_of<int64_t>(s.factor()->ColCount, s.factor()->n); })
        .def_prop_ro("ordering", [](const cholmod::Symbolic &s) { return s.factor()->ordering; })
        .def_prop_ro("is_super", [](const cholmod::Symbolic &s) { return s.factor()->is_super != 0; })
        .def_prop_ro("nnz", &cholmod::Symbolic::nonzeros);
}

void bind_factor(nb::module_ &m) {
    using Arrays = std::vector<std::optional<Indices>>;
    nb::class_<CoreFactor>(m, "Factor", nb::is_weak_referenceable())
        .def_static("from_numeric",
                    [](int backend, int device, int threads, bool same_bits, const cholmod::Numeric &numeric,
                       bool is_single, bool stored_in_single) {
                        return import_numeric(place_of(backend, device, threads, same_bits), numeric,
                                              is_single, stored_in_single);
                    })
        .def_static(
            "from_arrays",
            [](int backend, int device, int threads, bool same_bits, int kind, int64_t n, const Numbers &x,
               std::optional<Indices> perm, const Arrays &arrays, bool allow_fill) {
                return CoreFactor{
                    std::make_shared<FactorState>(place_of(backend, device, threads, same_bits),
                                                  describe(kind, n, x, perm, arrays, allow_fill))};
            },
            "backend"_a, "device"_a, "threads"_a, "same_bits"_a, "kind"_a, "n"_a, "x"_a, "perm"_a.none(),
            "arrays"_a, "allow_fill"_a)
        .def_static("from_file",
                    [](int backend, int device, int threads, bool same_bits, const nb::bytes &path,
                       bool is_mapped, bool verify) {
                        return CoreFactor{
                            std::make_shared<FactorState>(place_of(backend, device, threads, same_bits),
                                                          std::string(path.c_str()), is_mapped, verify)};
                    })
        .def("save",
             [](CoreFactor &self, const nb::bytes &path) {
                 const std::shared_ptr<FactorState> kept = self.state;
                 self.open().save(path.c_str());
             })
        .def("refresh_numeric",
             [](CoreFactor &self, const cholmod::Numeric &numeric) {
                 const std::shared_ptr<FactorState> kept = self.state;
                 FactorState &state = self.open();
                 const gpusolve_factor_data data = numeric.describe();
                 if (state.dtype == GPUSOLVE_DOUBLE || state.dtype == GPUSOLVE_COMPLEX_DOUBLE)
                     return state.refresh(data);
                 state.refresh(Rounded(data).data);
                 measure_determinant(data, &state.log_determinant, &state.sign);
             })
        .def(
            "refresh_arrays",
            [](CoreFactor &self, int kind, int64_t n, const Numbers &x, std::optional<Indices> perm,
               const Arrays &arrays, bool allow_fill) {
                const std::shared_ptr<FactorState> kept = self.state;
                self.open().refresh(describe(kind, n, x, perm, arrays, allow_fill));
            },
            "kind"_a, "n"_a, "x"_a, "perm"_a.none(), "arrays"_a, "allow_fill"_a)
        .def("solve",
             [](const CoreFactor &self, nb::handle b, nb::handle x, int system, uintptr_t stream) {
                 const std::shared_ptr<FactorState> kept = self.state;
                 self.open();
                 return solve(kept, b, x, system, stream);
             })
        .def(
            "solve_into",
            [](const CoreFactor &self, nb::handle b, nb::handle x, int system) {
                const std::shared_ptr<FactorState> kept = self.state;
                self.open();
                return solve_into(kept, b, x, system);
            },
            "b"_a.none(), "x"_a, "system"_a)
        .def("time_calls",
             [](const CoreFactor &self, nb::handle b, nb::handle x, int system, uintptr_t stream, int count) {
                 const std::shared_ptr<FactorState> kept = self.state;
                 self.open();
                 return time_calls(kept, b, x, system, stream, count);
             })
        .def("refine",
             [](const CoreFactor &self, const Matrix &matrix, nb::handle b, nb::handle x, int max_steps,
                double tolerance, double min_gain, bool solve_first, int method, int restart, bool twice,
                bool componentwise, uintptr_t stream, nb::ndarray<double, nb::ndim<1>, nb::c_contig> errors,
                nb::ndarray<int, nb::ndim<1>, nb::c_contig> steps) {
                 const std::shared_ptr<FactorState> kept = self.state;
                 self.open();
                 gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
                 options.max_steps = max_steps;
                 options.tolerance = tolerance;
                 options.min_gain = min_gain;
                 options.solve_first = solve_first;
                 options.method = static_cast<gpusolve_refine_method>(method);
                 options.restart = restart;
                 options.twice = twice;
                 options.componentwise = componentwise;
                 if (errors.size() != steps.size())
                     throw Failure(GPUSOLVE_INVALID_ARGUMENT, "errors, steps: must be of one length");
                 return refine(kept, matrix, b, x, options, stream, errors.data(), steps.data(),
                               static_cast<int64_t>(errors.size()));
             })
        .def("rcond",
             [](const CoreFactor &self, const Matrix &matrix) {
                 const std::shared_ptr<FactorState> kept = self.state;
                 self.open();
                 return estimate_rcond(kept, matrix);
             })
        .def("close", [](CoreFactor &self) { self.state.reset(); })
        .def_prop_ro("closed", [](const CoreFactor &self) { return !self.state; })
        .def_prop_ro("n", [](const CoreFactor &self) { return self.open().n; })
        .def_prop_ro("dtype", [](const CoreFactor &self) { return static_cast<int>(self.open().dtype); })
        .def_prop_ro("is_on_device", [](const CoreFactor &self) { return self.open().is_on_device(); })
        .def_prop_ro("device", [](const CoreFactor &self) { return self.open().place.device; })
        .def("slogdet",
             [](const CoreFactor &self) {
                 return nb::make_tuple(self.open().sign, self.open().log_determinant);
             })
        .def("info", [](const CoreFactor &self, int64_t max_nrhs) { return info_of(self.open(), max_nrhs); })
        .def("cost", [](const CoreFactor &self, int64_t nrhs) { return cost_of(self.open(), nrhs); })
        .def("summary", [](const CoreFactor &self) { return summary_of(self.open()); })
        .def("synchronize", [](const CoreFactor &self, uintptr_t stream) {
            const FactorState &state = self.open();
            const int device = state.place.device;
            if (!state.is_on_device())
                return;
            const Unlocked unlocked;
            driver::wait_for_stream(device, reinterpret_cast<void *>(stream));
        });
}

void bind_matrix_and_selection(nb::module_ &m) {
    nb::class_<Matrix>(m, "Matrix")
        .def("__init__", [](Matrix *self, const CoreFactor &factor, int64_t n, const Indices &p,
                            const Indices &i, const Numbers &x, int triangle) {
            gpusolve_matrix_data data{};
            const FactorState &state = factor.open();
            const auto entries = static_cast<int64_t>(std::min(i.size(), x.size()));
            if (static_cast<int64_t>(p.size()) != n + 1 || p.data()[n] > entries)
                throw Failure(GPUSOLVE_INVALID_ARGUMENT, "A: its index arrays do not fit together");
            data.size = sizeof data;
            data.format = GPUSOLVE_CSC;
            data.triangle = static_cast<gpusolve_triangle>(triangle);
            data.dtype = dtype_of(x);
            data.itype = GPUSOLVE_INT64;
            data.n = n;
            data.ptr = p.data();
            data.index = i.data();
            data.x = x.data();
            new (self) Matrix(state.place, data);
        });

    nb::class_<Selection>(m, "Selection")
        .def(
            "__init__",
            [](Selection *self, const CoreFactor &factor, int system, std::optional<Indices> b_rows,
               std::optional<Indices> x_rows, int64_t max_nrhs) {
                factor.open();
                new (self) Selection(factor.state, system, size_of(b_rows), b_rows ? b_rows->data() : nullptr,
                                     size_of(x_rows), x_rows ? x_rows->data() : nullptr, max_nrhs);
            },
            "factor"_a, "system"_a, "b_rows"_a.none(), "x_rows"_a.none(), "max_nrhs"_a)
        .def("solve", &Selection::solve)
        .def("info", [](Selection &self) {
            const gpusolve_selection_info info = self.info();
            nb::dict d;
            d["forward_supernodes"] = info.forward_supernodes;
            d["forward_bytes"] = info.forward_bytes;
            d["backward_supernodes"] = info.backward_supernodes;
            d["backward_bytes"] = info.backward_bytes;
            d["memory_bytes"] = info.memory_bytes;
            return d;
        });
}

} // namespace

cholmod::Sparse pattern_of(int64_t n, const Indices &p, const Indices &i, int stype) {
    cholmod::Sparse a{};
    const int64_t ncol = static_cast<int64_t>(p.size()) - 1;
    if (ncol < 0 || (stype != 0 && ncol != n) || p.data()[ncol] > static_cast<int64_t>(i.size()))
        throw Failure(GPUSOLVE_INVALID_ARGUMENT, "A: its index arrays do not fit together");
    a.nrow = static_cast<size_t>(n);
    a.ncol = static_cast<size_t>(ncol);
    a.nzmax = i.size();
    a.p = const_cast<int64_t *>(p.data());
    a.i = const_cast<int64_t *>(i.data());
    a.stype = stype;
    a.itype = 2; /* CHOLMOD_LONG */
    a.sorted = a.packed = 1;
    return a;
}

NB_MODULE(_core, m) {
    nb::register_exception_translator(translate);
    nb::set_leak_warnings(false); /* a factor that a running thread holds at the end is no leak */
    m.def("version", &gpusolve_version);
    nb::module_::import_("atexit").attr("register")(nb::cpp_function(&keep_locked));
    m.def("learn_type", &known::learn, "type"_a, "package"_a, "dtypes"_a, "stream"_a.none(),
          "exchange"_a.none());
    m.def("wait_for_stream", [](int device, uintptr_t stream) {
        const Unlocked unlocked;
        driver::wait_for_stream(device, reinterpret_cast<void *>(stream));
    });
    m.def("backend", [](int backend, int device) {
        const Handle handle(place_of(backend, device, 0, false));
        return nb::make_tuple(static_cast<int>(handle.place().backend), gpusolve_get_device_name(handle));
    });
    bind_cholmod(m);
    bind_graphs(m);
    bind_factor(m);
    bind_batch(m);
    bind_products(m);
    bind_matrix_and_selection(m);
}
