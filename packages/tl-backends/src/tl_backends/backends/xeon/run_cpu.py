"""Runs a program, or several instances of it, each on cores of its own.

    python -m tl.backends.xeon.run_cpu --ninstances 2 train.py --epochs 3

Each instance is bound to its cores, and with `numactl` to the memory of their node. OMP_NUM_THREADS is its number of
cores. Without options there is one instance on all physical cores of this process. The exit status is that of the first
instance that failed, or 0.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tl_backends.backends.xeon.topology import CPUInfo, allowed_cores
from tl_backends.backends.xeon.topology import CPUInfo as _CPUinfo  # noqa: F401 - the name of the API

__all__ = ["CPUInfo", "create_args", "instances", "main"]

_LATENCY_CORES = 4
_LIBRARY_FOLDERS = (
    "lib",
    "lib64",
    "lib/x86_64-linux-gnu",
    "lib/aarch64-linux-gnu",
    "local/lib",
    "local/lib64",
)


def _flag(parser: argparse._ActionsContainer, name: str, text: str) -> None:
    parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}", action="store_true", help=text)


def _number(parser: argparse._ActionsContainer, name: str, text: str) -> None:
    names = dict.fromkeys([f"--{name}", f"--{name.replace('-', '_')}"])
    parser.add_argument(*names, metavar="N", type=int, default=-1, help=text)


def _text(parser: argparse._ActionsContainer, names: Sequence[str], text: str) -> None:
    parser.add_argument(*(f"--{name}" for name in names), metavar="", default="", help=text)


def create_args(parser: argparse.ArgumentParser | None = None) -> argparse.ArgumentParser:
    """The options of the command line.

    Args:
        parser: the parser to extend; None for a new one.

    Returns:
        argparse.ArgumentParser

    Example:
        >>> create_args().parse_args(["--ninstances", "2", "train.py", "-x"]).program_args
        ['-x']
    """
    parser = parser or argparse.ArgumentParser(
        prog="python -m tl_backends.backends.xeon.run_cpu", description=(__doc__ or "").split("\n\n")[0]
    )
    _flag(parser, "multi-instance", "several instances: one a node unless other options say more")
    parser.add_argument("-m", "--module", action="store_true", help="PROGRAM is a module")
    _flag(parser, "no-python", "PROGRAM is no Python program")
    memory = parser.add_argument_group("memory allocator")
    _flag(memory, "enable-tcmalloc", "loads tcmalloc first")
    _flag(memory, "enable-jemalloc", "loads jemalloc first")
    _flag(memory, "use-default-allocator", "loads neither, which is so anyhow")
    iomp = parser.add_argument_group("OpenMP")
    _flag(iomp, "disable-iomp", "without effect: threads are the library's own, and no OpenMP is loaded")
    several = parser.add_argument_group("instances")
    _number(several, "ncores-per-instance", "how many cores each has")
    _number(several, "ninstances", "how many there are")
    _flag(several, "skip-cross-node-cores", "no instance has cores of two nodes")
    _number(several, "rank", "starts the instance of this number only")
    _flag(several, "latency-mode", f"instances of {_LATENCY_CORES} cores, on all physical cores")
    _flag(several, "throughput-mode", "one instance a node, on all its physical cores")
    _number(several, "node-id", "only the cores of this node")
    _flag(several, "use-logical-core", "all processors of a core, not only the first one")
    _flag(several, "disable-numactl", "memory isn't bound to nodes")
    _flag(several, "disable-taskset", "with --disable-numactl: instances aren't bound to cores")
    _text(several, ("core-list", "core_list", "cores-list"), "the cores, such as 0,1,4-7; else all")
    _text(several, ("log-path", "log_path"), "a folder in which each instance has a file of what it prints")
    _text(several, ("log-file-prefix", "log_file_prefix"), "how these files' names begin (run)")
    parser.add_argument("program", help="the program")
    parser.add_argument("program_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def _chosen_cores(args: argparse.Namespace, cpu: CPUInfo) -> list[int]:
    """The cores for all instances: listed ones, those of a node, or all."""
    allowed = allowed_cores()
    if args.core_list:
        return _listed_cores(args.core_list, allowed)
    if args.node_id >= 0:
        if args.node_id not in cpu.nodes:
            raise ValueError(f"run_cpu: --node-id must be one of {cpu.nodes}, got {args.node_id}")
        logical, physical = (
            cpu.get_node_logical_cores(args.node_id),
            cpu.get_node_physical_cores(args.node_id),
        )
    else:
        logical, physical = cpu.get_all_logical_cores(), cpu.get_all_physical_cores()
    cores = [core for core in (logical if args.use_logical_core else physical) if core in allowed]
    return cores or [core for core in logical if core in allowed] or sorted(allowed)


def _listed_cores(text: str, allowed: set[int]) -> list[int]:
    """The numbers of a text such as `0,4-6`; raises ValueError for a core that this process may not use."""
    cores: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"run_cpu: --core-list takes numbers and ranges such as 0,1,4-7, got {text!r}")
        cores += range(int(first), int(last if dash else first) + 1)
    if missing := sorted(set(cores) - allowed):
        raise ValueError(
            f"run_cpu: this process may not use the cores {missing}; it may use {sorted(allowed)}"
        )
    return list(dict.fromkeys(cores))


def instances(cores: Sequence[int], ninstances: int = 0, ncores_per_instance: int = 0) -> list[list[int]]:
    """The cores of each instance.

    Args:
        cores: numbers of the cores for all instances.
        ninstances: number of instances; 0 for as many as fit, or one if both numbers are 0.
        ncores_per_instance: number of cores of an instance; 0 for an equal share.

    Raises:
        ValueError: a number is negative, or there are too few cores.

    Example:
        >>> instances([0, 1, 2, 3, 4], ninstances=2)
        [[0, 1], [2, 3]]
    """
    if ninstances < 0 or ncores_per_instance < 0:
        raise ValueError(f"run_cpu: numbers must not be negative, got {ninstances} and {ncores_per_instance}")
    count = ninstances or (len(cores) // ncores_per_instance if ncores_per_instance else 1)
    share = ncores_per_instance or len(cores) // max(count, 1)
    if count < 1 or share < 1 or count * share > len(cores):
        raise ValueError(
            f"run_cpu: {max(count, 1)} instances of {max(share, 1)} cores need {max(count, 1) * max(share, 1)}, "
            f"but there are {len(cores)}"
        )
    return [list(cores[i * share : (i + 1) * share]) for i in range(count)]


def _by_node(cores: Sequence[int], cpu: CPUInfo) -> list[list[int]]:
    shares = [[core for core in cores if core in cpu.get_node_logical_cores(node)] for node in cpu.nodes]
    return [share for share in shares if share]


def _shares(args: argparse.Namespace, cores: list[int], cpu: CPUInfo) -> list[list[int]]:
    """The cores of each instance, by the options."""
    if args.latency_mode and args.throughput_mode:
        raise ValueError("run_cpu: --latency-mode and --throughput-mode exclude each other")
    if args.throughput_mode:
        return _by_node(cores, cpu)
    count, share = max(args.ninstances, 0), max(args.ncores_per_instance, 0)
    if args.latency_mode:
        count, share = 0, _LATENCY_CORES
    if args.skip_cross_node_cores and share:
        shares = [
            one for node in _by_node(cores, cpu) if len(node) >= share for one in instances(node, 0, share)
        ]
        if len(shares) < max(count, 1):
            raise ValueError(
                f"run_cpu: {max(count, 1)} instances of {share} cores within a node: {len(shares)} fit"
            )
        return shares[:count] if count else shares
    if args.multi_instance and not count and not share:
        return _by_node(cores, cpu)
    if _unbound(args) and count > len(cores):
        return [cores] * count
    return instances(cores, count, share)


def _unbound(args: argparse.Namespace) -> bool:
    return bool(args.disable_taskset and args.disable_numactl)


def _library(name: str) -> str:
    """The path of a shared library to preload."""
    roots = [os.environ.get("CONDA_PREFIX", ""), sys.prefix, "/usr", "/"]
    for folder in (Path(root, below) for root in roots if root for below in _LIBRARY_FOLDERS):
        if matches := sorted(folder.glob(f"lib{name}.so*")):
            return str(matches[0])
    raise FileNotFoundError(
        f"run_cpu: lib{name}.so isn't installed, in none of the usual folders; --enable-{name} needs it"
    )


def _environment(args: argparse.Namespace, cores: list[int]) -> dict[str, str]:
    allocators = [name for name in ("tcmalloc", "jemalloc") if getattr(args, f"enable_{name}")]
    if len(allocators) > 1 or (allocators and args.use_default_allocator):
        raise ValueError(
            "run_cpu: --enable-tcmalloc, --enable-jemalloc and --use-default-allocator exclude each other"
        )
    environment = {**os.environ, "OMP_NUM_THREADS": str(len(cores))}
    if allocators:
        environment["LD_PRELOAD"] = ":".join(
            filter(None, [_library(allocators[0]), os.environ.get("LD_PRELOAD", "")])
        )
    return environment


def _command(args: argparse.Namespace, cores: list[int], cpu: CPUInfo) -> list[str]:
    nodes = cpu.numa_aware_check(cores)
    several = len(cpu.nodes) > 1 and len(nodes) == 1 and not args.disable_numactl
    numactl = shutil.which("numactl") if several else None
    binding = [numactl, "-m", str(nodes[0])] if numactl else []
    python = [] if args.no_python else [sys.executable, "-u"]
    return [*binding, *python, *["-m"] * args.module, args.program, *args.program_args]


def _start(command: list[str], cores: list[int], environment: dict[str, str], bound: bool,
           output: int | None) -> subprocess.Popen[bytes]:  # fmt: skip
    """Starts an instance. It inherits the affinity of this process, which is set temporarily."""
    before = os.sched_getaffinity(0)
    if bound:
        os.sched_setaffinity(0, cores)
    try:
        errors = subprocess.STDOUT if output is not None else None
        return subprocess.Popen(command, env=environment, stdout=output, stderr=errors)
    finally:
        os.sched_setaffinity(0, before)


def _copy(source: IO[bytes], file: IO[bytes]) -> None:
    with file, source:
        for line in source:
            file.write(line)
            file.flush()
            sys.stdout.buffer.write(line)
            sys.stdout.flush()


def _log_file(args: argparse.Namespace, number: int, cores: list[int]) -> IO[bytes]:
    folder = Path(args.log_path)
    folder.mkdir(parents=True, exist_ok=True)
    start = f"{args.log_file_prefix or 'run'}_{time.strftime('%Y%m%d%H%M%S')}"
    return (folder / f"{start}_instance_{number}_cores_{cores[0]}-{cores[-1]}.log").open("wb")


def main(args: argparse.Namespace | None = None) -> int:
    """Starts the instances and waits for them.

    Args:
        args: parsed options; None parses the command line.

    Returns:
        int, the exit status of the first instance that failed, or 0.

    Raises:
        ValueError: the options conflict with each other or with the machine.
        FileNotFoundError: the allocator isn't installed.
    """
    args = create_args().parse_args() if args is None else args
    cpu = CPUInfo()
    shares = _shares(args, _chosen_cores(args, cpu), cpu)
    if args.rank >= len(shares):
        raise ValueError(
            f"run_cpu: --rank must be below the number of instances, {len(shares)}, got {args.rank}"
        )
    running, copies = [], []
    for number, cores in enumerate(shares):
        if args.rank not in (-1, number):
            continue
        command, environment = _command(args, cores, cpu), _environment(args, cores)
        output = subprocess.PIPE if args.log_path else None
        process = _start(command, cores, environment, not _unbound(args), output)
        running.append(process)
        if process.stdout is not None:
            copies.append(
                threading.Thread(target=_copy, args=(process.stdout, _log_file(args, number, cores)))
            )
            copies[-1].start()
    statuses = [process.wait() for process in running]
    for copy in copies:
        copy.join()
    return next((status for status in statuses if status), 0)


if __name__ == "__main__":
    sys.exit(main())
