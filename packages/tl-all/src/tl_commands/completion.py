"""`tl --print-completion SHELL`: the completion of tl's commands and of their options, written by shtab."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from tl_commands.table import COMMANDS

SHELLS = ("bash", "zsh", "tcsh")


def print_completion(arguments: Sequence[str]) -> int:
    """Prints the completion for a shell. Returns the exit status: 2 for a wrong call, 1 without shtab."""
    if len(arguments) != 1 or arguments[0] not in SHELLS:
        print(f"usage: tl --print-completion {{{','.join(SHELLS)}}}", file=sys.stderr)
        return 2
    try:
        import shtab
    except ModuleNotFoundError:
        print("tl --print-completion needs shtab: pip install 'tl-all[completion]'", file=sys.stderr)
        return 1
    print(shtab.complete(_tree(shtab.FILE), arguments[0]))
    return 0


def _tree(files: Any) -> argparse.ArgumentParser:
    """A parser of all commands whose packages are installed. `files` is shtab's rule for names of files."""
    tree = argparse.ArgumentParser("tl")
    tree.add_argument("--version", action="store_true", help="the version of tl")
    commands = tree.add_subparsers()
    for name, command in COMMANDS.items():
        try:
            parser = command.get_parser(f"tl {name}")
        except ModuleNotFoundError:
            continue
        for action in parser._actions:
            if action.choices is None and (not action.option_strings or action.metavar == "FILE"):
                vars(action)["complete"] = files  # shtab's
        commands.add_parser(name, parents=[parser], add_help=False, help=command.summary)
    return tree
