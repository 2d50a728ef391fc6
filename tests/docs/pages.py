#!/usr/bin/env python3
"""Whether the pages are whole: pages.py SOURCE

README.md has at most 150 lines. Links of all pages are right. docs/reference.md names every public function. Each page of docs/ is
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

layout = text("docs/layout.xml")
for page in sorted((source / "docs").glob("**/*.md")):
    name = "md_" + str(page.relative_to(source).with_suffix("")).replace("/", "_")
    if name != "md_docs_index" and f"@ref {name}\"" not in layout:
        faults.append(f"{page.relative_to(source)} is not in docs/layout.xml")

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

print("\n".join(faults) or f"{len(of_doubles)} functions; {links.stdout.strip()}")
sys.exit(bool(faults))
