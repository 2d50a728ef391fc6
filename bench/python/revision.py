"""The revision that a record is of."""

import os
import pathlib
import subprocess


def revision():
    """What a bundle says, which has no git; else what git says of the tree that this file is in."""
    if "GPUSOLVE_REVISION" in os.environ:
        return os.environ["GPUSOLVE_REVISION"]
    command = ["git", "-C", str(pathlib.Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "no revision"
