"""Reads the files of Callgrind.

The format: "Callgrind Format Specification", in valgrind's manual, version 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

__all__ = ["read"]

_UNKNOWN = "???"
_FILES = {"fl": "file", "fi": "file", "fe": "file", "cfl": "called_file", "cfi": "called_file"}
_KINDS = {"fn": "fn", "cfn": "fn", "ob": "ob", "cob": "ob", **dict.fromkeys(_FILES, "fl")}


class _Reader:
    """Follows the lines: where the following costs belong."""

    def __init__(self) -> None:
        self.exclusive: Counter[str] = Counter()
        self.inclusive: Counter[str] = Counter()
        self._names: dict[tuple[str, str], str] = {}
        self._at = {"ob": _UNKNOWN, "file": _UNKNOWN, "fn": _UNKNOWN}
        self._whole = _UNKNOWN  # the function, in the file where it begins
        self._positions, self._calls, self._callee = 1, False, ""

    def _name(self, kind: str, text: str) -> str:
        """A name, which is written out only where its number comes first: `(7) name`, later `(7)`."""
        if not text.startswith("("):
            return text
        number, _, name = text.partition(") ")
        key = kind, number.rstrip(")")
        if name:
            self._names[key] = name
        return self._names.get(key, _UNKNOWN)

    def _owner(self) -> str:
        where = "" if self._at["ob"] == _UNKNOWN else f" [{self._at['ob']}]"
        return f"{self._at['file']}:{self._at['fn']}{where}"

    def line(self, line: str) -> None:
        if line[0].isdigit() or line[0] in "+-*":
            self._cost(line)
            return
        key, sign, value = line.partition("=")
        if sign and key in _KINDS:
            self._move(key, self._name(_KINDS[key], value))
        elif key == "calls":
            self._calls = True
        elif line.startswith("positions:"):
            self._positions = len(line.split()) - 1

    def _move(self, key: str, name: str) -> None:
        if key == "cfn":
            self._callee = name
        elif key == "ob":
            self._at["ob"] = name
        elif key == "fn":
            self._at["fn"] = name
            self._whole = self._owner()
        elif _FILES.get(key) == "file":
            self._at["file"] = name

    def _cost(self, line: str) -> None:
        numbers = line.split()
        cost = int(numbers[self._positions]) if len(numbers) > self._positions else 0
        if not self._calls:
            self.exclusive[self._owner()] += cost
        if not self._calls or self._callee != self._at["fn"]:
            self.inclusive[self._whole] += cost
        self._calls = False


def parse(lines: Iterable[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Instructions by function, with and without the functions that it calls.

    Args:
        lines: of the file.

    Returns:
        the inclusive and the exclusive counts, by `file:function [library]`.

    Example:
        >>> parse(["events: Ir", "fl=(1) a.c", "fn=(1) f", "1 10", "cfn=(2) g", "calls=1 9", "2 5", "fn=(2)", "9 5"])
        ({'a.c:f': 15, 'a.c:g': 5}, {'a.c:f': 10, 'a.c:g': 5})
    """
    reader = _Reader()
    for line in lines:
        if line := line.strip():
            reader.line(line)
    return dict(reader.inclusive), dict(reader.exclusive)


def read(path: Path) -> tuple[dict[str, int], dict[str, int]]:
    """`parse` for a file."""
    with path.open(errors="replace") as file:
        return parse(file)
