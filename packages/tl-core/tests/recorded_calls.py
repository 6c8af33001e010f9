"""calls.jsonl: calls of operators that succeed, one a line, of those whose arguments have to fit each other.

A tensor is {type: shape}, with its "values" where they matter; a type is {"dtype": name}.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def recorded() -> Iterator[tuple[str, list[Any]]]:
    """The operator's name and the arguments of each call, as they are written."""
    for line in (Path(__file__).parent / "calls.jsonl").read_text().splitlines():
        name, *arguments = json.loads(line)
        yield name, arguments


def as_given(tl: Any, value: Any, filled: Callable[[list[int], str], Any]) -> Any:
    """An argument: what is written, with tensors and types in it.

    Args:
        tl: the module that makes them.
        value: what is written.
        filled: makes a tensor of a shape and type whose values do not matter.
    """
    if isinstance(value, list):
        return [as_given(tl, v, filled) for v in value]
    if not isinstance(value, dict):
        return value
    if "dtype" in value:
        return getattr(tl, value["dtype"])
    dtype, shape = next(iter(value.items()))
    if "values" in value:
        return tl.tensor(value["values"], dtype=getattr(tl, dtype)).reshape(shape)
    return filled(shape, dtype)
