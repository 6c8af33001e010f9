"""What goes wrong with workers, and what is left of it; `TL_DATA_TROUBLE=full` makes the long run of it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

FULL = os.environ.get("TL_DATA_TROUBLE") == "full"
SERVERS = ("multiprocessing.forkserver", "multiprocessing.resource_tracker")


def times(full, short):
    """How often something is done."""
    return full if FULL else short


def processes():
    """Process id to (parent, session, command line) of everything that runs; not of what only waits to be counted."""
    result = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[0] != "Z":
            result[int(folder.name)] = (int(fields[1]), int(fields[3]), command)
    return result


def descendants():
    """The processes below this one."""
    running = processes()
    below, result = {os.getpid()}, set()
    while more := {pid for pid, (parent, *_) in running.items() if parent in below} - below:
        below |= more
        result |= more
    return result


def workers():
    """The worker processes below this one: all its descendants but the servers that start and count processes."""
    running = processes()
    result = descendants()
    servers = {
        p
        for p in result & running.keys()
        if any(s in running[p][2] for s in SERVERS) and running[p][0] == os.getpid()
    }
    return result - servers


def shared_memory():
    """Files of this process tree in /dev/shm, and this process's descriptors and maps of anonymous memory."""
    descriptors = [os.readlink(f) for f in Path("/proc/self/fd").iterdir() if f.is_symlink()]
    nameless = sum("memfd:tl_data" in target for target in descriptors)
    maps = Path("/proc/self/maps").read_text().count("memfd:tl_data")
    return named_shared_memory(), nameless, maps


def named_shared_memory():
    """The files in /dev/shm that this process or one of its descendants holds open or mapped, deleted ones aside.

    Other programs use the folder at the same time, so that a list of all its files would change without us.
    """
    result = set()
    for pid in (os.getpid(), *descendants()):
        with contextlib.suppress(OSError):  # it has ended
            result |= {
                line.split(None, 5)[5]
                for line in Path(f"/proc/{pid}/maps").read_text().splitlines()
                if "/dev/shm/" in line
            }
        with contextlib.suppress(OSError):
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):  # it has been closed
                    result.add(os.readlink(entry))
    return sorted(name for name in result if name.startswith("/dev/shm/") and not name.endswith(" (deleted)"))


def open_files():
    """How many descriptors this process has."""
    return len(os.listdir("/proc/self/fd"))


def until(condition, seconds=5.0):
    """Whether a condition comes true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def interrupt(delay, *arguments):
    """Interrupts a program that loads without end: seconds to its end, its errors, the session that it had."""
    program = Path(__file__).parent / "endless_program.py"
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    running = subprocess.Popen(
        [sys.executable, program, *arguments],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    running.stdout.readline()
    time.sleep(delay)
    began = time.monotonic()
    os.killpg(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=20)
    return time.monotonic() - began, errors, running.pid
