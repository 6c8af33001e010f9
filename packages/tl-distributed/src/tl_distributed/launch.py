"""The older name of the launcher: `python -m tl.distributed.launch`.

It is `tl.distributed.run`, but gives each worker its local rank as the argument `--local-rank` too, unless `--use-env`
says that the variable LOCAL_RANK will do.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence

from . import run as launcher
from .elastic.utils import macros
from .launcher.argparse_util import check_env

__all__ = ["main", "parse_args"]

PROGRAM = "python -m tl_distributed.launch"


def parse_args(args: Sequence[str] | None) -> Namespace:
    """Reads a command line; that of the process if None.

    Example:
        >>> parse_args(["--nproc-per-node", "2", "train.py", "--lr", "1"]).training_script_args
        ['--local-rank=${local_rank}', '--lr', '1']
    """
    parser = launcher.get_args_parser()
    parser.prog = PROGRAM
    parser.add_argument(
        "--use-env",
        "--use_env",
        action=check_env,
        help="workers get their local rank by the variable LOCAL_RANK alone",
    )
    namespace = parser.parse_args(args)
    if not namespace.use_env:
        namespace.training_script_args.insert(0, f"--local-rank={macros.local_rank}")
    return namespace


def main(args: Sequence[str] | None = None) -> None:
    """Reads a command line and runs the job.

    Raises:
        ChildFailedError: a worker failed, and the job may not start again.
    """
    launcher.run(parse_args(args))


if __name__ == "__main__":
    sys.exit(launcher.exit_status(main, PROGRAM))
