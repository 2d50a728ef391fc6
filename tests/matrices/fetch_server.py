"""A server on the loopback interface that answers by a script, and the files it gives: for test_fetch.py.

The matrix served is Trefethen_20, made here from its definition: primes on the diagonal, ones where |i - j| is a power of two.
"""

import http.server
import io
import random
import tarfile
import threading

HEAD = b"%%MatrixMarket matrix coordinate "


def trefethen(n, corner=2):
    primes = [k for k in range(2, 10 * n) if all(k % d for d in range(2, int(k**0.5) + 1))][:n]
    primes[0] = corner
    lines = []
    for j in range(1, n + 1):
        lines.append("%d %d %d\n" % (j, j, primes[j - 1]))
        step = 1
        while j + step <= n:
            lines.append("%d %d 1\n" % (j + step, j))
            step *= 2
    return (
        HEAD + b"integer symmetric\n%% comment\n%d %d %d\n" % (n, n, len(lines)) + "".join(lines).encode()
    )


def noise(count):
    return random.Random(1).getrandbits(8 * count + 1).to_bytes(count + 1, "little")[:count]


def archive(name, text, padding=0):
    """NAME.tar.gz with NAME/NAME.mtx, and before it a file that does not compress."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for path, body in (
            ("%s/noise.bin" % name, noise(padding)),
            ("%s/%s.mtx" % (name, name), text),
        ):
            info = tarfile.TarInfo(path)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return raw.getvalue()


GOOD = archive("Trefethen_20", trefethen(20), 200000)


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers each request by the next step of the server's script; the last step repeats."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        step = server.script[min(len(server.requests), len(server.script) - 1)]
        server.requests.append((self.path, self.headers.get("Range")))
        self.close_connection = True
        try:
            step(self)
        except OSError:
            pass  # the client went away

    def log_message(self, *_):
        pass


def send(handler, body, status=200, headers=(), cut=None):
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    for name, value in headers:
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body if cut is None else body[:cut])
    handler.wfile.flush()


def give(body, status=200):
    return lambda handler: send(handler, body, status)


def give_resumable(body, cut=None, tag='"v1"'):
    """Honours Range if If-Range names this version; sends only cut bytes where cut is given."""

    def step(handler):
        start = 0
        if handler.headers.get("Range") and handler.headers.get("If-Range") == tag:
            start = int(handler.headers["Range"][len("bytes=") :].rstrip("-"))
        headers = [("ETag", tag)]
        if start:
            headers.append(("Content-Range", "bytes %d-%d/%d" % (start, len(body) - 1, len(body))))
        send(handler, body[start:], 206 if start else 200, headers, cut)

    return step


def stall(handler, headers=()):
    """Sends half and then nothing until the test is over."""
    send(handler, GOOD, headers=headers, cut=len(GOOD) // 2)
    handler.server.stalled.set()
    handler.server.over.wait(60)


def stall_resumable(handler):
    stall(handler, [("ETag", '"v1"')])


def start(over):
    """A server whose script answers 404; `over` ends its stalls."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.requests, server.script = [], [give(b"", 404)]
    server.stalled, server.over = threading.Event(), over
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return server
