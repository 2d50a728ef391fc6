#include "cholmod.h"

#include <dlfcn.h>

#include <cstring>

namespace cholmod {

enum { LONG = 2, DOUBLE = 0, REAL = 1, COMPLEX = 2, ZOMPLEX = 3 };
enum { OK = 0, NOT_INSTALLED = -1, OUT_OF_MEMORY = -2, TOO_LARGE = -3, NOT_POSDEF = 1 };

/* Where fields of cholmod_common lie, in bytes. */
struct Layout {
    size_t supernodal, final_ll, quick_return, print, nmethods, ordering, method_size, postorder, itype,
        status;
};

struct Library {
    int (*start)(void *);
    int (*finish)(void *);
    Factor *(*analyze)(Sparse *, int64_t *, int64_t *, size_t, void *);
    int (*factorize)(Sparse *, double *, int64_t *, size_t, Factor *, void *);
    Factor *(*copy_factor)(Factor *, void *);
    int (*free_factor)(Factor **, void *);
    void *opened; /* dlopen's */
    int numbers[3];
    Layout layout;
};

/* Where the first method's parameters of nested dissection lie. */
struct Dissection {
    size_t oksep, small, camd, components;
};

namespace {

/* As in the headers of 3.0, 4.2 and 5.3; other versions put new fields behind these, or are refused. */
const Layout LAYOUT = {48, 60, 136, 144, 168, 316, 168, 1864, 1960, 1972};

const Dissection DISSECTION = {216, 256, 308, 312};

int &field(Common &common, size_t offset) {
    return *reinterpret_cast<int *>(common.bytes + offset);
}

template <typename F> bool find(void *from, const char *name, F *function) {
    *function = reinterpret_cast<F>(dlsym(from, name));
    return *function != nullptr;
}

/* Starts CHOLMOD and tells whether the defaults stand where the layout says. */
bool start(const Library &library, Common &common) {
    const Layout &at = library.layout;
    std::memset(&common, 0, sizeof common);
    if (!library.start(common.bytes))
        return false;
    const bool is_known = field(common, at.supernodal) == AUTO && field(common, at.final_ll) == 0 &&
                          field(common, at.quick_return) == 0 && field(common, at.print) == 3 &&
                          field(common, at.nmethods) == 0 && field(common, at.ordering) == GIVEN &&
                          field(common, at.ordering + at.method_size) == AMD &&
                          field(common, at.ordering + 2 * at.method_size) == METIS &&
                          field(common, at.postorder) == 1 && field(common, at.itype) == LONG &&
                          field(common, at.status) == OK;
    if (!is_known) {
        library.finish(common.bytes);
        return false;
    }
    field(common, at.print) = 0;
    field(common, at.quick_return) = 1;
    return true;
}

/* "" and the library, or why it cannot be used. */
std::string load(const std::string &name, Library *library) {
    void *const opened = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!opened)
        return dlerror();
    int (*version)(int *) = nullptr;
    if (!find(opened, "cholmod_l_start", &library->start) ||
        !find(opened, "cholmod_l_finish", &library->finish) ||
        !find(opened, "cholmod_l_analyze_p", &library->analyze) ||
        !find(opened, "cholmod_l_factorize_p", &library->factorize) ||
        !find(opened, "cholmod_l_copy_factor", &library->copy_factor) ||
        !find(opened, "cholmod_l_free_factor", &library->free_factor) ||
        !find(opened, "cholmod_l_version", &version))
        return name + ": is not a CHOLMOD with 64-bit indices";
    version(library->numbers);
    library->opened = opened;
    library->layout = LAYOUT;
    const int main = library->numbers[0];
    if (main < 3 || main > 5)
        return name + ": is CHOLMOD " + std::to_string(main) + "; versions 3 to 5 are known";
    const auto common = std::make_unique<Common>();
    if (!start(*library, *common))
        return name + ": its cholmod_common has a layout that is not known";
    library->finish(common->bytes);
    return "";
}

} // namespace

