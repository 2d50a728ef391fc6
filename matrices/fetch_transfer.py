"""Transfers over HTTPS that can be resumed, and what becomes of them: a part of fetch.

While NAME.tar.gz is on its way it is NAME.tar.gz.part, beside NAME.tar.gz.part.version, which has the server's name for
the version (ETag or date) that the bytes belong to. A transfer that broke off keeps both if the server named a version;
the next attempt, or the next run, asks for the rest of that version (Range and If-Range). A transfer is complete when
it has the size that the server states; then the archive's own checksum and the matrix are checked.
"""

import fcntl
import gzip
import http.client
import os
import ssl
import sys
import tarfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib

from fetch_check import Failure, check

BLOCK = 1 << 16


class Interruption(Exception):
    """The transfer broke off or was damaged: worth another attempt."""


def describe(error):
    """An OSError in words, without its number."""
    text = getattr(error, "strerror", None) or str(error)
    return "%s: %s" % (error.filename, text) if getattr(error, "filename", None) else text


# ------------------------------------------------------------------------------------------ progress ---


def size_text(count):
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return "%d bytes" % count if unit == "bytes" else "%.1f %s" % (count, unit)
        count /= 1000
    return "%.2f GB" % count


class Progress:
    """How much there is of a transfer, on stderr: a line that is written over on a terminal, else a line now and then."""

    def __init__(self, name, wanted):
        self.name, self.over = name, sys.stderr.isatty()
        self.wanted, self.next, self.open = wanted or self.over, 0.0, False

    def show(self, have, total, last=False):
        now = time.monotonic()
        if not self.wanted or (now < self.next and not last):
            return
        self.next = now + (0.2 if self.over else 5.0)
        text = "%s: %s" % (self.name, size_text(have))
        if total:
            text += " of %s (%d %%)" % (size_text(total), 100 * have // total)
        self.open = self.over and not last
        print("\r\x1b[K" + text if self.over else text, end="" if self.open else "\n", file=sys.stderr, flush=True)

    def close(self):
        """Before another line is written."""
        if self.open:
            print(file=sys.stderr, flush=True)
            self.open = False


# ---------------------------------------------------------------------------------------------- part ---


class Part:
    """The bytes of an archive so far, in a file that outlives this program if they can be of use."""

    def __init__(self, path):
        self.path, self.version_path = path, path + ".version"
        self.file = open(path, "a+b")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.file.close()
            raise Failure("%s: another process is writing it" % path) from None
        self.version = None
        try:
            with open(self.version_path, encoding="latin-1") as file:
                self.version = file.read().strip() or None
        except FileNotFoundError:
            pass
        if self.version is None:
            self.clear()

    def size(self):
        return self.file.seek(0, os.SEEK_END)

    def clear(self, version=None):
        """Forgets the bytes; those to come are of that version."""
        try:
            self.file.seek(0)
            self.file.truncate()
            self.version = version
            if version:
                with open(self.version_path, "w", encoding="latin-1") as file:
                    file.write(version + "\n")
            elif os.path.exists(self.version_path):
                os.unlink(self.version_path)
        except OSError as error:
            raise Failure("%s: %s" % (self.path, error.strerror)) from None

    def append(self, block):
        try:
            self.file.write(block)
        except OSError as error:
            raise Failure("%s: %s" % (self.path, error.strerror)) from None

    def close(self):
        """Keeps the bytes if they can be resumed."""
        if self.version is None or self.size() == 0:
            self.clear()
            os.unlink(self.path)
        self.file.close()


# ------------------------------------------------------------------------------------------ transfer ---


def is_loopback(url):
    return urllib.parse.urlsplit(url).hostname in ("127.0.0.1", "::1", "localhost")


def is_allowed(url):
    scheme = urllib.parse.urlsplit(url).scheme
    return scheme == "https" or (scheme == "http" and is_loopback(url))


class SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to HTTPS only."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if not is_allowed(newurl) or (is_loopback(newurl) and not is_loopback(req.full_url)):
            raise Failure("redirected to %s, which is not HTTPS" % newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def total_of(answer, have):
    """How many bytes the whole archive has, or None where the server does not say."""
    if answer.status == 206:
        total = (answer.headers.get("Content-Range") or "").rpartition("/")[2]
    else:
        total = answer.headers.get("Content-Length") or ""
    return int(total) if total.isdigit() else None


def take_answer(answer, part, progress):
    """Appends what the server sends to the part."""
    have = part.size()
    if answer.status == 206:
        if not (answer.headers.get("Content-Range") or "").startswith("bytes %d-" % have):
            raise Failure("the server answered with another range than asked for")
    else:
        version = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
        part.clear(None if version and version.startswith("W/") else version)
        have = 0
    total = total_of(answer, have)
    while total is None or have < total:
        block = answer.read1(BLOCK)
        if not block:
            break
        part.append(block)
        have += len(block)
        progress.show(have, total)
    if total is not None and have != total:
        raise Interruption("the connection was cut at %s of %s" % (size_text(have), size_text(total)))
    progress.show(have, total, last=True)


def refuse_answer(error, url, part):
    """What an answer that is an error means; returns if the part is complete."""
    reason = "the server answered %d %s" % (error.code, error.reason)
    if error.code == 416:  # there is nothing behind what we have: it is all, or no beginning of it
        if error.headers.get("Content-Range") == "bytes */%d" % part.size():
            return
        part.clear()
    elif error.code not in (408, 425, 429) and error.code < 500:
        raise Failure("%s for %s" % (reason, url))
    raise Interruption(reason)


def receive(url, part, timeout, progress):
    """Appends to the part what it lacks of url. Raises Interruption where the transfer broke off."""
    request = urllib.request.Request(
        url, headers={"User-Agent": "gpusolve-fetch", "Accept-Encoding": "identity"}
    )
    if part.size() > 0 and part.version:
        request.add_header("Range", "bytes=%d-" % part.size())
        request.add_header("If-Range", part.version)
    handlers = [SafeRedirects()] + ([urllib.request.ProxyHandler({})] if is_loopback(url) else [])
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout) as answer:
            take_answer(answer, part, progress)
    except urllib.error.HTTPError as error:
        with error:
            refuse_answer(error, url, part)
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        host = urllib.parse.urlsplit(url).netloc
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise Failure("the certificate of %s does not hold: %s" % (host, reason)) from None
        if isinstance(reason, TimeoutError) or "timed out" in str(reason):
            raise Interruption("no byte from %s for %g s" % (host, timeout)) from None
        what = "cannot reach" if isinstance(error, urllib.error.URLError) else "lost"
        raise Interruption("%s %s: %s" % (what, host, describe(reason))) from None


# --------------------------------------------------------------------------------------------- store ---


def matrix_lines(archive, name):
    """The lines of NAME/NAME.mtx in a .tar.gz, read to the archive's end so that its checksum is compared."""
    archive.seek(0)
    seen = False
    with gzip.GzipFile(fileobj=archive, mode="rb") as packed, tarfile.open(
        fileobj=packed, mode="r|"
    ) as tar:
        for member in tar:
            if member.isreg() and member.name.lstrip("./") == "%s/%s.mtx" % (name, name):
                seen = True
                yield from tar.extractfile(member)
        while packed.read(BLOCK):
            pass
    if not seen:
        raise Failure("the archive holds no %s/%s.mtx" % (name, name))


def store(lines, target):
    """Writes lines, packed, to a file that gets its name when it is complete."""
    unfinished = "%s.%d.part" % (target, os.getpid())
    try:
        with open(unfinished, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, 0) as packed:
            for line in lines:
                packed.write(line)
        os.replace(unfinished, target)
    finally:
        if os.path.exists(unfinished):
            os.unlink(unfinished)


def unpack(part, entry, target):
    """Checks and stores what is complete, and forgets the archive. Returns what was checked."""
    try:
        part.file.flush()
        checked = check(matrix_lines(part.file, entry.name), entry)
        store(matrix_lines(part.file, entry.name), target)
    except (EOFError, zlib.error, tarfile.TarError, gzip.BadGzipFile) as error:
        part.clear()
        raise Interruption("damaged archive: %s" % error) from None
    except Failure:
        part.clear()
        raise
    part.clear()
    return checked


def is_present(target, entry):
    """Whether the file is there and passes; what was checked, or None."""
    try:
        with gzip.open(target, "rb") as file:
            return check(file, entry)
    except (OSError, EOFError, zlib.error, Failure):
        return None


def fetch(entry, options):
    target = os.path.join(options.dir, entry.name + ".mtx.gz")
    checked = is_present(target, entry)
    if checked:
        return "is already there; checked: " + checked
    path = urllib.parse.quote("%s/%s.tar.gz" % (entry.group, entry.name))
    url = "%s/%s" % (options.base_url.rstrip("/"), path)
    progress = Progress(entry.name, options.progress)
    part = Part(os.path.join(options.dir, entry.name + ".tar.gz.part"))
    try:
        for attempt in range(options.retries + 1):
            try:
                receive(url, part, options.timeout, progress)
                return "fetched; checked: " + unpack(part, entry, target)
            except Interruption as interruption:
                progress.close()
                if attempt == options.retries:
                    kept = part.size() if part.version else 0
                    later = "; %s are kept for the next run" % size_text(kept) if kept else ""
                    times = "%d attempt%s" % (attempt + 1, "s" if attempt else "")
                    raise Failure("%s (after %s)%s" % (interruption, times, later)) from None
                print("%s: %s; trying again" % (entry.name, interruption), file=sys.stderr, flush=True)
                time.sleep(min(options.wait * 2**attempt, 60.0))
    finally:
        progress.close()
        part.close()
