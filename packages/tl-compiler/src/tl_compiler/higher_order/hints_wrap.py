"""A call with hints for compilers; here they are carried along, and change nothing."""

from __future__ import annotations

from typing import Any

from .base import HigherOrderOperator

__all__ = ["HintsWrapper", "hints_wrapper"]


class HintsWrapper(HigherOrderOperator):
    """Calls a function. In a trace its operators are recorded where the call stands.

    Args:
        body_fn: the graph.
        args: its arguments.
        kwargs: its keyword arguments.
        hints: what compilers are told, by name.
    """

    def __init__(self) -> None:
        super().__init__("hints_wrapper")

    def __call__(self, body_fn: Any, args: Any, kwargs: Any = None, hints: Any = None) -> Any:
        """Calls the function.

        Args:
            body_fn: the function.
            args, kwargs: its arguments.
            hints: what compilers may know.

        Raises:
            RuntimeError: arguments are no tuple, or hints no dictionary.
        """
        if not isinstance(args, tuple) or not all(not isinstance(a, (dict, set)) for a in args):
            raise RuntimeError(f"args must be a tuple, got {type(args)}")
        if hints is not None and not isinstance(hints, dict):
            raise RuntimeError(f"hints must be a dict, got {type(hints)}")
        return body_fn(*args, **(kwargs or {}))


hints_wrapper = HintsWrapper()
