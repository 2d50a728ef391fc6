"""Two copies of CHOLMOD in one process: the system's, and one under another name, as auditwheel makes it. Each plug-in's calls go to its own.

    run_copies.py FOLDER HOST PLUGIN LIBCHOLMOD PRELOAD
"""
import os
import re
import subprocess
import sys

OTHER = b"libchilmod.so"


def main():
    folder, host, plugin, cholmod, preload = map(os.path.abspath, sys.argv[1:])
    os.makedirs(folder, exist_ok=True)
    cholmod = os.path.realpath(cholmod)
    # The second copy has another name outside and inside, and the second plug-in needs it by that name.
    with open(cholmod, "rb") as file:
        library = file.read()
    name = re.search(rb"libcholmod\.so\.\d+\0", library).group().rstrip(b"\0")
    other = name.replace(b"libcholmod.so", OTHER)
    with open(plugin, "rb") as file:
        needing = file.read()
    second = os.path.join(folder, "plugin-two.so")
    for path, data in ((os.path.join(folder, other.decode()), library), (second, needing)):
        with open(path, "wb") as file:
            file.write(data.replace(name + b"\0", other + b"\0"))

    log = os.path.join(folder, "log")
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GPUSOLVE_")}
    clean.update(LD_PRELOAD=preload, LD_LIBRARY_PATH=folder, GPUSOLVE_LOG=log, GPUSOLVE_PRELOAD_MIN_BYTES="0")
    named = {"GPUSOLVE_CHOLMOD": cholmod}
    for settings, copies in (({}, 2), (named, 1)):
        for plugins in ([plugin, second], [second, plugin]):
            if os.path.exists(log):
                os.remove(log)
            done = subprocess.run([host, *plugins], env={**clean, **settings}, capture_output=True, text=True, timeout=100)
            if done.returncode or done.stdout != "0 wrong\n" or done.stderr:
                sys.exit(f"the plug-ins said: {done.stdout}{done.stderr}")
            with open(log, encoding="utf-8") as file:
                lines = file.read()
            found = set(re.findall(r"CHOLMOD found: (\S+)", lines))
            total = re.search(r"(\d+) of (\d+) large supernodal dense served", lines)
            print(found, total.group())
            if len(found) != copies:
                sys.exit(f"found {found}, not {copies} copies")
            if not int(total[1]) >= 0.9 * int(total[2]) > 70:
                sys.exit("not enough solves were served")


main()
