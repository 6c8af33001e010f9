"""`tl profile [options] program.py [arguments]`: profiles a program and writes files.

Without the façade, `python -m tl_profiler run` is the same command.

Options:
    --html FILE    a page with time line, tables and memory
    --trace FILE   a Chrome trace, compressed if it ends with .gz
    --stacks FILE  a line for each stack, for flame graph tools
    --table        prints a table at the end (the default without another option)
    --sort KEY     its order: self_cpu_time_total, cpu_time_total, count, cpu_memory_usage
    --rows N       its length
    --no-stacks, --no-memory, --no-shapes, --no-python
                   leave that out: less to record
    --all-threads  operators of all threads, not only of the program's first
    --last N       keep the last N megabytes of each thread's events: the end of a long program
    -m             the program is a module
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tl_autograd.profiler import profile
from tl_autograd.profiler_kinds import ExperimentalConfig
from tl_autograd.profiler_util import FunctionEventAvg
from tl_core.base.programs import refusal, run_program
from tl_profiler import report

__all__ = ["get_parser", "main", "profile_program"]

PROGRAM = "python -m tl_profiler"
_ABOUT = "Runs a program and shows where its time and memory go."


def get_parser(program: str) -> argparse.ArgumentParser:
    """The parser of the command under the name of a program."""
    command = argparse.ArgumentParser(program, description=_ABOUT)
    command.add_argument("--html", metavar="FILE", help="a page with time line, tables and memory")
    command.add_argument("--trace", metavar="FILE", help="a Chrome trace; compressed if it ends with .gz")
    command.add_argument("--stacks", metavar="FILE", help="a line for each stack, for flame graph tools")
    command.add_argument("--table", action="store_true", help="print a table at the end")
    command.add_argument("--sort", default="self_cpu_time_total", metavar="KEY", help="the table's order")
    command.add_argument("--rows", type=int, default=25, metavar="N", help="the table's length")
    for name in ("stacks", "memory", "shapes", "python"):
        command.add_argument(f"--no-{name}", action="store_true", help=f"record no {name}")
    command.add_argument("--all-threads", action="store_true", help="operators of all threads")
    command.add_argument("--last", type=float, default=0, metavar="N",
                         help="keep the last N megabytes of each thread's events")  # fmt: skip
    command.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    command.add_argument("program", help="the program's file, or the module's name")
    command.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    return command


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the program and returns its exit status."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description=_ABOUT)
    commands = parser.add_subparsers(dest="command", required=True)
    name = f"{PROGRAM} run"
    commands.add_parser(
        "run", parents=[get_parser(name)], add_help=False, help="run a program", description=_ABOUT
    )
    return _profile(parser.parse_args(argv), name)


def profile_program(arguments: Sequence[str], program: str) -> int:
    """The command under the name of a program.

    Args:
        arguments: the words after the name.
        program: the name, for messages.

    Returns:
        The exit status of the program that runs.

    Example:
        >>> profile_program(["--html", "page.html", "train.py"], "tl profile")  # doctest: +SKIP
    """
    return _profile(get_parser(program).parse_args(arguments), program)


def _profile(options: argparse.Namespace, program: str) -> int:
    for path in filter(None, (options.html, options.trace, options.stacks)):
        _check_folder(path, program)
    if reason := _wrong_option(options) or refusal(options.program, options.module):
        print(f"{program}: {reason}", file=sys.stderr)
        return 2
    config = ExperimentalConfig(profile_all_threads=options.all_threads, most_megabytes=options.last)
    collector = profile(record_shapes=not options.no_shapes, with_stack=not options.no_stacks,
                        profile_memory=not options.no_memory, with_modules=True, with_flops=False,
                        experimental_config=config)  # fmt: skip
    collector.with_python = not options.no_python and not options.no_stacks
    with collector:
        status = run_program(program, options.program, options.arguments, options.module)
    _write(collector, options, program)
    return status


def _wrong_option(options: argparse.Namespace) -> str:
    if options.last < 0:
        return f"--last needs a number of megabytes from 0 on, got {options.last}"
    if options.rows < 0:
        return f"--rows needs a number from 0 on, got {options.rows}"
    if options.stacks and options.no_stacks:
        return "--stacks needs the stacks that --no-stacks leaves out"
    column = options.sort.replace("cuda_", "device_")  # an older name of the same column
    if not isinstance(getattr(FunctionEventAvg(), column, None), (int, float)):
        return f"--sort needs a column such as cpu_time_total or count, got {options.sort!r}"
    return ""


def _check_folder(path: str, program: str) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise SystemExit(f"{program}: {path} cannot be written: {folder} is no folder that may be written to")
    if os.path.isdir(path):
        raise SystemExit(f"{program}: {path} cannot be written: it is a folder")


def _write(collector: profile, options: argparse.Namespace, program: str) -> None:
    if options.html:
        report.write(collector, options.html, " ".join([options.program, *options.arguments]))
    if options.trace:
        collector.export_chrome_trace(options.trace)
    if options.stacks:
        collector.export_stacks(options.stacks)
    for path in filter(None, (options.html, options.trace, options.stacks)):
        print(f"{program}: {path} has {os.path.getsize(path) / 1e6:.1f} MB", file=sys.stderr)
    if options.table or not (options.html or options.trace or options.stacks):
        print(collector.key_averages().table(sort_by=options.sort, row_limit=options.rows))


if __name__ == "__main__":
    sys.exit(main())
