"""Runs a program of a file in this process: `python -m tl_distributed.launcher.run_path FILE`."""

from __future__ import annotations

import runpy
import sys

__all__ = ["run_script_path"]


def run_script_path(training_script: str, *training_script_args: str) -> None:
    """Runs a program of a file, with its arguments in `sys.argv`.

    Args:
        training_script: the file.
        training_script_args: its arguments.

    Example:
        >>> run_script_path("train.py", "--epochs", "3")  # doctest: +SKIP
    """
    sys.argv = [training_script, *training_script_args]
    runpy.run_path(training_script, run_name="__main__")


if __name__ == "__main__":
    run_script_path(*sys.argv[1:])
