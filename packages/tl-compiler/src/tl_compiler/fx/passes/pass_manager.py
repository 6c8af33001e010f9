"""Functions of modules, run in order; the older form of `infra.pass_manager`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from inspect import unwrap
from typing import Any

from .schedule import Pass, Schedule, this_before_that_pass_constraint

__all__ = [
    "PassManager",
    "inplace_wrapper",
    "log_hook",
    "loop_pass",
    "these_before_those_pass_constraint",
    "this_before_that_pass_constraint",
]

logger = logging.getLogger(__name__)


def inplace_wrapper(fn: Pass) -> Pass:
    """Lets a function that changes its argument be used as a pass.

    Args:
        fn: the function; what it returns is dropped.

    Returns:
        A function that returns its argument.

    Example:
        >>> inplace_wrapper(lambda items: items.append(1))([0])
        [0, 1]
    """

    @wraps(fn)
    def run(gm: Any) -> Any:
        fn(gm)
        return gm

    return run


def log_hook(fn: Pass, level: int = logging.INFO) -> Pass:
    """Has each result of a pass logged.

    Args:
        fn: the pass.
        level: the level of the log.

    Returns:
        The pass.

    Example:
        >>> log_hook(sorted)([2, 1])
        [1, 2]
    """

    @wraps(fn)
    def run(gm: Any) -> Any:
        value = fn(gm)
        logger.log(level, "Ran pass %s\t Return value: %s", fn, value)
        return value

    return run


def loop_pass(
    base_pass: Pass, n_iter: int | None = None, predicate: Callable[[Any], bool] | None = None
) -> Pass:
    """Repeats a pass.

    Args:
        base_pass: the pass.
        n_iter: how often.
        predicate: as long as it says yes to the result; one of both is given.

    Returns:
        The pass.

    Example:
        >>> loop_pass(lambda n: n * 2, n_iter=3)(1)
        8
    """
    if (n_iter is None) == (predicate is None):
        raise AssertionError("Exactly one of `n_iter`or `predicate` must be specified.")

    @wraps(base_pass)
    def run(source: Any) -> Any:
        output = source
        if n_iter is not None:
            if n_iter <= 0:
                raise AssertionError(f"n_iter must be positive, got {n_iter}")
            for _ in range(n_iter):
                output = base_pass(output)
        elif predicate is not None:
            while predicate(output):
                output = base_pass(output)
        return output

    return run


def these_before_those_pass_constraint(these: Pass, those: Pass) -> Callable[[Pass, Pass], bool]:
    """A constraint on passes, however they are wrapped: all forms of one come before all of another.

    Args:
        these: the first.
        those: the other one.

    Returns:
        A function of two passes, the earlier one first: whether they may stand so.

    Example:
        >>> these_before_those_pass_constraint(sorted, list)(sorted, list)
        True
    """

    def may_precede(a: Pass, b: Pass) -> bool:
        return not (unwrap(a) == those and unwrap(b) == these)

    return may_precede


class PassManager(Schedule):
    """Runs functions of a module one after the other, each with the result of the one before.

    Args:
        passes: the functions.
        constraints: functions of two passes, whether the first may come before the second.

    Example:
        >>> PassManager([lambda x: x + 1, lambda x: x * 2])(3)
        8
    """

    @classmethod
    def build_from_passlist(cls, passes: list[Pass]) -> PassManager:
        """A manager of passes without constraints.

        Args:
            passes: the passes.

        Returns:
            The manager.
        """
        return cls(passes)

    def remove_pass(self, _passes: list[str]) -> None:
        """Removes passes.

        Args:
            _passes: their names.
        """
        self.passes = [one for one in self.passes if one.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, _target: Pass, _replacement: Pass) -> None:
        """Puts another pass in the place of one.

        Args:
            _target: the pass that goes.
            _replacement: the one that comes.
        """
        self.passes = [_replacement if one.__name__ == _target.__name__ else one for one in self.passes]
        self._validated = False

    def validate(self) -> None:
        """Raises if the passes stand in an order that a constraint forbids.

        Raises:
            RuntimeError: they do.
        """
        self._validate()

    def __call__(self, source: Any) -> Any:
        self._validate()
        output = source
        for one in self.passes:
            output = one(output)
        return output
