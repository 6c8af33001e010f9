"""Programs on cores of their own."""

import os
import subprocess
import sys

import pytest

from tl_backends.backends.xeon import run_cpu

SHOW = """
import os, sys
line = f"{sorted(os.sched_getaffinity(0))} {os.environ['OMP_NUM_THREADS']} {sys.argv[1:]}"
os.write(1, line.encode() + b"\\n")  # at once, as another instance writes as well
"""
CORES = sorted(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("n", "count", "share", "expected"),
    [
        (4, 0, 0, [[0, 1, 2, 3]]),
        (4, 2, 0, [[0, 1], [2, 3]]),
        (5, 2, 0, [[0, 1], [2, 3]]),
        (5, 0, 2, [[0, 1], [2, 3]]),
        (4, 2, 1, [[0], [1]]),
        (1, 1, 1, [[0]]),
    ],
)
def test_cores_are_shared_out(n, count, share, expected):
    assert run_cpu.instances(range(n), count, share) == expected


@pytest.mark.parametrize(("n", "count", "share"), [(2, 3, 0), (2, 0, 3), (4, 2, 3), (4, -1, 0), (4, 0, -1)])
def test_too_few_cores_and_negative_numbers_are_refused(n, count, share):
    with pytest.raises(ValueError, match="run_cpu: "):
        run_cpu.instances(range(n), count, share)


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "tl_backends.backends.xeon.run_cpu", *arguments], capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "show.py"
    path.write_text(SHOW)
    return str(path)


def test_an_instance_has_its_cores_and_arguments(program):
    code, out, _ = run("--core-list", str(CORES[0]), program, "--rank", "7", "x")
    assert code == 0 and out == f"[{CORES[0]}] 1 ['--rank', '7', 'x']\n"
    assert sorted(os.sched_getaffinity(0)) == CORES


@pytest.mark.skipif(len(CORES) < 2, reason="there is one core")
def test_instances_have_different_cores(program):
    _, out, _ = run("--ncores-per-instance", "1", "--ninstances", "2", program)
    assert sorted(out.splitlines()) == sorted(f"[{c}] 1 []" for c in CORES[:2])
    _, out, _ = run("--ninstances", "2", "--ncores-per-instance", "1", "--rank", "1", program)
    assert out == f"[{CORES[1]}] 1 []\n"


def test_the_status_of_a_failure_is_the_commands(tmp_path):
    path = tmp_path / "fail.py"
    path.write_text("raise SystemExit(3)")
    assert run(str(path))[0] == 3
    assert run("--no-python", "true")[0] == 0
    assert run("-m", "this")[1].startswith("The Zen of Python")


@pytest.mark.parametrize(
    "arguments", [["--core-list", "x", "p"], ["--core-list", "99999", "p"], ["--rank", "9", "p"]]
)
def test_wrong_options_are_refused(arguments):
    code, _, err = run(*arguments)
    assert code == 1 and "ValueError: run_cpu: " in err
