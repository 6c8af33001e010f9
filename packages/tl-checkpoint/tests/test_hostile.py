"""No hostile file runs anything, hangs, or takes memory; what it wanted is named."""

from __future__ import annotations

import io
import pickle
import resource
import signal
import sys
from pathlib import Path

import pytest

import tl_checkpoint
from tl_checkpoint import serialization
from tl_checkpoint.safe_globals import known_global
from tl_checkpoint.testing.fuzzing import forbid_calls

sys.path.insert(0, str(Path(__file__).parent))

import hostile

PICKLES = {f"{name} {i}": (data, says) for i, (name, data, says) in enumerate(hostile.pickles())}
ARCHIVES = {name: (data, says) for name, data, says in hostile.archives()}


def test_there_are_many():
    assert len(PICKLES) + len(ARCHIVES) >= 300


@pytest.fixture(scope="module")
def loading():
    """What tells the watch that a file is being loaded: anything that it could run ends the process then."""
    now = [False]
    known_global("numpy", "dtype")  # imports NumPy, where it is installed
    tl_checkpoint.load(io.BytesIO(hostile.write_archive({"data.pkl": pickle.dumps({1}, 2)})))
    forbid_calls(now)
    return now


@pytest.fixture
def guarded(loading):
    """A load that is watched, may take 5 s, and 64 MB more than the process has."""

    def load(data, **options):
        def ring(number, frame):
            raise TimeoutError("a hostile file hangs")

        signal.signal(signal.SIGALRM, ring)
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        file = io.BytesIO(data)
        resource.setrlimit(resource.RLIMIT_AS, (now + len(data) + (64 << 20), hard))
        signal.setitimer(signal.ITIMER_REAL, 5)
        loading[0] = True
        try:
            return tl_checkpoint.load(file, **options)
        finally:
            loading[0] = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))

    return load


@pytest.mark.parametrize("name", PICKLES)
def test_pickles(name, guarded):
    data, says = PICKLES[name]
    with pytest.raises((pickle.UnpicklingError, RuntimeError)) as caught:
        guarded(hostile.zip_of({"a/data.pkl": data}))
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives(name, guarded):
    data, says = ARCHIVES[name]
    if says == "GOOD":
        assert guarded(data).tolist() == [0, 0, 0, 0]
        return
    with pytest.raises((pickle.UnpicklingError, RuntimeError, EOFError)) as caught:
        guarded(data)
    assert says in str(caught.value)


def test_what_a_file_wants_is_listed():
    data = hostile.zip_of(
        {"a/data.pkl": b"\x80\x02" + hostile.call("os.system", hostile.text("false")) + b"."}
    )
    assert serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == ["os.system"]
