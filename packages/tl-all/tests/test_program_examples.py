"""The examples of compiled programs and of archives: equal bits, and models that others read."""

from importlib.util import find_spec

import pytest

import tl

pytestmark = pytest.mark.skipif(find_spec("tqdm") is None, reason="the extra `examples` is not installed")


def test_compiled_runs_have_equal_bits(python):
    options = ("--quickstart", "--quiet", "--steps", "2", "--tokens", "4", "--width", "16")
    line = python("-m", "tl.examples.compiled", *options, timeout=300)
    assert line.startswith("quickstart ok: training: seconds") and "equal=True" in line


@pytest.mark.skipif(find_spec("sklearn") is None, reason="the extra `examples` is not installed")
def test_an_archive_is_retrained_and_written_back(python, tmp_path):
    path = tmp_path / "loops.pt"
    line = python("-m", "tl.examples.archives", "--quickstart", "--quiet", "--out", str(path), timeout=300)
    assert line.startswith("quickstart ok") and "equal=True" in line
    program = tl.jit.load(path)
    assert program(tl.rand(3, 1, 8, 8)).shape == (3, 10)
    assert sum(parameter.requires_grad for parameter in program.parameters()) == 2


def test_a_file_that_is_not_there_is_named(python, tmp_path):
    words = ("-m", "tl.examples.archives", "--quiet", "--archive", str(tmp_path / "nowhere.pt"))
    assert "nowhere.pt" in python(*words, code=1, timeout=300)
