"""Row facts: facts of operators that opgen writes from their rows to `_facts.json`, by kind.

`opgen/facts.py` describes the kinds. Operators that are functions of Python declare their facts here.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from tl_core import _C

__all__ = ["declare", "facts"]


@functools.cache
def _table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = json.loads((Path(_C.__file__).parent / "_facts.json").read_text())
    return table


def facts(kind: str) -> dict[str, Any]:
    """The facts of one kind, by operator.

    Args:
        kind: the kind, such as "core".

    Example:
        >>> facts("second_names")["clip"]
        'clamp'
    """
    return _table()[kind]


def declare(kind: str, *operators: str) -> None:
    """Declares a fact of operators without a row.

    Args:
        kind: the kind, such as "core".
        *operators: the operators, such as "sym_size.int".
    """
    facts(kind).update(dict.fromkeys(operators, 1))
