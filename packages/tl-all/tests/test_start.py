"""`import tl` does nothing that a program could be surprised by."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest

# What the import must do without, as each costs as much as the rest of it.
HEAVY = {
    "asyncio",
    "dataclasses",
    "importlib.metadata",
    "inspect",
    "logging",
    "multiprocessing",
    "numpy",
    "subprocess",
    "tl_autograd",
    "tl_backends",
    "tl_nn",
    "unittest",
}

AUDIT = """
import os, signal, sys, threading
signals = {number: signal.getsignal(number) for number in signal.valid_signals()}
events = []
FORBIDDEN = ("os.fork", "os.exec", "os.spawn", "os.posix_spawn", "os.system", "subprocess.Popen", "socket.__new__")
def watch(event, arguments):
    if event == "open" and arguments[2] is not None and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        events.append((event, arguments))
    if event in FORBIDDEN or event == "_thread.start_new_thread":
        events.append((event, arguments))
sys.addaudithook(watch)
import tl
assert not events, events
assert threading.active_count() == 1
assert signals == {number: signal.getsignal(number) for number in signal.valid_signals()}
"""


def test_no_thread_process_file_or_signal_handler_from_python(execute):
    execute(AUDIT)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_thread_process_file_or_signal_handler_at_all(tmp_path):
    bare, full = (system_calls(tmp_path, program) for program in ("import sys", "import tl"))
    added = full - bare
    assert not [
        call for call in added if re.match(r"(clone|clone3|fork|vfork|execve|socket|rt_sigaction)\(", call)
    ]
    assert not [
        call for call in added if re.match(r"open", call) and re.search(r"O_WRONLY|O_RDWR|O_CREAT", call)
    ]
    assert any("tl_core" in call for call in added), "the trace shows no import"


def system_calls(folder, program) -> Counter:
    """The system calls of interest that an interpreter makes, without addresses and process numbers."""
    trace = folder / "trace"
    # Python may keep compiled modules in files, for the next time: that is its own affair.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    expected = "trace=clone,clone3,fork,vfork,execve,open,openat,creat,socket,rt_sigaction"
    command = ["strace", "-f", "-qq", "-e", expected, "-o", str(trace), sys.executable, "-c", program]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if process.returncode:
        pytest.skip(f"strace may not trace here: {process.stderr.strip()[:100]}")
    lines = [
        re.sub(r"^\d+ +", "", line.replace(program, "PROGRAM")) for line in trace.read_text().splitlines()
    ]
    return Counter(re.sub(r"0x[0-9a-f]+", "ADDRESS", line) for line in lines)


def test_few_modules_are_loaded(execute):
    program = """
import sys
before = set(sys.modules)
import tl
new = set(sys.modules) - before
print(len(new), *sorted(new))
"""
    count, *names = execute(program).split()
    assert not HEAVY & set(names), names
    assert int(count) <= 110, names
