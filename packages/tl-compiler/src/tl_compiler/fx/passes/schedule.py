"""Passes in an order, and constraints on it: what both managers of passes are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Constraint", "Pass", "Schedule", "this_before_that_pass_constraint"]

Pass = Callable[..., Any]
Constraint = Callable[[Pass, Pass], bool]


def _validate_pass_schedule_constraint(constraint: Constraint, passes: list[Pass]) -> None:
    """Raises for the first two passes that stand in an order which the constraint forbids."""
    for i, one in enumerate(passes):
        for later in passes[i + 1 :]:
            if not constraint(one, later):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {one} before {later} but found {one} at index {i} "
                    f"and {later} at index {passes.index(later)} in pass list."
                )


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """A constraint: one pass comes before another one.

    Args:
        this: the first.
        that: the other one.

    Returns:
        A function of two passes, the earlier one first: whether they may stand so.

    Example:
        >>> before = this_before_that_pass_constraint(sorted, list)
        >>> before(sorted, list), before(list, sorted)
        (True, False)
    """

    def may_precede(a: Pass, b: Pass) -> bool:
        return not (a == that and b == this)

    return may_precede


class Schedule:
    """Passes and constraints, checked once after each change.

    Args:
        passes: the passes, in order.
        constraints: functions of two passes, whether the first may come before the second.
    """

    def __init__(self, passes: list[Pass] | None = None, constraints: list[Constraint] | None = None) -> None:
        self.passes = passes or []
        self.constraints = constraints or []
        self._validated = False

    def add_pass(self, _pass: Pass) -> None:
        """Adds a pass at the end.

        Args:
            _pass: the pass.
        """
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Adds a constraint.

        Args:
            constraint: a function of two passes.
        """
        self.constraints.append(constraint)
        self._validated = False

    def _validate(self) -> None:
        if self._validated:
            return
        for constraint in self.constraints:
            _validate_pass_schedule_constraint(constraint, self.passes)
        self._validated = True