const Library *open(const std::vector<std::string> &names) {
    static const Library *opened = nullptr; /* for the life of the process */
    std::string reasons;
    if (opened)
        return opened;
    for (const std::string &name : names) {
        auto library = std::make_unique<Library>();
        const std::string reason = load(name, library.get());
        if (reason.empty())
            return opened = library.release();
        reasons += "\n  " + reason;
    }
    throw Failure(GPUSOLVE_NOT_SUPPORTED, reasons);
}

std::string version(const Library *library) {
    const int *n = library->numbers;
    return std::to_string(n[0]) + "." + std::to_string(n[1]) + "." + std::to_string(n[2]);
}

void *function(const Library *library, const char *name) {
    void *const found = dlsym(library->opened, name);
    if (!found)
        throw Failure(GPUSOLVE_NOT_SUPPORTED, std::string(name) + ": this CHOLMOD was built without it");
    return found;
}

void *opened(const Library *library) {
    return library->opened;
}

void begin(const Library *library, Common &common) {
    if (!start(*library, common))
        throw Failure(GPUSOLVE_INTERNAL_ERROR, "cholmod_l_start failed");
}

void end(const Library *library, Common &common) {
    library->finish(common.bytes);
}

void fail(const Library *library, Common &common, const char *call) {
    const int status = field(common, library->layout.status);
    const std::string text = std::string(call) + ": ";
    if (status == OUT_OF_MEMORY)
        throw Failure(GPUSOLVE_OUT_OF_MEMORY, text + "CHOLMOD is out of memory");
    if (status == TOO_LARGE)
        throw Failure(GPUSOLVE_TOO_LARGE, text + "the factor is too large for CHOLMOD");
    if (status == NOT_INSTALLED)
        throw Failure(GPUSOLVE_NOT_SUPPORTED, text + "this CHOLMOD was built without it");
    throw Failure(GPUSOLVE_INVALID_ARGUMENT,
                  text + "CHOLMOD refuses the matrix (status " + std::to_string(status) + ")");
}

void set_dissection(Common &common, std::optional<int64_t> small, std::optional<bool> components,
                    std::optional<double> oksep, std::optional<int> camd) {
    auto *const nd_oksep = reinterpret_cast<double *>(common.bytes + DISSECTION.oksep);
    auto *const nd_small = reinterpret_cast<size_t *>(common.bytes + DISSECTION.small);
    int &nd_camd = field(common, DISSECTION.camd), &nd_components = field(common, DISSECTION.components);
    if (*nd_oksep != 1 || *nd_small != 200 || nd_camd != 1 || nd_components != 0)
        throw Failure(GPUSOLVE_NOT_SUPPORTED, "nesdis: this CHOLMOD has other defaults than are known");
    *nd_oksep = oksep.value_or(*nd_oksep);
    *nd_small = static_cast<size_t>(small.value_or(static_cast<int64_t>(*nd_small)));
    nd_camd = camd.value_or(nd_camd);
    nd_components = components.value_or(nd_components != 0);
}

double blas_flops(const Factor &factor, bool is_complex) {
    if (!factor.is_super)
        return 0;
    const auto *const count = static_cast<const int64_t *>(factor.ColCount);
    double sum = 0;
    for (size_t j = 0; j < factor.n; j++)
        sum += static_cast<double>(count[j]) * static_cast<double>(count[j]);
    return is_complex ? 4 * sum : sum;
}

/* ------------------------------------------------------------------------------------------ symbolic --- */

