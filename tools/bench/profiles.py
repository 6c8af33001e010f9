"""Profiles, and Timer's own cost: what recording adds to an operator, a trace of a million events, sums over them."""

from __future__ import annotations

from tools.bench.cases import Case, Group

RECORDING = Group("profiler, what recording adds to an operator")
MILLION = Group("profiler, a million events")
TIMER = Group('Timer("pass")')

_PROFILE = """\
x = torch.ones(2)
with torch.profiler.profile() as p:  # what is loaded at the first is loaded
    x.add(x)

def begin(**options):
    global p
    p = torch.autograd.profiler.profile(use_kineto=True, **options)
    p.__enter__()

def end():
    p.__exit__(None, None, None)

def run(count):
    for _ in range(count):
        x.add(x)
"""
_FILES = """\
import atexit, os, shutil, tempfile
folder = tempfile.mkdtemp()
atexit.register(shutil.rmtree, folder)
"""
_TIMER = """\
import importlib
Timer = importlib.import_module(torch.__name__ + ".utils.benchmark").Timer
"""
_RECORD = "begin()\nrun(1_000_000)\nend()"


def recording(name: str, options: str, bound: float) -> Case:
    """What recording adds to 20,000 operators."""
    run = "run(20_000)"
    return Case(RECORDING, name, _PROFILE, run, bound, f"begin({options})", after="end()", less=run, rounds=3)


def over_million(name: str, run: str, bound: float | None) -> Case:
    """A step that follows a profile of a million operators, recorded anew for each sample."""
    return Case(MILLION, name, _PROFILE + _FILES, run, bound, _RECORD, rounds=1)


CASES = [
    recording("with shapes", "record_shapes=True", 0.2),
    recording("with stacks", "record_shapes=True, with_stack=True", 0.3),
    over_million("export", 'p.export_chrome_trace(os.path.join(folder, "trace.json"))', 0.3),
    over_million("sums", "p.key_averages()", None),
    Case(TIMER, "timeit", _TIMER + "timer = Timer('pass')", "timer.timeit(1000)", 1.0),
    Case(TIMER, "construction", _TIMER, "Timer('pass')", 1.0),
]
