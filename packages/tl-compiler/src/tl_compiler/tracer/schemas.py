"""What an operator takes, read from its schema."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

__all__ = ["Parameter", "SchemaOf", "schema_of"]


class Parameter(NamedTuple):
    """One argument of an operator: its name, its type as schemas write it, its default, and how it is given.

    Args:
        name: its name.
        type: its type as schemas write it.
        default: its default as schemas write it; None for none.
        keyword_only: whether it is given by name only.
    """

    name: str
    type: str
    default: str | None
    keyword_only: bool


class SchemaOf(NamedTuple):
    """The arguments and results of an operator.

    Args:
        arguments: the arguments.
        returns: the results.
        writes: the arguments that are written.
        takes_device: whether it takes a device.
    """

    arguments: tuple[Parameter, ...]
    returns: tuple[str, ...]
    writes: bool  # to an argument
    takes_device: bool


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "([{"
        depth -= c in ")]}"
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def _parameters(text: str) -> tuple[Parameter, ...]:
    parameters, keyword_only = [], False
    for part in _split(text):
        if part == "*":
            keyword_only = True
            continue
        kind, _, rest = part.rpartition(" ") if "=" not in part else _split_default(part)
        name, equals, default = rest.partition("=")
        parameters.append(
            Parameter(name, re.sub(r"\([^)]*\)", "", kind), default if equals else None, keyword_only)
        )
    return tuple(parameters)


def _split_default(part: str) -> tuple[str, str, str]:
    head, _, default = part.partition("=")
    kind, _, name = head.rpartition(" ")
    return kind, " ", f"{name}={default}"


@lru_cache(maxsize=4096)
def _parse(text: str) -> SchemaOf:
    head, _, tail = text.rpartition("->")
    opened = head.index("(")
    inner = head[opened + 1 : head.rindex(")")]
    arguments = _parameters(inner)
    tail = tail.strip()
    returns = _split(tail[1:-1]) if tail.startswith("(") else [tail]
    kinds = tuple(re.sub(r"\([^)]*\)", "", r.split(" ")[0]) for r in returns if r)
    return SchemaOf(arguments, kinds, "!" in inner, any(a.name == "device" for a in arguments))


def schema_of(operator: Any) -> SchemaOf:
    """The arguments and results of an operator.

    Args:
        operator: an `OpOverload`.

    Returns:
        What its schema says.
    """
    text = getattr(operator, "_schema_text", None)
    return _parse(text if isinstance(text, str) else str(operator._schema))
