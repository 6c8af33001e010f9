"""The words of the rules in `optable/rules/`, for editors and linters: opgen reads these functions and calls none.

A rule is a function beside its rows: `optable/rules/<family>.py` for the rows of `optable/<family>.py` that have
`jvp="rule"` or `batch="rule"`. Its parameters are the arguments of the row that it reads. Its body is made of

- assignments of variables, and `a, b = helper(…)`;
- `if`, whose branches return, or end with an assignment to one variable;
- `return`, with a tuple for a row of several results;
- expressions as in `grad`, and calls of helpers: functions without a decorator, of the same file or imported from
  `optable/rules/layouts.py`.

A helper is a macro: a call is replaced by its statements. An error names the file and the line.

- In a rule of tangents, the parameter `t_<argument>` is the tangent of an argument, undefined if it has none, and for
  a list the list of tangents. `result` and the names of results are the results of the call. The value is the tangent
  of the result.
- In a rule of batches, tensors have the batch as dimension 0. Tensors without a batch are expanded to it, except in
  rules that read `batched(x)` or `unexpanded(x)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

batch_size: int  # the size of the batch


def batch(*rows: str) -> Decorator:
    """Declares the rule of batches of some rows."""
    raise NotImplementedError


def jvp(*rows: str) -> Decorator:
    """Declares the rule of tangents of some rows."""
    raise NotImplementedError


def batched(argument: Any) -> bool:
    """Whether an argument has a batch dimension."""
    raise NotImplementedError


def unexpanded(argument: Any) -> Any:
    """An argument as the call passes it: without a batch dimension if it has no batch."""
    raise NotImplementedError


def results(call: Any) -> list[Any]:
    """The list of all results of a call of an operator, which is the first result otherwise."""
    raise NotImplementedError


def defined(tangent: Any) -> bool:
    """Whether a tangent exists."""
    raise NotImplementedError
