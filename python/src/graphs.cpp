/* CHOLMOD's functions for graphs, for gpusolve/_graphs.py: elimination trees and nested dissection. */
#include <nanobind/stl/optional.h>

#include "arrays.h"
#include "unlocked.h"

using namespace nb::literals;

namespace {

using Vector = std::vector<int64_t>;

nb::object array_of(const Vector &v) {
    return copy_of<int64_t>(v.data(), v.size());
}

/* A cholmod_common that is started, and functions of the library by name. */
class Session {
    const cholmod::Library *library_ = cholmod::open({});
    cholmod::Common common_;

  public:
    Session() {
        cholmod::begin(library_, common_);
    }
    ~Session() {
        cholmod::end(library_, common_);
    }
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;
    cholmod::Common &common() {
        return common_;
    }
    /* Calls a function whose last argument is the cholmod_common; without the interpreter's lock. */
    template <typename Result, typename... Args> Result call(const char *name, Args... args) {
        const auto function =
            reinterpret_cast<Result (*)(Args..., void *)>(cholmod::function(library_, name));
        const Unlocked unlocked;
        return function(args..., common_.bytes);
    }
    [[noreturn]] void fail(const char *what) {
        cholmod::fail(library_, common_, what);
    }
};

/* Parents in the elimination tree, -1 for a root. A: the upper triangle, or stype 0 for the tree of A'A. */
Vector parents_of(Session &session, cholmod::Sparse &a) {
    Vector parent(a.ncol);
    if (!session.call<int>("cholmod_l_etree", &a, parent.data()))
        session.fail("etree");
    return parent;
}

Vector postorder_of(Session &session, Vector &parent) {
    Vector post(parent.size());
    const int64_t *const no_weights = nullptr;
    if (session.call<int64_t>("cholmod_l_postorder", parent.data(), parent.size(), no_weights, post.data()) !=
        static_cast<int64_t>(parent.size()))
        session.fail("postorder");
    return post;
}

int64_t *const NO_SET = nullptr; /* all columns of A */

} // namespace

void bind_graphs(nb::module_ &m) {
    m.def("etree", [](int64_t n, const Indices &p, const Indices &i, int stype) {
        Session session;
        cholmod::Sparse a = pattern_of(n, p, i, stype);
        Vector parent = parents_of(session, a);
        const Vector post = postorder_of(session, parent);
        return nb::make_tuple(array_of(parent), array_of(post));
    });

    /* A: the lower triangle, or stype 0 for A A'; parent and post: its tree. */
    m.def("column_counts", [](int64_t n, const Indices &p, const Indices &i, int stype, const Indices &parent,
                              const Indices &post) {
        if (static_cast<int64_t>(parent.size()) != n || static_cast<int64_t>(post.size()) != n)
            throw Failure(GPUSOLVE_INVALID_ARGUMENT, "parent, post: must have n entries");
        Session session;
        cholmod::Sparse a = pattern_of(n, p, i, stype);
        Vector counts(a.nrow), first(a.nrow), level(a.nrow);
        int64_t *const no_row_counts = nullptr;
        if (!session.call<int>("cholmod_l_rowcolcounts", &a, NO_SET, size_t{0}, parent.data(), post.data(),
                               no_row_counts, counts.data(), first.data(), level.data()))
            session.fail("column counts");
        return nb::make_tuple(array_of(counts), array_of(level));
    });

    m.def("metis", [](int64_t n, const Indices &p, const Indices &i, int stype) {
        Session session;
        cholmod::Sparse a = pattern_of(n, p, i, stype);
        Vector perm(a.nrow);
        const int wants_postorder = 1;
        if (!session.call<int>("cholmod_l_metis", &a, NO_SET, size_t{0}, wants_postorder, perm.data()))
            session.fail("metis");
        return array_of(perm);
    });

    m.def("bisect", [](int64_t n, const Indices &p, const Indices &i, int stype) {
        Session session;
        cholmod::Sparse a = pattern_of(n, p, i, stype);
        Vector part(a.nrow);
        const int compresses = 1;
        if (session.call<int64_t>("cholmod_l_bisect", &a, NO_SET, size_t{0}, compresses, part.data()) < 0)
            session.fail("bisect");
        return array_of(part);
    });

    m.def(
        "nesdis",
        [](int64_t n, const Indices &p, const Indices &i, int stype, std::optional<int64_t> small,
           std::optional<bool> components, std::optional<double> oksep, std::optional<int> camd) {
            Session session;
            cholmod::Sparse a = pattern_of(n, p, i, stype);
            cholmod::set_dissection(session.common(), small, components, oksep, camd);
            Vector perm(a.nrow), parent(a.nrow), member(a.nrow);
            const auto count = session.call<int64_t>("cholmod_l_nested_dissection", &a, NO_SET, size_t{0},
                                                     perm.data(), parent.data(), member.data());
            if (count < 0)
                session.fail("nesdis");
            parent.resize(static_cast<size_t>(count));
            return nb::make_tuple(array_of(perm), array_of(parent), array_of(member));
        },
        "n"_a, "p"_a, "i"_a, "stype"_a, "small"_a.none(), "components"_a.none(), "oksep"_a.none(),
        "camd"_a.none());

    m.def("collapse_septree",
          [](const Indices &parents, const Indices &members, double oksep, int64_t small) {
              Vector parent(parents.data(), parents.data() + parents.size());
              Vector member(members.data(), members.data() + members.size());
              for (const int64_t c : member)
                  if (c < 0 || c >= static_cast<int64_t>(parent.size()))
                      throw Failure(GPUSOLVE_INVALID_ARGUMENT, "cmember: names a component that cp lacks");
              for (size_t c = 0; c < parent.size(); c++)
                  if (parent[c] != -1 && (parent[c] <= static_cast<int64_t>(c) ||
                                          parent[c] >= static_cast<int64_t>(parent.size())))
                      throw Failure(GPUSOLVE_INVALID_ARGUMENT, "cp: must be -1 or a later component");
              Session session;
              const auto count =
                  session.call<int64_t>("cholmod_l_collapse_septree", member.size(), parent.size(), oksep,
                                        static_cast<size_t>(small), parent.data(), member.data());
              if (count < 0)
                  session.fail("prune");
              parent.resize(static_cast<size_t>(count));
              return nb::make_tuple(array_of(parent), array_of(member));
          });
}
