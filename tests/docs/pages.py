#!/usr/bin/env python3
"""Whether the pages are whole: pages.py SOURCE

README.md has at most 150 lines. Links of all pages are right. docs/reference.md names every public function. Each page of docs/ is
in the site's navigation.
"""

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

print("\n".join(faults) or f"{len(of_doubles)} functions; {links.stdout.strip()}")
sys.exit(bool(faults))
