"""Runs a program twice: under Python's profiler, and with the operators' times. It prints both, and the environment.

python -m tl.utils.bottleneck PROGRAM.py arguments …
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
from pathlib import Path
from types import CodeType
from typing import Any

from tl_autograd.profiler import profile
from tl_utils.collect_env import get_pretty_env_info

__all__ = ["main"]

_LINE = "-" * 80
_ROWS = 15


def _title(text: str) -> str:
    return f"{_LINE}\n  {text}\n{_LINE}"


def _run(code: CodeType, path: Path) -> None:
    """Runs the program as `__main__`. It may end itself."""
    names: dict[str, Any] = {
        "__file__": str(path),
        "__name__": "__main__",
        "__package__": None,
        "__cached__": None,
    }
    try:
        exec(code, names)
    except SystemExit as error:
        if error.code not in (None, 0):
            raise


def _python_profile(code: CodeType, path: Path) -> None:
    print("Running your script with cProfile")
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        _run(code, path)
    finally:
        profiler.disable()
    print(_title("cProfile output"))
    pstats.Stats(profiler, stream=sys.stdout).strip_dirs().sort_stats("tottime").print_stats(_ROWS)


def _operator_profile(code: CodeType, path: Path) -> None:
    print("Running your script with the autograd profiler...")
    recorded = profile()
    with recorded:
        _run(code, path)
    print(_title("autograd profiler output (CPU mode)"))
    print(f"        top {_ROWS} operators sorted by self_cpu_time_total\n")
    print(recorded.key_averages().table(sort_by="self_cpu_time_total", row_limit=_ROWS))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tl_utils.bottleneck",
        description="Shows where a program's time goes; it is run twice.",
    )
    parser.add_argument("scriptfile", help="the program")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def main(argv: list[str] | None = None) -> int:
    """The command line.

    Args:
        argv: the arguments after the module's name, by default the arguments of this process.

    Returns:
        int, the exit status: 2 if there is no such program.
    """
    options = _parser().parse_args(argv)
    path = Path(options.scriptfile)
    try:
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except OSError as error:
        print(f"bottleneck: can't read {path}: {error.strerror}", file=sys.stderr)
        return 2
    sys.argv[:] = [str(path), *options.args]
    sys.path.insert(0, str(path.resolve().parent))
    print(
        "`bottleneck` is a tool that can be used as an initial step for finding where a program spends its time."
    )
    print("It runs the program twice, so the program should end in a reasonable time.\n")
    print(_title("Environment Summary"))
    print(get_pretty_env_info())
    for part in (_python_profile, _operator_profile):
        sys.argv[:] = [str(path), *options.args]
        part(code, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
