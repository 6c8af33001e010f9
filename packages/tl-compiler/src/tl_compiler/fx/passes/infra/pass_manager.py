"""Several passes, ordered by constraints, repeated until nothing changes."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from ...graph_module import GraphModule
from ..schedule import Constraint, Pass, Schedule, this_before_that_pass_constraint
from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

logger = logging.getLogger(__name__)


def pass_result_wrapper(fn: Pass | None) -> Pass | None:
    """Lets a function that changes a module in place be used as a pass.

    Args:
        fn: a function of a graph module that returns None or a `PassResult`.

    Returns:
        A function that returns a `PassResult`, with True for what returned None.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> def nothing(module):
        ...     return None
        ...
        >>> pass_result_wrapper(nothing)(symbolic_trace(lambda x: x)).modified
        True
    """
    if fn is None:
        return None

    @wraps(fn)
    def run(gm: GraphModule) -> PassResult:
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        if not isinstance(result, PassResult):
            raise TypeError(f"a pass returns None or a PassResult, {fn} returned {type(result)}")
        return result

    if not inspect.isfunction(fn):
        run.__name__ = type(fn).__name__
    return run


def _topological_sort_passes(passes: list[Pass], constraints: list[Constraint]) -> list[Pass]:
    """The passes in an order that fulfils the constraints, else as they are given."""
    if not constraints:
        return passes
    after: dict[Pass, list[Pass]] = {one: [] for one in passes}
    waiting = dict.fromkeys(passes, 0)
    for one in passes:
        for other in passes:
            if one is not other and not all(constraint(one, other) for constraint in constraints):
                after[other].append(one)  # other has to come first
                waiting[one] += 1
    ready = [one for one in passes if waiting[one] == 0]
    ordered: list[Pass] = []
    while ready:
        one = ready.pop(0)
        ordered.append(one)
        for later in after[one]:
            waiting[later] -= 1
            if waiting[later] == 0:
                ready.append(later)
    if len(ordered) != len(passes):
        blocked = [one for one in passes if waiting[one] > 0]
        raise RuntimeError(f"Circular dependency detected within the following passes: {blocked}")
    return ordered


def _check_result(result: Any, name: str) -> Any:
    if isinstance(result, PassResult) or hasattr(result, "graph_module"):
        return result
    raise TypeError(
        f"The result of the pass {name} should be type PassResult. Please wrap it with pass_result_wrapper()"
    )


class PassManager(Schedule):
    """Runs passes one after the other.

    Args:
        passes: the passes.
        constraints: functions of two passes, whether the first may come before the second.
        steps: how often all are run, at most; less often if nothing changes any more.
        run_checks_after_each_pass: whether `check` is called after each pass.
        suppress_check_failures: whether orders that break a constraint are run all the same.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> manager = PassManager([pass_result_wrapper(lambda gm: None)])
        >>> manager(symbolic_trace(lambda x: x)).modified
        True
    """

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        super().__init__(passes, constraints)
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures

    def validate_constraints(self) -> None:
        """Raises if the passes stand in an order that a constraint forbids.

        Raises:
            RuntimeError: they do.
        """
        self._validate()

    def solve_constraints(self) -> None:
        """Orders the passes as the constraints ask.

        Raises:
            RuntimeError: no order does.
        """
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[..., Any]) -> None:
        """Sets a function that is called with the module after each pass.

        Args:
            check: a function of one argument, the module; it raises if something is wrong.

        Raises:
            TypeError: it takes other arguments.
        """
        parameters = list(inspect.signature(check).parameters.values())
        if len(parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign]

    def check(self, module: Any) -> None:
        """Called with the module after each pass; does nothing unless set.

        Args:
            module: the module.
        """

    def __call__(self, module: Any) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed_at_all = False
        for _ in range(self.steps):
            changed = False
            for i, one in enumerate(self.passes):
                name = getattr(one, "__name__", type(one).__name__)
                logger.debug("Running pass '%s'", name)
                try:
                    result = _check_result(one(module), name)
                except Exception as error:
                    before = [getattr(p, "__name__", type(p).__name__) for p in self.passes[:i]]
                    raise Exception(
                        f"An error occurred when running the '{name}' pass after the following passes: {before}"
                    ) from error
                module, changed = result.graph_module, changed or result.modified
                if isinstance(module, GraphModule):
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            changed_at_all = changed_at_all or changed
            if not changed:
                break
        return PassResult(module, changed_at_all)
