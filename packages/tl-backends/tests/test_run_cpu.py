"""Programs on cores of their own."""

import os
import subprocess
import sys

import pytest

from tl_backends.backends.xeon import run_cpu
from tl_backends.backends.xeon.topology import CPUInfo

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
    process = subprocess.run(
        [sys.executable, "-m", "tl_backends.backends.xeon.run_cpu", *arguments], capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    return process.returncode, process.stdout, process.stderr


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
    _, out, _ = run("--use-logical-core", "--ncores-per-instance", "1", "--ninstances", "2", program)
    assert sorted(out.splitlines()) == sorted(f"[{c}] 1 []" for c in CORES[:2])
    _, out, _ = run(
        "--use-logical-core", "--ninstances", "2", "--ncores-per-instance", "1", "--rank", "1", program
    )
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


# Two nodes of four cores, each core with two processors.
MACHINE = "# CPU,Core,Socket,Node\n" + "\n".join(f"{i},{i % 8},{i % 8 // 4},{i % 8 // 4}" for i in range(16))


def test_processors_cores_and_nodes():
    cpu = CPUInfo(MACHINE)
    assert (cpu._physical_core_nums(), cpu._logical_core_nums(), cpu.nodes) == (8, 16, [0, 1])
    assert cpu.get_node_physical_cores(1) == [4, 5, 6, 7]
    assert cpu.get_node_logical_cores(0) == [0, 1, 2, 3, 8, 9, 10, 11]
    assert cpu.get_all_physical_cores() == list(range(8))
    assert cpu.get_all_logical_cores() == [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]
    assert cpu.numa_aware_check([2, 3, 4]) == [0, 1]
    with pytest.raises(ValueError, match="the nodes are"):
        cpu.get_node_logical_cores(2)
    assert set(CPUInfo().get_all_logical_cores()) >= set(CORES)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], [list(range(8))]),
        (["--latency-mode"], [[0, 1, 2, 3], [4, 5, 6, 7]]),
        (["--throughput-mode"], [[0, 1, 2, 3], [4, 5, 6, 7]]),
        (["--multi_instance"], [[0, 1, 2, 3], [4, 5, 6, 7]]),
        (["--ncores_per_instance", "3"], [[0, 1, 2], [3, 4, 5]]),
        (["--ncores-per-instance", "3", "--skip-cross-node-cores"], [[0, 1, 2], [4, 5, 6]]),
        (["--node-id", "1", "--ninstances", "2"], [[4, 5], [6, 7]]),
        (["--node-id", "1", "--use-logical-core"], [[4, 5, 6, 7, 12, 13, 14, 15]]),
        (["--core-list", "1,4-5"], [[1, 4, 5]]),
        (["--ninstances", "9", "--disable-numactl", "--disable-taskset"], [list(range(8))] * 9),
    ],
)
def test_the_options_share_out_cores(monkeypatch, options, expected):
    monkeypatch.setattr(run_cpu, "allowed_cores", lambda: set(range(16)))
    args, cpu = run_cpu.create_args().parse_args([*options, "p"]), CPUInfo(MACHINE)
    assert run_cpu._shares(args, run_cpu._chosen_cores(args, cpu), cpu) == expected


@pytest.mark.parametrize(
    "options",
    [
        ["--latency-mode", "--throughput-mode"],
        ["--ncores-per-instance", "5", "--skip-cross-node-cores"],
        ["--ninstances", "9"],
        ["--node-id", "2"],
        ["--enable-tcmalloc", "--enable-jemalloc"],
        ["--enable-jemalloc", "--use-default-allocator"],
    ],
)
def test_options_that_do_not_fit_are_refused(monkeypatch, options):
    monkeypatch.setattr(run_cpu, "allowed_cores", lambda: set(range(16)))
    args, cpu = run_cpu.create_args().parse_args([*options, "p"]), CPUInfo(MACHINE)
    with pytest.raises(ValueError, match="run_cpu: "):
        for share in run_cpu._shares(args, run_cpu._chosen_cores(args, cpu), cpu):
            run_cpu._environment(args, share)


def test_an_allocator_is_loaded_first(tmp_path, monkeypatch):
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path))
    monkeypatch.setattr(run_cpu.sys, "prefix", str(tmp_path))
    args = run_cpu.create_args().parse_args(["--enable-jemalloc", "p"])
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libjemalloc.so.2").touch()
    monkeypatch.setenv("LD_PRELOAD", "other.so")
    assert run_cpu._environment(args, [0])["LD_PRELOAD"] == f"{tmp_path}/lib/libjemalloc.so.2:other.so"
    with pytest.raises(FileNotFoundError, match="libnonsense"):
        run_cpu._library("nonsense")


def test_memory_is_bound_to_a_node(monkeypatch):
    monkeypatch.setattr(run_cpu.shutil, "which", lambda name: f"/bin/{name}")
    args, cpu = run_cpu.create_args().parse_args(["p", "x"]), CPUInfo(MACHINE)
    assert run_cpu._command(args, [4, 5], cpu)[:3] == ["/bin/numactl", "-m", "1"]
    assert run_cpu._command(args, [3, 4], cpu)[0] == sys.executable
    args.disable_numactl = True
    assert run_cpu._command(args, [4, 5], cpu)[0] == sys.executable


def test_what_instances_print_is_kept(program, tmp_path):
    logs = tmp_path / "logs"
    code, out, _ = run(
        "--core-list", str(CORES[0]), "--log-path", str(logs), "--log-file-prefix", "mine", program, "x"
    )
    (file,) = logs.iterdir()
    assert code == 0
    assert file.read_text() == out == f"[{CORES[0]}] 1 ['x']\n"
    assert file.name.startswith("mine_")
    assert file.name.endswith(f"_instance_0_cores_{CORES[0]}-{CORES[0]}.log")
