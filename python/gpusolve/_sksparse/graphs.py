"""The functions for graphs of scikit-sparse 0.5: elimination trees and nested dissection, by CHOLMOD."""

from collections import namedtuple

import numpy as np
import scipy.sparse as sp

from .. import _core, _library
from .errors import Translated
from .compressed import compressed, pattern_of

SymbolicCholFactor = namedtuple("SymbolicCholFactor", ["count", "h", "parent", "post", "L"])


def _graph(A, kind, kinds):
    """A as compressed columns, kind, the type of the results, and the order of the graph."""
    A, itype = compressed(A)
    kind = "sym" if kind is None else kind
    if kind not in kinds:
        raise ValueError(f"kind: must be None or one of {', '.join(kinds)}, not {kind!r}")
    if kind in ("sym", "lo") and A.shape[0] != A.shape[1]:
        raise ValueError(f"A: must be square, but has the shape {A.shape}")
    _library.open_cholmod()
    return A, kind, itype, A.shape[1 if kind == "col" else 0]


def _tree(A, kind):
    """Parents and postorder of the elimination tree."""
    n = A.shape[1 if kind == "col" else 0]
    if A.nnz == 0:
        return np.full(n, -1), np.arange(n)
    if kind == "sym":
        graph = pattern_of(A, 1)
    elif kind == "lo":
        graph = pattern_of(A.T.tocsc(), 1)
    else:
        graph = pattern_of(A if kind == "col" else A.T.tocsc(), 0)
    with Translated():
        return _core.etree(*graph)


def etree(A, *, kind=None, return_post=False):
    """Elimination tree of A, of A A' or of A' A.

    Parameters
    ----------
    A : sparse matrix or array, shape (m, n)
    kind : {"sym", "lo", "row", "col"}, optional
        A by its upper triangle, which is the default; A by its lower triangle; A A'; A' A.
    return_post : bool

    Returns
    -------
    parent : ndarray of int, shape (n,), or (m,) for "row"
        -1 for a root.
    post : ndarray of int, of the same shape
        A postorder, with `return_post` only.

    Raises
    ------
    ValueError
        A is not square, or there is no such kind.

    Examples
    --------
    >>> from gpusolve.sksparse import etree
    >>> etree(sp.csc_array([[2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [1.0, 1.0, 2.0]]))
    array([ 2,  2, -1], dtype=int32)
    """
    A, kind, itype, _ = _graph(A, kind, ("sym", "lo", "row", "col"))
    parent, post = (v.astype(itype) for v in _tree(A, kind))
    return (parent, post) if return_post else parent


def symbfact(A, *, kind=None, lower=False, return_factor=False):
    """Column counts and elimination tree of the factor of A, of A A' or of A' A, in the order given.

    Parameters
    ----------
    A : sparse matrix or array, shape (m, n)
    kind : {"sym", "lo", "row", "col"}, optional
        As in `etree`.
    lower : bool
        Which pattern `return_factor` gives: that of L, or that of its transpose.
    return_factor : bool

    Returns
    -------
    count : ndarray of int, shape (n,), or (m,) for "row"
        Numbers in each column of L.
    h : int
        Height of the elimination tree.
    parent, post : ndarray of int, of the shape of count
        As in `etree`.
    L : csc_array of bool, or None
        The pattern of the factor, with `return_factor` only.

    Raises
    ------
    ValueError
        A is not square, or there is no such kind.
    """
    A, kind, itype, n = _graph(A, kind, ("sym", "lo", "row", "col"))
    parent, post = _tree(A, kind)
    if A.nnz == 0:
        count, height, L = np.zeros(n, np.int64), int(n > 0), sp.identity(n, dtype=bool, format="csc")
    else:
        if kind in ("sym", "lo"):
            graph = pattern_of(A.T.tocsc() if kind == "sym" else A, -1)
        else:
            graph = pattern_of(A if kind == "row" else A.T.tocsc(), 0)
        with Translated():
            count, level = _core.column_counts(*graph, parent, post)
        height = int(level.max()) + 1
        L = _factor_pattern(A, kind, parent) if return_factor else None
    if return_factor:
        L = sp.csc_array(L if lower else L.T)
        L.indices, L.indptr = L.indices.astype(itype), L.indptr.astype(itype)
    return SymbolicCholFactor(count.astype(itype), height, parent.astype(itype), post.astype(itype), L if return_factor else None)


def _factor_pattern(A, kind, parent):
    """The pattern of L: column j has the rows of the matrix below j, and those of its children in the tree."""
    if kind in ("row", "col"):
        A = abs(A).sign()
        A = A @ A.T if kind == "row" else A.T @ A
    A = sp.csc_matrix(A.T if kind == "sym" else A)
    columns = [A.indices[A.indptr[j]:A.indptr[j + 1]] for j in range(A.shape[0])]
    columns = [np.union1d(rows[rows > j], [j]) for j, rows in enumerate(columns)]
    for j, above in enumerate(parent):  # children come before their parents
        if above >= 0:
            columns[above] = np.union1d(columns[above], columns[j][1:])
    indptr = np.concatenate([[0], np.cumsum([len(rows) for rows in columns])])
    indices = np.concatenate(columns)
    return sp.csc_matrix((np.ones(len(indices), bool), indices, indptr), shape=A.shape)


