#!/usr/bin/env python3
"""Whether the pages are whole: pages.py SOURCE

README.md has at most 150 lines. Each of its fenced blocks, and of docs/, has a test that runs it. Links of all pages are right. docs/reference.md names every public function. Each page of docs/ is
in the site's navigation. The tables of times are those of the records in bench/results.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

source = Path(sys.argv[1])
faults = []


def text(path):
    return (source / path).read_text(encoding="utf-8")


lines = text("README.md").count("\n")
if not 40 < lines <= 150:
    faults.append(f"README.md has {lines} lines")

links = subprocess.run([sys.executable, "-B", source / "docs" / "check_links"], capture_output=True, text=True)
if links.returncode:
    faults.append(links.stdout + links.stderr)

calls = set()
for header in sorted((source / "include").glob("*.h")):
    calls |= set(re.findall(r"^(?:GPUSOLVE_API|static inline) [^;(]*?(gpusolve_[a-z0-9_]+[a-z0-9])\(", header.read_text(encoding="utf-8"), re.MULTILINE))
of_doubles = {re.sub(r"gpusolve_[sdcz](trsv|trsm|trmm|potrs|potri)$", r"gpusolve_d\1", call) for call in calls}
if len(of_doubles) < 40:
    faults.append(f"only {len(of_doubles)} public functions were found")
reference = text("docs/reference.md")
faults += [f"docs/reference.md does not name {call}()" for call in sorted(of_doubles) if call + "()" not in reference]

# Which test runs a fenced block: by its language, and by its page where the test names pages. A block of text is what a program
# prints: tests/fresh compares it with the commands before it, the consumers' tests compare it with the example.
pages = ["README.md", "examples/README.md", "python/README.md"]
pages += [str(page.relative_to(source)) for pattern in ("docs/**/*.md", "examples/*/README.md") for page in sorted(source.glob(pattern))]
doctests = text("python/tests/test_doctests.py")
tested = {
    "bash": lambda page: page in ("README.md", "examples/README.md") or page.startswith("docs/"),
    "python": lambda page: page == "python/README.md" or f'"{page}"' in doctests,
    "c": lambda page: page == "README.md",
    "cmake": lambda page: page == "docs/install.md",
    "text": lambda page: page.startswith("docs/") or re.fullmatch("examples/[^/]*/README.md", page),
}
blocks = 0
for page in pages:
    languages = re.findall(r"^```(.*)$", text(page), re.MULTILINE)
    for before, language in zip([""] + languages[::2], languages[::2]):
        blocks += 1
        if language not in tested or not tested[language](page):
            faults.append(f"{page}: no test runs a block of \"{language}\"")
        if language == "text" and page.startswith("docs/") and before != "bash":
            faults.append(f"{page}: a block of text follows no block of commands")
    # one of each, for the tests look for the first
    faults += [f"{page}: two blocks of {language}" for language in ("c", "cmake") if languages.count(language) > 1]
    if page != "python/README.md" and languages.count("python") > 1:
        faults.append(f"{page}: two blocks of Python")
if blocks < 30:
    faults.append(f"only {blocks} fenced blocks were found")

layout = text("docs/layout.xml")
for page in sorted((source / "docs").glob("**/*.md")):
    name = "md_" + str(page.relative_to(source).with_suffix("")).replace("/", "_")
    if name != "md_docs_index" and f"@ref {name}\"" not in layout:
        faults.append(f"{page.relative_to(source)} is not in docs/layout.xml")

# Tables of two guides.
for kind, guide in (("multiply", "products"), ("inverse", "inverse")):
    words = [sys.executable, "-B", source / "bench" / "calls" / "table", kind, source / "bench" / "results" / "xeon-calls-2-threads.jsonl"]
    made = subprocess.run(words, capture_output=True, text=True)
    if made.returncode or made.stdout not in text(f"docs/guides/{guide}.md"):
        faults.append(f"docs/guides/{guide}.md has not the table of bench/calls/table {kind}: {made.stdout}{made.stderr}")

# Tables of docs/performance.md, as the scripts make them, and that of README.md.
performance = text("docs/performance.md")
for command in (["all", "--headline", "h100-all"], ["table", "h100-cudss", "--peer-nrhs", "1,8,32,256"],
                ["table", "h200-cudss", "--peer-nrhs", "1,8,32,256"], ["prepare/table", "h100-prepare"]):
    words = [str(source / "bench" / "results" / (word + ".jsonl")) if word.startswith("h") else word for word in command[1:]]
    made = subprocess.run([sys.executable, "-B", source / "bench" / command[0], *words], capture_output=True, text=True)
    rows = [row for row in made.stdout.splitlines() if row.startswith(("| ", "- "))]
    if made.returncode or not rows:
        faults.append(f"bench/{' '.join(command)}: {made.stdout}{made.stderr}")
    faults += [f"docs/performance.md has not the row of bench/{command[0]}: {row}" for row in rows if row not in performance]

times = {}
for line in text("bench/results/h100-cudss.jsonl").splitlines():
    record = json.loads(line)
    times[record["matrix"], record["nrhs"]] = record
rows = re.findall(r"^\| (\S+) \|(( \d+ \|){4}) ([\d.]+) / ([\d.]+) times \|$", text("README.md"), re.MULTILINE)
if len(rows) < 4:
    faults.append("README.md has no table of times")
for matrix, numbers, _, *factors in rows:
    one, many = times[matrix, 1], times[matrix, 32]
    right = [f"{one['stored_bytes'] / 1e6:.0f}", f"{one['wall_us']:.0f}", f"{one['solve_us']:.0f}", f"{many['solve_us']:.0f}"]
    right += [f"{r['peers']['cudss']['solve_us'] / r['solve_us']:.1f}" for r in (one, many)]
    if numbers.split(" |")[:4] != [" " + n for n in right[:4]] or factors != right[4:]:
        faults.append(f"README.md: the record has {right} for {matrix}")

print("\n".join(faults) or f"{len(of_doubles)} functions; {blocks} fenced blocks; {links.stdout.strip()}")
sys.exit(bool(faults))
