"""The texts of rows that say how operators compute on pieces: `opgen/shard_rules.py` describes the language.

A text is parsed once. Matching a pattern with operands gives each letter the dimension that it stands for.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Pattern", "Rule", "Subscript", "dimension_keys", "parse"]

# A dimension of a pattern: a letter, or the number of a dimension of `...` from its end.
Key = str | int
_TOKEN = re.compile(r"\.\.\.|\{\w+\}|[a-z_*]")


@dataclass(frozen=True)
class Subscript:
    """The dimensions of one operand or result.

    Args:
        tokens: letters, `_`, `...`, `*` and `{NAME}`.
        is_summand: whether the operand is added, so that it becomes a term where letters are summed.
        is_whole: whether every rank needs the whole.
    """

    tokens: tuple[str, ...]
    is_summand: bool = False
    is_whole: bool = False


@dataclass(frozen=True)
class Pattern:
    """Subscripts of operands and results, with the values that arguments must have.

    Attributes:
        operands: the subscripts of each operand.
        results: the subscripts of each result.
        conditions: names of arguments, each with the value that it must have.
    """

    operands: tuple[Subscript, ...]
    results: tuple[Subscript, ...]
    conditions: tuple[tuple[str, str], ...] = ()

    def holds(self, arguments: Mapping[str, Any]) -> bool:
        """Whether the arguments of a call have the values of the conditions.

        Args:
            arguments: the arguments by name.
        """
        return all(str(arguments[name]) == value for name, value in self.conditions)


@dataclass(frozen=True)
class Rule:
    """What a text says.

    Args:
        base: the first word, such as `elementwise`; empty for patterns.
        words: the words that follow.
        patterns: the alternatives.
        terms: sets of arguments in which the operator is linear together.
        reduce: the kind of terms that a dimension leaves; empty if it must not be cut.
        padded: the argument with the pairs that pad the last dimensions.
    """

    base: str = ""
    words: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    terms: tuple[frozenset[str], ...] = ()
    reduce: str = ""
    padded: str = ""


@functools.cache
def parse(text: str) -> Rule:
    """The rule that a text says.

    Args:
        text: the text.

    Raises:
        ValueError: a token or a clause is none of the language.

    Example:
        >>> parse("ik, kj -> ij; terms: self | mat2").patterns[0].operands[0].tokens
        ('i', 'k')
    """
    base, *clauses = (part.strip() for part in text.split(";"))
    fields = dict(_clause(clause) for clause in clauses)
    terms = tuple(frozenset(names.split()) for names in fields.pop("terms", "").split("|") if names.strip())
    clause_fields: dict[str, Any] = {"terms": terms, **fields}
    if "->" in base:
        return Rule(patterns=tuple(map(_pattern, base.split(" / "))), **clause_fields)
    word, *words = base.split()
    return Rule(word, tuple(words), **clause_fields)


def _clause(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or name not in ("terms", "reduce", "padded"):
        raise ValueError(f"shards: {text!r} is no clause; known are terms, reduce and padded")
    return name, value.strip()


def _pattern(text: str) -> Pattern:
    body, _, conditions = text.partition("[")
    pairs = [pair.split("=") for pair in conditions.rstrip("] ").split(",") if pair.strip()]
    operands, _, results = body.partition("->")
    return Pattern(
        tuple(map(_subscript, operands.split(","))),
        tuple(map(_subscript, results.split(","))),
        tuple((name.strip(), value.strip()) for name, value in pairs),
    )


def _subscript(text: str) -> Subscript:
    text = text.strip()
    if text == "-":
        return Subscript((), is_whole=True)
    is_summand = text.startswith("+")
    tokens = _TOKEN.findall(text[is_summand:])
    if "".join(tokens) != text[is_summand:]:
        raise ValueError(f"shards: {text!r} has a token that is none of letters, _, ..., * and {{NAME}}")
    return Subscript(tuple(tokens), is_summand)


def dimension_keys(subscript: Subscript, ndim: int, arguments: Mapping[str, Any]) -> list[Key | None] | None:
    """What each dimension of a tensor stands for; None for one that can't be cut.

    Args:
        subscript: the subscript.
        ndim: the number of dimensions of the tensor.
        arguments: the arguments of the call, by name.

    Returns:
        The list, or None if a tensor of this many dimensions doesn't fit. A summand may lack the first ones.
    """
    if subscript.is_whole:
        return [None] * ndim
    keys: list[Key | None] = []
    at = None  # where the dimensions stand that `...` and `*` take
    dots = False
    for token in subscript.tokens:
        if token in ("...", "*"):
            at, dots = len(keys), token == "..."
        elif token.startswith("{"):
            keys += [None] * len(arguments[token[1:-1]])
        else:
            keys.append(None if token == "_" else token)
    free = ndim - len(keys)
    if at is not None and free >= 0:
        keys_of_rest: Sequence[Key | None] = [i - free for i in range(free)] if dots else [None] * free
        return [*keys[:at], *keys_of_rest, *keys[at:]]
    if free == 0:
        return keys
    return (
        keys[-ndim:] if free < 0 and subscript.is_summand and ndim else [] if subscript.is_summand else None
    )
