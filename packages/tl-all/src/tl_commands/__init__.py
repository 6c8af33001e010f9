"""The command `tl`, and the variable `TL_AS_TORCH`.

This package imports neither tl nor a package of tl until a command needs it. So `tl --version` takes as long as an
empty program, and an interpreter without the variable pays for one look at its environment.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["launch", "main"]


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Runs `tl COMMAND …`.

    Args:
        arguments: the words after `tl`, by default those of the process.

    Returns:
        The exit status: 2 for a wrong call, 1 for a missing package, otherwise that of the command.

    Example:
        >>> main(["--version"])
        tl 0.1.0
        0
    """
    from tl_commands import command_line

    return command_line.run(sys.argv[1:] if arguments is None else list(arguments))


def launch() -> int:
    """Runs `tlrun …`, which is `tl run …`."""
    from tl_commands import command_line

    return command_line.call("run", sys.argv[1:], "tlrun")