Symbolic::Symbolic(const Library *library, Sparse *a, Ordering ordering, Mode mode, int64_t *permutation)
    : library_(library), common_(std::make_unique<Common>()) {
    const Layout &at = library->layout;
    Common &common = *common_;
    begin(library, common);
    field(common, at.supernodal) = mode;
    if (ordering == BEST)
        field(common, at.nmethods) = 9;
    else if (ordering != DEFAULT) {
        field(common, at.nmethods) = 1;
        field(common, at.ordering) = ordering == POSTORDERED ? NATURAL : ordering;
        field(common, at.postorder) = ordering != NATURAL;
    }
    factor_ = library->analyze(a, permutation, nullptr, 0, common.bytes);
    if (!factor_ && ordering == METIS && field(common, at.status) == NOT_INSTALLED) {
        field(common, at.ordering) = AMD;
        field(common, at.status) = OK;
        factor_ = library->analyze(a, nullptr, nullptr, 0, common.bytes);
    }
    if (factor_)
        return;
    try {
        fail(library, common, "analysis");
    } catch (const Failure &) {
        library->finish(common.bytes);
        throw;
    }
}

Symbolic::~Symbolic() {
    if (factor_)
        library_->free_factor(&factor_, common_->bytes);
    library_->finish(common_->bytes);
}

int64_t Symbolic::nonzeros() const {
    const int64_t *const count = static_cast<const int64_t *>(factor_->ColCount);
    int64_t sum = 0;
    for (size_t j = 0; j < factor_->n; j++)
        sum += count[j];
    return sum;
}

std::unique_ptr<Numeric> Symbolic::factorize(Sparse *a, double beta, bool is_ldl) const {
    /* A cholmod_common of its own: several threads may factorise with one analysis. */
    const Layout &at = library_->layout;
    auto common = std::make_unique<Common>();
    begin(library_, *common);
    field(*common, at.supernodal) = field(*common_, at.supernodal);
    field(*common, at.final_ll) = !is_ldl;
    Factor *const copy = library_->copy_factor(factor_, common->bytes);
    auto numeric = std::make_unique<Numeric>(library_, copy, std::move(common));
    if (!copy)
        fail(library_, *numeric->common, "factorisation");
    numeric->factorize(a, beta);
    return numeric;
}

void Numeric::factorize(Sparse *a, double beta) {
    double shift[2] = {beta, 0};
    const int done = library->factorize(a, shift, nullptr, 0, factor, common->bytes);
    if (!done && field(*common, library->layout.status) != NOT_POSDEF)
        fail(library, *common, "factorisation");
    if (factor->minor < factor->n) {
        const auto stopped = static_cast<int64_t>(factor->minor);
        const int64_t column = factor->Perm ? static_cast<const int64_t *>(factor->Perm)[stopped] : stopped;
        throw Failure(GPUSOLVE_NOT_POSITIVE_DEFINITE,
                      "the matrix is not positive definite: its factorisation stopped at column " +
                          std::to_string(column) + " (column " + std::to_string(stopped) +
                          " of the reordered matrix)",
                      column);
    }
}

Numeric::~Numeric() {
    if (factor)
        library->free_factor(&factor, common->bytes);
    library->finish(common->bytes);
}

gpusolve_factor_data Numeric::describe() const {
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    const Factor &l = *factor;
    data.dtype = l.xtype == REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE;
    data.itype = GPUSOLVE_INT64;
    data.n = static_cast<int64_t>(l.n);
    data.minor = static_cast<int64_t>(l.minor);
    data.perm = l.ordering == NATURAL ? nullptr : l.Perm;
    data.x = l.x;
    data.z = l.xtype == ZOMPLEX ? l.z : nullptr;
    if (l.is_super) {
        data.kind = GPUSOLVE_SUPERNODAL_LL;
        data.nsuper = static_cast<int64_t>(l.nsuper);
        data.ssize = static_cast<int64_t>(l.ssize);
        data.xsize = static_cast<int64_t>(l.xsize);
        data.super = l.super;
        data.pi = l.pi;
        data.px = l.px;
        data.s = l.s;
        return data;
    }
    data.kind = l.is_ll ? GPUSOLVE_SIMPLICIAL_LL : GPUSOLVE_SIMPLICIAL_LDL;
    data.xsize = static_cast<int64_t>(l.nzmax);
    data.p = l.p;
    data.i = l.i;
    data.nz = l.nz;
    return data;
}

} // namespace cholmod
