"""The manifest, and whether a text is the matrix that it describes: a part of fetch."""

import re
import struct

NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
INTEGER = re.compile(rb"[+-]?[0-9]+\Z")


class Failure(Exception):
    """A matrix cannot be had: trying again would not help."""


class Entry:
    def __init__(self, row):
        self.group, self.name, self.kind = row["group"], row["name"], row["kind"]
        self.n, self.nnz = int(row["n"]), int(row["nnz"])
        self.spd, self.field, self.source = row["spd"], row["field"], row["source"]
        self.fingerprint = None if row["fingerprint"] == "-" else int(row["fingerprint"], 16)


def read_manifest(path):
    titles, entries = None, []
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                words = line.rstrip("\n").split("\t")
                if not line.strip() or line.startswith("#"):
                    continue
                if titles is None:
                    titles = words
                    continue
                try:
                    entries.append(Entry(dict(zip(titles, words))))
                except (KeyError, ValueError) as error:
                    raise Failure("%s:%d: malformed: %s" % (path, number, error)) from None
    except UnicodeDecodeError as error:
        raise Failure("%s: not a text in UTF-8: %s" % (path, error)) from None
    if titles is None:
        raise Failure("%s: no line with the names of the columns" % path)
    return entries


def find_entry(manifest, wanted):
    """The entry for NAME or GROUP/NAME."""
    group, _, name = wanted.rpartition("/")
    found = [entry for entry in manifest if entry.name == name and group in ("", entry.group)]
    if not found:
        raise Failure("is not in the manifest (see --list)")
    if found[0].group == "-":
        raise Failure("is not in the SuiteSparse collection and cannot be fetched")
    return found[0]


class Fingerprint:
    """The hash that matrix.h defines, fed with entries by ascending column and row."""

    def __init__(self, n, is_complex):
        self.hash, self.count, self.is_complex = 0xCBF29CE484222325, 0, is_complex
        self._absorb(n)
        self._absorb(1 if is_complex else 0)

    def _absorb(self, word):
        value = ((self.hash ^ word) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        self.hash = value ^ (value >> 32)

    def add(self, column, row, re_part, im_part):
        if re_part == 0.0 and im_part == 0.0:
            return
        self._absorb(column << 32 | row)
        for part in (re_part, im_part) if self.is_complex else (re_part,):
            self._absorb(struct.unpack("<Q", struct.pack("<d", part if part != 0.0 else 0.0))[0])
        self.count += 1

    def finish(self):
        self._absorb(self.count)
        return self.hash


class Matrix:
    """What one pass over a Matrix Market file tells: n, nnz (nonzeros of both triangles), fingerprint if asked.

    The rules are those of gsm_load, as far as the collection's files go: lower or upper triangle of a real,
    integer or complex matrix that is symmetric or Hermitian. Raises ValueError with the reason where the text
    breaks them.
    """

    def __init__(self, lines, with_fingerprint, expect_n=None):
        lines = iter(lines)
        banner = next(lines, b"").split()
        if len(banner) != 5 or banner[0].lower() != b"%%matrixmarket" or banner[1].lower() != b"matrix":
            raise ValueError("not a Matrix Market file")
        layout, field, symmetry = (word.lower() for word in banner[2:])
        self.is_complex = field == b"complex"
        if layout != b"coordinate" or (field, symmetry) not in (
            (b"real", b"symmetric"),
            (b"integer", b"symmetric"),
            (b"complex", b"hermitian"),
        ):
            kind = b" ".join(banner[2:]).decode("ascii", "replace")
            raise ValueError("neither real symmetric nor complex Hermitian: %s" % kind)
        sizes = None
        for line in lines:
            if line.strip() and not line.lstrip().startswith(b"%"):
                sizes = line.split()
                break
        if sizes is None or len(sizes) != 3 or not all(word.isdigit() for word in sizes):
            raise ValueError("no line with ROWS COLUMNS ENTRIES")
        rows, columns, entries = (int(word) for word in sizes)
        if rows != columns or rows >= 1 << 31 or entries > rows * (rows + 1) // 2:
            raise ValueError("impossible sizes %d x %d, %d entries" % (rows, columns, entries))
        if expect_n is not None and rows != expect_n:
            raise ValueError("order %d instead of %d" % (rows, expect_n))
        self.n = rows
        number = INTEGER if field == b"integer" else NUMBER
        self.nnz, listed = self._read_entries(lines, entries, number, with_fingerprint)
        self.fingerprint = self._hash(listed) if with_fingerprint else None

    def _read_entries(self, lines, entries, number, keep):
        n, is_complex, width = self.n, self.is_complex, 4 if self.is_complex else 3
        nnz, count, listed, im_part = 0, 0, [], 0.0
        matches = number.match
        for line in lines:
            words = line.split()
            if not words:
                continue
            count += 1
            if count > entries:
                raise ValueError("more than %d entries" % entries)
            if len(words) != width or not (words[0].isdigit() and words[1].isdigit() and matches(words[2])):
                raise ValueError(
                    "malformed entry %d: %s" % (count, line.strip()[:60].decode("ascii", "replace"))
                )
            row, column, re_part = int(words[0]), int(words[1]), float(words[2])
            if is_complex:
                if not matches(words[3]):
                    raise ValueError("malformed entry %d" % count)
                im_part = float(words[3])
            if not (1 <= row <= n and 1 <= column <= n) or not abs(re_part) + abs(im_part) < float("inf"):
                raise ValueError("entry %d is out of range" % count)
            if row == column and im_part != 0.0:
                raise ValueError("diagonal entry %d has an imaginary part" % row)
            if re_part != 0.0 or im_part != 0.0:
                nnz += 1 if row == column else 2
            if keep and row >= column:
                listed.append((column - 1, row - 1, re_part, im_part))
            elif keep:
                listed.append((row - 1, column - 1, re_part, -im_part))
        if count < entries:
            raise ValueError("ends after %d of %d entries" % (count, entries))
        return nnz, listed

    def _hash(self, listed):
        listed.sort(key=lambda entry: (entry[0], entry[1]))
        fingerprint, before = Fingerprint(self.n, self.is_complex), None
        for column, row, re_part, im_part in listed:
            if before == (column, row):
                raise ValueError("entry (%d, %d) is given twice" % (row + 1, column + 1))
            before = (column, row)
            fingerprint.add(column, row, re_part, im_part)
        return fingerprint.finish()


def check(lines, entry):
    """Raises Failure unless the text is the matrix of the entry; returns what was checked, in words."""
    try:
        matrix = Matrix(lines, entry.fingerprint is not None, entry.n)
    except ValueError as error:
        raise Failure("wrong matrix: %s" % error) from None
    if matrix.is_complex != entry.field.startswith("complex"):
        raise Failure(
            "wrong matrix: %s instead of %s" % ("complex" if matrix.is_complex else "real", entry.field)
        )
    if matrix.nnz != entry.nnz:
        raise Failure("wrong matrix: %d nonzeros instead of %d" % (matrix.nnz, entry.nnz))
    if entry.fingerprint is None:
        return "order, nonzeros and symmetry (no fingerprint known)"
    if matrix.fingerprint != entry.fingerprint:
        raise Failure(
            "wrong matrix: fingerprint %016x instead of %016x" % (matrix.fingerprint, entry.fingerprint)
        )
    return "fingerprint"
