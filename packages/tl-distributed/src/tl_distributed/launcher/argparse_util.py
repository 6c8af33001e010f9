"""Command-line options whose default is an environment variable."""

from __future__ import annotations

import os
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

__all__ = ["check_env", "env"]

_PREFIX = "PET_"


def _variable(option_strings: Sequence[str], dest: str) -> str | None:
    """The value of PET_NAME, where NAME is the option's long name."""
    long = next((name for name in option_strings if name.startswith("--")), dest)
    return os.environ.get(_PREFIX + long.lstrip("-").replace("-", "_").upper())


class env(Action):
    """An option with a value: that of the command line, else that of the variable PET_NAME, else the default.

    Example:
        >>> parser = ArgumentParser()
        >>> _ = parser.add_argument("--node-rank", action=env, type=int, default=0)
        >>> parser.parse_args([]).node_rank
        0
    """

    def __init__(
        self,
        dest: str,
        default: Any = None,
        required: bool = False,
        *,
        option_strings: Sequence[str],
        **kwargs: Any,
    ):
        variable = _variable(option_strings, dest)
        default = default if variable is None else variable  # argparse converts texts by `type`
        super().__init__(
            option_strings, dest, default=default, required=required and default is None, **kwargs
        )

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        setattr(namespace, self.dest, values)


class check_env(Action):
    """An option without a value: true if it is given, or if the variable PET_NAME is 1.

    Example:
        >>> parser = ArgumentParser()
        >>> _ = parser.add_argument("--verbose", action=check_env)
        >>> parser.parse_args([]).verbose, parser.parse_args(["--verbose"]).verbose
        (False, True)
    """

    def __init__(self, dest: str, default: bool = False, *, option_strings: Sequence[str], **kwargs: Any):
        variable = _variable(option_strings, dest)
        on = default if variable is None else variable.lower() not in ("", "0", "false")
        super().__init__(option_strings, dest, nargs=0, const=True, default=on, **kwargs)

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        setattr(namespace, self.dest, self.const)
