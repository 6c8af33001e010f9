"""The shared parts of the examples: the command line, optional packages, curves, the last line."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

INTERRUPTED = 130


class MissingExtra(Exception):
    """A package that only the examples need is missing."""


class Reached(NamedTuple):
    """The result of a training: figures to print, and the goal if it was missed."""

    figures: str
    missed: str = ""


def need(module: str, package: str) -> Any:
    """Imports a module that only the examples need."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        text = f"this needs the package {package}, which is not installed: pip install 'tl-all[examples]'"
        raise MissingExtra(text) from error


def progress(steps: int, unit: str, quiet: bool, first: int = 0) -> Any:
    """Counts the steps from `first` on, with a progress bar."""
    tqdm = need("tqdm", "tqdm").tqdm
    return tqdm(range(first, steps), unit=unit, disable=quiet, initial=first, total=steps)


def positive(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 on, got {text!r}")
    return int(text)


def writable(path: str) -> str:
    """The path of a file in a folder that can be written to."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.access(folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"needs a folder that can be written to, got {folder!r}")
    return path


def command_line(name: str, about: str | None, expected: str) -> argparse.ArgumentParser:
    """The options all examples have."""
    parser = argparse.ArgumentParser(prog=f"tl examples {name}", description=(about or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of all random choices (0)")
    parser.add_argument("--plot", metavar="FILE.png", type=writable, help="draw the curve of the training")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--quickstart", action="store_true", help=f"fail unless {expected}")
    return parser


def draw(path: str, unit: str, falling: Sequence[tuple[float, float]], rising: Sequence[tuple[float, float]],
         label: str) -> None:  # fmt: skip
    """Writes an image of two curves, the loss and the measure of the training, from points (place, value)."""
    need("matplotlib", "matplotlib").use("Agg")
    from matplotlib import pyplot

    figure, left = pyplot.subplots()
    right = left.twinx()
    left.plot(*zip(*falling), color="tab:blue", label="loss")
    right.plot(*zip(*rising), color="tab:orange", label=label)
    left.set(xlabel=unit, ylabel="loss", yscale="log")
    right.set(ylabel=label)
    figure.legend(loc="upper center", ncols=2)
    figure.savefig(path)
    pyplot.close(figure)
    print(f"curve: {path}")


@contextmanager
def board(folder: str | None) -> Iterator[Callable[[str, float, int], None]]:
    """A function that notes a number by name and step for TensorBoard; without a folder it does nothing."""
    if not folder:
        yield lambda name, value, step: None
        return
    try:
        from tl_utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingExtra(str(error)) from error
    with SummaryWriter(folder) as writer:
        yield writer.add_scalar


@contextmanager
def trace_steps(path: str | None) -> Iterator[Callable[[], None]]:
    """A function to call after each step. The second to the sixth become a trace for Perfetto or TensorBoard. Without
    a path the function does nothing."""
    if not path:
        yield lambda: None
        return
    from tl_profiler import profile, schedule

    with profile(schedule=schedule(wait=0, warmup=1, active=5, repeat=1), record_shapes=True, profile_memory=True,
                 with_modules=True, on_trace_ready=lambda trace: trace.export_chrome_trace(path)) as prof:  # fmt: skip
        yield prof.step
    print(f"profile: {path}" if os.path.exists(path) else "profile: too few steps, nothing is written")


def finish(run: Callable[[argparse.Namespace], Reached], options: argparse.Namespace) -> int:
    """Runs the example and prints the last line. Returns the program's exit code."""
    start = time.perf_counter()
    try:
        if options.plot:
            need("matplotlib", "matplotlib")
        reached = run(options)
    except MissingExtra as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED
    figures = f"{reached.figures} seconds={time.perf_counter() - start:.1f}"
    if not options.quickstart:
        print(figures)
    elif reached.missed:
        print(f"quickstart failed: {figures}, expected {reached.missed}")
        return 1
    else:
        print(f"quickstart ok: {figures}")
    return 0
