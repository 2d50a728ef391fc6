#!/usr/bin/env python3
"""Run the commands that README.md and docs/ print: commands.py SOURCE BUILD

Each block that begins with ```bash runs under "bash -e" in a folder that has links to everything in the source tree, and to the build
folder under the name build. A block with a command that installs, builds a tree or reaches a network is left to tests/fresh.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ELSEWHERE = r"apt-get|pip install|cmake |ldconfig|\bcc |bash bench/demo|bash tests/run|bash docs/build|docker|cpack|make -C|build-venv|build-library"


def main():
    source, build = Path(sys.argv[1]), Path(sys.argv[2])
    pages = [source / "README.md", *sorted(source.glob("docs/**/*.md"))]
    ran = left = 0
    with tempfile.TemporaryDirectory() as folder:
        for entry in source.iterdir():
            if not entry.name.startswith((".", "build")):
                (Path(folder) / entry.name).symlink_to(entry)
        (Path(folder) / "build").symlink_to(build)
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", GPUSOLVE_MATRICES=str(source / "matrices"))
        for page in pages:
            for block in re.findall(r"^```bash\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
                if re.search(ELSEWHERE, block):
                    left += 1
                    continue
                done = subprocess.run(["bash", "-eo", "pipefail", "-c", block], cwd=folder, env=environment, capture_output=True, text=True)
                if done.returncode:
                    sys.exit(f"{page.relative_to(source)}:\n{block}{done.stdout}{done.stderr}")
                ran += 1
    if ran < 5:
        sys.exit(f"commands.py ran only {ran} blocks")
    print(f"{ran} blocks of commands ran, {left} are left to tests/fresh")


main()