def _dissected(A, kind):
    """What the functions of nested dissection take: the pattern, and the type and number of the nodes."""
    A, kind, itype, n = _graph(A, kind, ("sym", "row", "col"))
    graph = pattern_of(A.T.tocsc() if kind == "col" else A, -1 if kind == "sym" else 0)
    return graph, itype, n, A.nnz == 0


def _size(nd_small):
    if nd_small < 0:
        raise ValueError(f"nd_small: is negative: {nd_small}")
    return int(nd_small)


def bisect(A, *, kind=None):
    """A node separator of the graph of A, of A A' or of A' A.

    Parameters
    ----------
    A : sparse matrix or array, shape (m, n)
    kind : {"sym", "row", "col"}, optional
        A by its lower triangle, which is the default; A A'; A' A.

    Returns
    -------
    s : ndarray of int, shape (n,), or (m,) for "row"
        0: left, 1: right, 2: in the separator.

    Raises
    ------
    CholmodNotInstalledError
        CHOLMOD was built without METIS.
    ValueError
        A is not square, or there is no such kind.
    """
    graph, itype, n, is_empty = _dissected(A, kind)
    if is_empty:
        s = (np.arange(n) >= n // 2).astype(itype)
        s[-1:] = 2
        return s
    with Translated():
        return _core.bisect(*graph).astype(itype)


def metis(A, *, kind=None):
    """Nested dissection ordering by METIS.

    Parameters
    ----------
    A, kind
        As in `bisect`.

    Returns
    -------
    p : ndarray of int, shape (n,), or (m,) for "row"

    Raises
    ------
    CholmodNotInstalledError
        CHOLMOD was built without METIS.
    ValueError
        A is not square, or there is no such kind.
    """
    graph, itype, n, is_empty = _dissected(A, kind)
    if is_empty:
        return np.arange(n, dtype=itype)
    with Translated():
        return _core.metis(*graph).astype(itype)


class SeparatorTree:
    """The separator tree of a graph. Made by `nesdis`.

    Parameters
    ----------
    cp : array of int, shape (c,)
        Parent of each of the c components, -1 for a root.
    cmember : array of int, shape (n,)
        Component of each node.
    """

    def __init__(self, cp, cmember):
        self._cp = np.ascontiguousarray(cp)
        self._cmember = np.ascontiguousarray(cmember)

    @property
    def cp(self):
        """ndarray of int, shape (c,) : parent of each component."""
        return self._cp

    @property
    def cmember(self):
        """ndarray of int, shape (n,) : component of each node."""
        return self._cmember

    def __repr__(self):
        return f"SeparatorTree(components={len(self._cp)}, nodes={len(self._cmember)})"

    def prune(self, *, nd_oksep=None, nd_small=None):
        """A tree in which subtrees that are small, or have large separators, are one component.

        Parameters
        ----------
        nd_oksep : float, optional
            A separator is kept if it has less than this part of the nodes. Default: 1.
        nd_small : int, optional
            A subgraph with fewer nodes is one component. Default: 200.

        Returns
        -------
        SeparatorTree

        Raises
        ------
        CholmodInvalidInputError
            The arrays describe no tree.
        ValueError
            nd_small is negative.
        """
        oksep = 1.0 if nd_oksep is None else float(nd_oksep)
        small = 200 if nd_small is None else _size(nd_small)
        _library.open_cholmod()
        with Translated():
            parts = _core.collapse_septree(self._cp.astype(np.int64), self._cmember.astype(np.int64), oksep, small)
        return SeparatorTree(*(part.astype(self._cp.dtype) for part in parts))


def nesdis(A, *, kind=None, return_separator=False, nd_small=None, nd_components=None, nd_oksep=None, nd_camd=None):
    """Nested dissection ordering by CHOLMOD.

    Parameters
    ----------
    A, kind
        As in `bisect`.
    return_separator : bool
    nd_small : int, optional
        A subgraph with fewer nodes is not cut. Default: 200.
    nd_components : bool, optional
        Whether connected components are cut independently. Default: False.
    nd_oksep : float, optional
        A separator is kept if it has less than this part of the nodes. Default: 1.
    nd_camd : int, optional
        How the smallest subgraphs are ordered. 0: not at all; 1: by CAMD; 2: by CSYMAMD. Default: 1.

    Returns
    -------
    p : ndarray of int, shape (n,), or (m,) for "row"
    septree : SeparatorTree
        With `return_separator` only.

    Raises
    ------
    CholmodNotInstalledError
        CHOLMOD was built without METIS.
    ValueError
        A is not square, there is no such kind, or nd_small is negative.
    """
    graph, itype, n, is_empty = _dissected(A, kind)
    if is_empty:
        p, tree = np.arange(n, dtype=itype), SeparatorTree(np.array([-1], itype), np.zeros(n, itype))
    else:
        nd_small = None if nd_small is None else _size(nd_small)
        with Translated():
            p, cp, cmember = (v.astype(itype) for v in _core.nesdis(*graph, nd_small, nd_components, nd_oksep, nd_camd))
        tree = SeparatorTree(cp, cmember)
    return (p, tree) if return_separator else p
