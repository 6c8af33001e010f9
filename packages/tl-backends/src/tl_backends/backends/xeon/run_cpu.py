"""Runs a program, or several instances of it, each on cores of its own.

    python -m tl.backends.xeon.run_cpu --ninstances 2 train.py --epochs 3

Each instance is bound to its cores and told by OMP_NUM_THREADS how many they are. Without options there is one, on all
cores that this process may use. The exit status is that of the first instance that failed, or 0.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

__all__ = ["create_args", "instances", "main"]


def create_args(parser: argparse.ArgumentParser | None = None) -> argparse.ArgumentParser:
    """The options of the command line.

    Args:
        parser: what they are added to; None for a new one.

    Returns:
        argparse.ArgumentParser
    """
    parser = parser or argparse.ArgumentParser(prog="run_cpu", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--ninstances", type=int, default=0, help="how many instances are started")
    parser.add_argument(
        "--ncores-per-instance", "--ncores_per_instance", type=int, default=0, help="how many cores each has"
    )
    parser.add_argument(
        "--core-list", "--core_list", "--cores-list", default="", help="the cores, such as 0,1,4-7; else all"
    )
    parser.add_argument("--rank", type=int, default=-1, help="starts the instance of this number only")
    parser.add_argument("-m", "--module", action="store_true", help="PROGRAM is a module")
    parser.add_argument(
        "--no-python", "--no_python", action="store_true", help="PROGRAM is no Python program"
    )
    parser.add_argument("program", help="the program")
    parser.add_argument("program_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def _cores(text: str) -> list[int]:
    """`0,4-6` as numbers, all of which this process may use."""
    allowed = sorted(os.sched_getaffinity(0))
    if not text:
        return allowed
    chosen: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"run_cpu: --core-list takes numbers and ranges such as 0,1,4-7, got {text!r}")
        chosen += range(int(first), int(last if dash else first) + 1)
    if missing := sorted(set(chosen) - set(allowed)):
        raise ValueError(f"run_cpu: this process may not use the cores {missing}; it may use {allowed}")
    return list(dict.fromkeys(chosen))


def instances(cores: Sequence[int], ninstances: int = 0, ncores_per_instance: int = 0) -> list[list[int]]:
    """The cores of each instance.

    Args:
        cores: all that are shared out.
        ninstances: how many instances; 0 for as many as fit, or one where neither number is given.
        ncores_per_instance: how many cores each has; 0 for an equal share.

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


def _command(args: argparse.Namespace) -> list[str]:
    python = [] if args.no_python else [sys.executable, "-u"]
    return [*python, *["-m"] * args.module, args.program, *args.program_args]


def _start(command: list[str], cores: list[int]) -> subprocess.Popen[bytes]:
    """One instance. It inherits the cores of this process, which are set for the moment."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": str(len(cores))})
    finally:
        os.sched_setaffinity(0, before)


def main(args: argparse.Namespace | None = None) -> int:
    """Starts the instances and waits for them.

    Args:
        args: the options; None for those of the command line.

    Returns:
        int, the exit status of the first instance that failed, or 0.

    Raises:
        ValueError: the options fit neither each other nor the machine.
    """
    args = create_args().parse_args() if args is None else args
    shares = instances(_cores(args.core_list), args.ninstances, args.ncores_per_instance)
    if args.rank >= len(shares):
        raise ValueError(
            f"run_cpu: --rank must be below the number of instances, {len(shares)}, got {args.rank}"
        )
    chosen = shares if args.rank < 0 else [shares[args.rank]]
    running = [_start(_command(args), cores) for cores in chosen]
    return next((status for status in [p.wait() for p in running] if status), 0)


if __name__ == "__main__":
    sys.exit(main())
