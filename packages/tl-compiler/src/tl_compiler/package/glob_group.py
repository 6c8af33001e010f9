"""Patterns of names."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["GlobGroup", "GlobPattern"]

GlobPattern = str | Iterable[str]


class GlobGroup:
    """A set of patterns of names with separators, after those of Bazel.

    A pattern has segments: literal ones, ones in which `*` stands for any text, and `**` for any number of segments.

    Args:
        include: a pattern, or several, one of which has to fit.
        exclude: a pattern, or several, none of which may fit.
        separator: what stands between segments.

    Raises:
        ValueError: `**` is only a part of a segment.

    Example:
        >>> group = GlobGroup("torch.**", exclude="torch.nn")
        >>> group.matches("torch"), group.matches("torch.fft.fft"), group.matches("torch.nn"), group.matches("torchx")
        (True, True, False, False)
    """

    def __init__(self, include: GlobPattern, *, exclude: GlobPattern = (), separator: str = ".") -> None:
        self._dbg = f"GlobGroup(include={include}, exclude={exclude})"
        self.include = self._glob_list(include, separator)
        self.exclude = self._glob_list(exclude, separator)
        self.separator = separator

    def __str__(self) -> str:
        return self._dbg

    def __repr__(self) -> str:
        return self._dbg

    def matches(self, candidate: str) -> bool:
        """Whether a name fits.

        Args:
            candidate: the name.

        Returns:
            True if it fits a pattern and none of the excluded ones.
        """
        text = self.separator + candidate
        return any(p.fullmatch(text) for p in self.include) and not any(
            p.fullmatch(text) for p in self.exclude
        )

    @staticmethod
    def _glob_list(elems: GlobPattern, separator: str = ".") -> list[re.Pattern[str]]:
        if isinstance(elems, str):
            return [GlobGroup._glob_to_re(elems, separator)]
        return [GlobGroup._glob_to_re(e, separator) for e in elems]

    @staticmethod
    def _glob_to_re(pattern: str, separator: str = ".") -> re.Pattern[str]:
        # Each segment is matched with the separator before it.
        own = re.escape(separator)

        def segment(text: str) -> str:
            if text == "**":
                return f"({own}[^{own}]+)*"
            if "**" in text:
                raise ValueError("** can only appear as an entire path segment")
            return own + f"[^{own}]*".join(re.escape(part) for part in text.split("*"))

        return re.compile("".join(segment(text) for text in pattern.split(separator)))
