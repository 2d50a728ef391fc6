#!/usr/bin/env python3
"""matrices/fetch against a server on the loopback interface: good and bad files, cuts, stalls, signals.

fetch_server.py makes the matrix that is served from its definition, so the manifest's fingerprint is met from outside. Every
failure must leave the folder empty, but for what can be resumed.
"""

import argparse
import fcntl
import glob
import gzip
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from fetch_server import GOOD, HEAD, archive, give, give_resumable, send, stall, stall_resumable, start, trefethen

OPTIONS = None
class FetchTest(unittest.TestCase):
    def setUp(self):
        self.server = start(threading.Event())
        self.folder = tempfile.TemporaryDirectory()
        self.dir = self.folder.name

    def tearDown(self):
        self.server.over.set()
        self.server.shutdown()
        self.server.server_close()
        self.folder.cleanup()

    def command(self, *names, options=()):
        url = "http://127.0.0.1:%d/MM" % self.server.server_address[1]
        fixed = ["--dir", self.dir, "--base-url", url, "--timeout", "1", "--retries", "2", "--wait", "0.05"]
        return [sys.executable, "-B", OPTIONS.fetch, *fixed, *options, *names]

    def fetch(self, *script, names=("Trefethen_20",), options=()):
        self.server.script = script
        return subprocess.run(
            self.command(*names, options=options), capture_output=True, text=True, timeout=60
        )

    def assert_fetched(self, done, what="fingerprint"):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("checked: " + what, done.stdout)
        self.assertEqual(os.listdir(self.dir), ["Trefethen_20.mtx.gz"])
        with gzip.open(os.path.join(self.dir, "Trefethen_20.mtx.gz")) as file:
            self.assertEqual(file.read(), trefethen(20))

    def assert_failed(self, done, message, requests=None):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(os.listdir(self.dir), [])
        if requests is not None:
            self.assertEqual(len(self.server.requests), requests)

    def test_good(self):
        self.assert_fetched(self.fetch(give(GOOD)))
        self.assertEqual(self.server.requests, [("/MM/JGD_Trefethen/Trefethen_20.tar.gz", None)])
        again = self.fetch(give(b"", 404), names=("JGD_Trefethen/Trefethen_20",))
        self.assertIn("already there", again.stdout)
        self.assertEqual(len(self.server.requests), 1)

    def test_present_but_wrong_is_replaced(self):
        with gzip.open(os.path.join(self.dir, "Trefethen_20.mtx.gz"), "wb") as file:
            file.write(trefethen(20, corner=3))
        self.assert_fetched(self.fetch(give(GOOD)))

    def test_wrong_value(self):
        wrong = archive("Trefethen_20", trefethen(20, corner=3))
        self.assert_failed(self.fetch(give(wrong)), "wrong matrix: fingerprint", requests=1)

    def test_wrong_order(self):
        self.assert_failed(
            self.fetch(give(archive("Trefethen_20", trefethen(21)))), "wrong matrix: order 21", requests=1
        )

    def test_wrong_texts(self):
        good = trefethen(20)
        for text, message in (
            (good[: len(good) // 2], "wrong matrix: "),
            (good + b"1 1 1\n", "wrong matrix: more than"),
            (good.replace(b"symmetric", b"general"), "wrong matrix: neither"),
            (good.replace(b"integer", b"pattern"), "wrong matrix: neither"),
            (good.replace(b"20 20 89", b"20 20 88"), "wrong matrix: more than 88"),
            (good.replace(b"20 20 71", b"21 20 71"), "wrong matrix: entry 89 is out of range"),
            (good.replace(b"20 20 71", b"20 20 nan"), "wrong matrix: malformed entry 89"),
            (good.replace(b"20 20 71", b"20 19 1"), "wrong matrix: "),
            (b"<html>not here</html>\n", "not a Matrix Market file"),
            (b"", "not a Matrix Market file"),
        ):
            with self.subTest(message=message):
                self.assert_failed(self.fetch(give(archive("Trefethen_20", text))), message)

    def test_archive_without_the_matrix(self):
        self.assert_failed(
            self.fetch(give(archive("Other", trefethen(20)))),
            "holds no Trefethen_20/Trefethen_20.mtx",
            requests=1,
        )

    def test_archive_with_evil_paths(self):
        evil = archive("../Trefethen_20", trefethen(20))
        self.assert_failed(self.fetch(give(evil)), "holds no")
        self.assertFalse(os.path.exists(os.path.join(os.path.dirname(self.dir), "Trefethen_20")))

    def test_not_found(self):
        self.assert_failed(self.fetch(give(b"gone", 404)), "404", requests=1)

    def test_error_then_success(self):
        self.assert_fetched(self.fetch(give(b"busy", 503), give(GOOD)))
        self.assertEqual(len(self.server.requests), 2)

    def test_error_for_good(self):
        self.assert_failed(self.fetch(give(b"busy", 503)), "503", requests=3)

    def test_short_archive(self):
        self.assert_failed(self.fetch(give(GOOD[: len(GOOD) // 2])), "damaged archive", requests=3)

    def test_corrupted_archive(self):
        for where in (len(GOOD) // 2, len(GOOD) - 6):  # the data, and the checksum alone
            self.server.requests.clear()
            bad = bytearray(GOOD)
            bad[where] ^= 0x55
            self.assert_failed(self.fetch(give(bytes(bad))), "", requests=3)

    def test_corrupted_then_success(self):
        self.assert_fetched(self.fetch(give(GOOD[:-6] + b"\0" * 6), give(GOOD)))

    def test_not_an_archive(self):
        self.assert_failed(self.fetch(give(b"<html>hello</html>")), "damaged archive")

    def test_cut_and_resumed(self):
        half = len(GOOD) // 2
        self.assert_fetched(self.fetch(give_resumable(GOOD, half), give_resumable(GOOD)))
        self.assertEqual([asked for _, asked in self.server.requests], [None, "bytes=%d-" % half])

    def test_cut_then_error_then_resumed(self):
        self.assert_fetched(self.fetch(give_resumable(GOOD, 100), give(b"", 503), give_resumable(GOOD)))
        self.assertEqual([asked for _, asked in self.server.requests], [None, "bytes=100-", "bytes=100-"])

    def test_cut_and_changed_on_the_server(self):
        other = archive("Trefethen_20", trefethen(20), 1000)
        self.assert_fetched(
            self.fetch(give_resumable(GOOD, 5000, '"v1"'), give_resumable(other, None, '"v2"'))
        )

    def test_cut_without_resumption(self):
        self.assert_fetched(self.fetch(lambda handler: send(handler, GOOD, cut=1000), give(GOOD)))
        self.assertEqual([asked for _, asked in self.server.requests], [None, None])

    def test_cut_for_good(self):
        self.assert_failed(
            self.fetch(lambda handler: send(handler, GOOD, cut=1000)), "the connection was cut at 1.0 kB of ", requests=3
        )

    def test_stalled(self):
        began = time.monotonic()
        self.assert_failed(self.fetch(stall, options=("--retries", "0")), " for 1 s (after 1 attempt)", requests=1)
        self.assertLess(time.monotonic() - began, 20)

    def test_stalled_then_success(self):
        self.assert_fetched(self.fetch(stall, give(GOOD)))

    def test_nobody_there(self):
        url = "http://127.0.0.1:1/MM"
        self.assert_failed(self.fetch(give(GOOD), options=("--base-url", url)), "refused", requests=0)

    def interrupt(self, step, number):
        """Runs until half of the archive has come, then sends a signal."""
        self.server.script = [step]
        self.server.requests.clear()
        self.server.stalled.clear()
        command = self.command("Trefethen_20", options=("--timeout", "50"))
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            self.assertTrue(self.server.stalled.wait(30))
            time.sleep(0.5)  # let it write what it received
            process.send_signal(number)
            errors = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, -number if number == signal.SIGKILL else 128 + number)
        self.assertNotIn("Traceback", errors)

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                self.interrupt(stall, number)
                self.assertEqual(os.listdir(self.dir), [])
        self.interrupt(stall, signal.SIGKILL)  # leaves bytes of no known version, which are not used
        self.assertEqual(os.listdir(self.dir), ["Trefethen_20.tar.gz.part"])
        self.server.requests.clear()
        self.assert_fetched(self.fetch(give(GOOD)))
        self.assertEqual([asked for _, asked in self.server.requests], [None])

    def test_signals_then_resumed(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(signal=number):
                self.interrupt(stall_resumable, number)
                self.assertEqual(
                    sorted(os.listdir(self.dir)),
                    ["Trefethen_20.tar.gz.part", "Trefethen_20.tar.gz.part.version"],
                )
                have = os.path.getsize(os.path.join(self.dir, "Trefethen_20.tar.gz.part"))
                self.assertGreater(have, 0)
                self.server.requests.clear()
                self.assert_fetched(self.fetch(give_resumable(GOOD)))
                self.assertEqual([asked for _, asked in self.server.requests], ["bytes=%d-" % have])
                os.unlink(os.path.join(self.dir, "Trefethen_20.mtx.gz"))

    def leave_part(self, count, tag='"v1"'):
        """A run without retries that gets count bytes."""
        done = self.fetch(give_resumable(GOOD, count, tag), options=("--retries", "0"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("the connection was cut at ", done.stderr)
        self.assertIn(" are kept for the next run", done.stderr)
        part = os.path.join(self.dir, "Trefethen_20.tar.gz.part")
        self.assertEqual(os.path.getsize(part), count)
        self.server.requests.clear()
        return part

    def test_resumed_by_the_next_run(self):
        self.leave_part(70000)
        self.assert_fetched(self.fetch(give_resumable(GOOD)))
        self.assertEqual([asked for _, asked in self.server.requests], ["bytes=70000-"])

    def test_changed_before_the_next_run(self):
        self.leave_part(70000)
        other = archive("Trefethen_20", trefethen(20), 1000)
        self.assert_fetched(self.fetch(give_resumable(other, None, '"v2"')))

    def test_kept_part_is_damaged(self):
        with open(self.leave_part(70000), "r+b") as file:
            file.seek(60000)
            file.write(bytes(100))
        self.assert_fetched(self.fetch(give_resumable(GOOD)))
        self.assertEqual([asked for _, asked in self.server.requests], ["bytes=70000-", None])

    def test_kept_part_is_complete(self):
        with open(self.leave_part(70000), "wb") as file:
            file.write(GOOD)

        def nothing_behind(handler):
            send(handler, b"", 416, [("Content-Range", "bytes */%d" % len(GOOD))])

        self.assert_fetched(self.fetch(nothing_behind))
        self.assertEqual([asked for _, asked in self.server.requests], ["bytes=%d-" % len(GOOD)])

    def test_kept_part_is_too_long(self):
        with open(self.leave_part(70000), "wb") as file:
            file.write(GOOD + b"more")

        def nothing_behind(handler):
            send(handler, b"", 416, [("Content-Range", "bytes */%d" % len(GOOD))])

        self.assert_fetched(self.fetch(nothing_behind, give_resumable(GOOD)))
        self.assertEqual([asked for _, asked in self.server.requests], ["bytes=%d-" % (len(GOOD) + 4), None])

    def test_kept_part_belongs_to_a_wrong_matrix(self):
        wrong = archive("Trefethen_20", trefethen(20, corner=3), 200000)
        done = self.fetch(give_resumable(wrong, 70000), options=("--retries", "0"))
        self.assertIn("kept", done.stderr)
        self.server.requests.clear()
        self.assert_failed(self.fetch(give_resumable(wrong)), "wrong matrix: fingerprint", requests=1)

    def test_another_range_than_asked_for(self):
        self.leave_part(70000)

        def from_the_start(handler):
            send(handler, GOOD, 206, [("Content-Range", "bytes 0-%d/%d" % (len(GOOD) - 1, len(GOOD)))])

        done = self.fetch(from_the_start)
        self.assertEqual(done.returncode, 1)
        self.assertIn("another range than asked for", done.stderr)

    def test_two_at_a_time(self):
        with open(os.path.join(self.dir, "Trefethen_20.tar.gz.part"), "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            done = self.fetch(give(GOOD))
            self.assertEqual(done.returncode, 1)
            self.assertIn("another process is writing it", done.stderr)
        self.assertEqual(self.server.requests, [])
        self.assert_fetched(self.fetch(give(GOOD)))

    def test_progress(self):
        size = "%.1f kB" % (len(GOOD) / 1000)
        done = self.fetch(give_resumable(GOOD, 70000), give_resumable(GOOD), options=("--progress",))
        self.assert_fetched(done)
        self.assertRegex(done.stderr, r"Trefethen_20: [0-9.]+ kB of %s \([0-9]+ %%\)\n" % size)
        self.assertIn("Trefethen_20: the connection was cut at 70.0 kB of %s; trying again\n" % size, done.stderr)
        self.assertTrue(done.stderr.endswith("Trefethen_20: %s of %s (100 %%)\n" % (size, size)), done.stderr)
        self.assertNotIn("\r", done.stderr)

    def test_progress_without_a_size(self):
        def unsized(handler):
            handler.send_response(200)
            handler.end_headers()
            handler.wfile.write(GOOD)

        done = self.fetch(unsized, options=("--progress",))
        self.assert_fetched(done)
        self.assertTrue(done.stderr.endswith("Trefethen_20: %.1f kB\n" % (len(GOOD) / 1000)), done.stderr)

    def test_no_progress_without_a_terminal(self):
        self.assertEqual(self.fetch(give(GOOD)).stderr, "")

    def test_progress_on_a_terminal(self):
        ours, theirs = os.openpty()
        self.server.script = [give(GOOD)]
        process = subprocess.run(
            self.command("Trefethen_20"), stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=60
        )
        os.close(theirs)
        shown = os.read(ours, 65536).decode()
        os.close(ours)
        self.assertEqual(process.returncode, 0)
        size = "%.1f kB" % (len(GOOD) / 1000)
        self.assertIn("\r\x1b[KTrefethen_20: %s of %s (100 %%)\r\n" % (size, size), shown)

    def test_several_names(self):
        done = self.fetch(
            give(GOOD), names=("no_such_matrix", "Trefethen_20", "mesh_4elt_b2", "HB/Trefethen_20")
        )
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("failed"), 3)
        self.assertEqual(os.listdir(self.dir), ["Trefethen_20.mtx.gz"])

    def manifest(self, nnz):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "manifest.tsv")
        with open(path, "w", encoding="utf-8") as file:
            file.write("# comment\ngroup\tname\tn\tnnz\tkind\tspd\tfield\tfingerprint\tsource\n")
            file.write("JGD_Trefethen\tTrefethen_20\t20\t%d\tk\tyes\treal symmetric\t-\tindex\n" % nnz)
        return ("--manifest", path)

    def test_without_fingerprint(self):
        self.assert_fetched(
            self.fetch(give(GOOD), options=self.manifest(158)), "order, nonzeros and symmetry"
        )

    def test_without_fingerprint_and_wrong(self):
        self.assert_failed(
            self.fetch(give(GOOD), options=self.manifest(160)), "158 nonzeros instead of 160"
        )

    def test_plain_http_is_refused(self):
        done = self.fetch(give(GOOD), options=("--base-url", "http://example.org/MM"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("HTTPS", done.stderr)

    def test_unwritable_folder(self):
        path = os.path.join(self.dir, "file")
        with open(path, "wb"):
            pass
        done = self.fetch(give(GOOD), options=("--dir", path))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "Trefethen_20: failed: %s: File exists\n" % path)

    def test_bad_manifests(self):
        path = os.path.join(self.dir, "manifest.tsv")
        for text, message in (
            (None, "fetch: the manifest: %s: No such file or directory\n" % path),
            ("", "fetch: the manifest: %s: no line with the names of the columns\n" % path),
            ("# c\ngroup\tname\nHB\tnos4\n", "fetch: the manifest: %s:3: malformed: 'kind'\n" % path),
        ):
            with self.subTest(message=message):
                if text is not None:
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                done = self.fetch(give(GOOD), options=("--manifest", path))
                self.assertEqual((done.returncode, done.stderr), (2, message))

    def test_help_waits_for_nothing(self):
        done = subprocess.run(
            [sys.executable, "-B", "-X", "importtime", OPTIONS.fetch, "--help"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, 0)
        self.assertIn("--progress", done.stdout)
        for module in ("ssl", "urllib.request", "tarfile", "fetch_transfer"):
            self.assertNotRegex(done.stderr, r"\| +%s\n" % module)

    def test_list(self):
        done = subprocess.run(
            [sys.executable, "-B", OPTIONS.fetch, "--list"], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(done.returncode, 0)
        self.assertIn("Schmid/thermal2\tn 1228045\tnnz 8580313", done.stdout)
        self.assertNotIn("mesh_", done.stdout)


class FingerprintTest(unittest.TestCase):
    """The script and the C library agree, on made-up files and on every small matrix within reach."""

    TEXTS = [
        b"real symmetric\n3 3 5\n3 3 6e0\n2 3 25e-2\n1 1 4\n2 2 5.0\n3 1 -1.50\n",
        b"real symmetric\n3 3 6\n1 1 4\n2 1 -0\n3 1 -1.5\n2 2 5\n3 2 .25\n3 3 1.7976931348623157e308\n",
        b"real symmetric\n2 2 3\n1 1 5e-324\n2 1 0.1\n2 2 123456789012345678901234567890e-20\n",
        b"complex hermitian\n2 2 3\n1 1 2 0\n1 2 -0.0 1e-3\n2 2 2 -0\n",
        b"integer symmetric\n2 2 3\n2 2 9007199254740992\n2 1 -7\n1 1 3\n",
    ]

    def test_agreement(self):
        if not OPTIONS.fingerprint:
            self.skipTest("no --fingerprint TOOL given")
        sys.path.insert(0, os.path.dirname(os.path.abspath(OPTIONS.fetch)))
        self.addCleanup(sys.path.pop, 0)
        fetch_check = importlib.import_module("fetch_check")
        root = os.path.join(os.path.dirname(os.path.abspath(OPTIONS.fetch)), os.pardir)
        near = glob.glob(os.path.join(root, "matrices", "*.mtx.gz")) + glob.glob(
            os.path.join(root, os.pardir, "shared", "matrices", "*.mtx.gz")
        )
        near = [path for path in near if os.path.getsize(path) < 300000]
        if not near:
            print("skipped: no matrix of the collection within reach; made-up files only")
        with tempfile.TemporaryDirectory() as folder:
            made = [os.path.join(folder, "made%d.mtx" % k) for k in range(len(self.TEXTS))]
            for path, text in zip(made, self.TEXTS):
                with open(path, "wb") as file:
                    file.write(HEAD + text)
            for path in made + near:
                with self.subTest(path=path):
                    told = subprocess.run(
                        [OPTIONS.fingerprint, path], capture_output=True, text=True, check=True
                    ).stdout.split("\t")
                    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
                        matrix = fetch_check.Matrix(file, True)
                    self.assertEqual([str(matrix.n), str(matrix.nnz)], [told[1], told[3]])
                    self.assertEqual("%016x\n" % matrix.fingerprint, told[5])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--fetch", default=os.path.join(here, os.pardir, os.pardir, "matrices", "fetch"))
    parser.add_argument("--fingerprint", help="the C tool")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)
