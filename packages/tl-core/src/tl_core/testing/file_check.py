"""FileCheck: texts that must, or must not, occur in a text one after the other."""

from __future__ import annotations

import re
from typing import Any, Self

__all__ = ["FileCheck"]


class FileCheck:
    """A list of checks that a text is run through, from its beginning to its end.

    Example:
        >>> FileCheck().check("add").check_not("sub").check("mul").run("add(x); mul(y)")
    """

    def __init__(self) -> None:
        self._checks: list[tuple[str, str, int, bool]] = []

    def check(self, text: str) -> Self:
        """The text occurs behind what was found before.

        Args:
            text: what is looked for.
        """
        return self._add("check", text)

    def check_not(self, text: str) -> Self:
        """The text doesn't occur between what is found before and what is found after.

        Args:
            text: what is looked for.
        """
        return self._add("not", text)

    def check_next(self, text: str) -> Self:
        """The text occurs in the line after the last one found.

        Args:
            text: what is looked for.
        """
        return self._add("next", text)

    def check_same(self, text: str) -> Self:
        """The text occurs behind the last one found, in the same line.

        Args:
            text: what is looked for.
        """
        return self._add("same", text)

    def check_count(self, text: str, count: int, exactly: bool = False) -> Self:
        """The text occurs so many times.

        Args:
            text: what is looked for.
            count: how often.
            exactly: whether it must not occur once more.
        """
        return self._add("count", text, count, exactly)

    def check_dag(self, text: str) -> Self:
        """The text occurs behind what was found before; neighbouring such checks hold in any order.

        Args:
            text: what is looked for.
        """
        return self._add("dag", text)

    def check_regex(self, pattern: str) -> Self:
        """The pattern matches behind what was found before.

        Args:
            pattern: a regular expression.
        """
        return self._add("regex", pattern)

    def _add(self, kind: str, text: str, count: int = 1, exactly: bool = False) -> Self:
        self._checks.append((kind, text, count, exactly))
        return self

    def run(self, text: Any) -> None:
        """Runs the checks.

        Args:
            text: the text, or what `str` makes one of.

        Raises:
            RuntimeError: a check fails.
        """
        text, at, absent = str(text), 0, list[str]()
        dag_begin = dag_end = 0
        for i, (kind, pattern, count, exactly) in enumerate(self._checks):
            if kind == "not":
                absent.append(pattern)
                continue
            if kind == "count" and count == 0:  # from here on it does not occur
                absent += [pattern] if exactly else []
                continue
            if kind == "dag":
                first = i == 0 or self._checks[i - 1][0] != "dag"
                dag_begin, dag_end = (at, at) if first else (dag_begin, dag_end)
                begin, end = _find(text, pattern, dag_begin, kind)
                at = dag_end = max(dag_end, end)
            else:
                begin, end = _find(text, pattern, at, kind)
                for _ in range(count - 1):
                    end = _find(text, pattern, end, kind)[1]
                if exactly and pattern in text[end:]:
                    raise RuntimeError(
                        f'Expected to not find "{pattern}" but found it more than {count} times in\n{text}'
                    )
                _refuse(text, absent, at, begin)
                at, absent = end, []
        _refuse(text, absent, at, len(text))


def _find(text: str, pattern: str, at: int, kind: str) -> tuple[int, int]:
    """Where the next occurrence begins and ends."""
    begin, stop = at, len(text)
    if kind in ("next", "same"):
        newline = text.find("\n", at)
        begin, stop = (at, newline) if kind == "same" else (newline + 1, text.find("\n", newline + 1))
        stop = len(text) if stop < 0 else stop
    match = re.compile(pattern if kind == "regex" else re.escape(pattern)).search(text, begin, stop)
    if match is None:
        raise RuntimeError(f'Expected to find "{pattern}" ({kind}) but did not find it in\n{text[at:]}')
    return match.span()


def _refuse(text: str, absent: list[str], begin: int, end: int) -> None:
    for unwanted in absent:
        if unwanted in text[begin:end]:
            raise RuntimeError(f'Expected to not find "{unwanted}" but found it in\n{text[begin:end]}')
