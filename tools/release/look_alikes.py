"""Names that an index refuses because they look like the name of another project.

PyPI compares names without their separators and case, and takes `l`, `i` and `1` for one letter, `o` and `0` for
another. `known_names.txt` has the registered names that look like a name of this repository, one a line.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

KNOWN = Path(__file__).with_name("known_names.txt")
_EQUAL = str.maketrans({"l": "1", "i": "1", "o": "0", "-": None, "_": None, ".": None})


@dataclass(frozen=True)
class Collision:
    """A name and the registered name that it looks like."""

    name: str
    other: str


def look(name: str) -> str:
    """The form of a name that an index compares.

    Example:
        >>> look("tl-profiler") == look("Ti_Profiler")
        True
    """
    return name.lower().translate(_EQUAL)


def known_names(text: str) -> list[str]:
    """The names of a list, one at the beginning of each line.

    Args:
        text: the list. A line that begins with `#` is a comment, and so are the further words of a line.
    """
    lines = (line.split() for line in text.splitlines())
    return [words[0] for words in lines if words and not words[0].startswith("#")]


def collisions(names: list[str], known: str | None = None) -> list[Collision]:
    """The names that look like registered names.

    Args:
        names: the names of the distributions.
        known: a list of registered names, by default `known_names.txt`.

    Example:
        >>> collisions(["tl-data", "tl-core"], "tidata  a library of somebody else")
        [Collision(name='tl-data', other='tidata')]
    """
    looks = {look(other): other for other in known_names(KNOWN.read_text() if known is None else known)}
    return [Collision(name, looks[look(name)]) for name in names if look(name) in looks]
