"""The facts of `project.toml`: the prefix of the distributions, the repository, the versions of Python."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

FILE = Path(__file__).with_suffix(".toml")
STEM = "tl-"  # the first part of the names of folders, by which the tools call the packages


@dataclass(frozen=True)
class Project:
    """The facts that every package states.

    Args:
        prefix: the first part of the distributions' names, with a separator at its end.
        repository: the address of the repository.
        pythons: the minor versions of CPython, the oldest first.

    Raises:
        ValueError: the prefix is no beginning of a name with a separator.
    """

    prefix: str
    repository: str
    pythons: tuple[str, ...]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*-", self.prefix):
            raise ValueError(
                f"prefix {self.prefix!r}: expected small letters, digits and a hyphen at the end"
            )

    @property
    def has_address(self) -> bool:
        """Whether the repository has a public address, which a release needs."""
        return not (urlsplit(self.repository).hostname or "").endswith(".invalid")

    def distribution(self, dist: str) -> str:
        """The name on an index of a package of this repository: `tl-core` → `<prefix>core`."""
        return self.prefix + dist.removeprefix(STEM)

    def dist(self, distribution: str) -> str:
        """The name in this repository of a distribution: `<prefix>core` → `tl-core`; other names stay."""
        is_ours = distribution.startswith(self.prefix)
        return STEM + distribution.removeprefix(self.prefix) if is_ours else distribution


def read(text: str) -> Project:
    """The facts in a text of TOML.

    Args:
        text: the contents of `project.toml`.

    Raises:
        ValueError: the prefix is no beginning of a name with a separator.

    Example:
        >>> facts = read('prefix = "abc-"\\nrepository = "https://a.b/c"\\npythons = ["3.11"]')
        >>> facts.distribution("tl-core"), facts.dist("abc-core"), facts.dist("numpy")
        ('abc-core', 'tl-core', 'numpy')
    """
    facts = tomllib.loads(text)
    return Project(facts["prefix"], facts["repository"], tuple(facts["pythons"]))


@cache
def project() -> Project:
    """The facts of this repository."""
    return read(FILE.read_text())
