"""Progress bars: tqdm's where it is installed, else percentages on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["PlainBar"]


class PlainBar:
    """A progress bar without tqdm, with tqdm's arguments.

    Args:
        iterable: the iterable whose items the bar counts.
        desc: the text in front of the bar.
        total: how much there is, where it is known.
        disable: whether to hide the bar.
        options: further options of tqdm, which are unused.
    """

    def __init__(
        self,
        iterable: Iterable[Any] | None = None,
        desc: str | None = None,
        total: float | None = None,
        disable: bool | None = False,
        **options: Any,
    ) -> None:
        self.iterable, self.desc, self.total, self.n = iterable, desc, total, 0.0
        self.disable = bool(disable) or not sys.stderr.isatty()

    def update(self, n: float = 1) -> None:
        self.n += n
        if not self.disable:
            share = f"{100 * self.n / self.total:5.1f}%" if self.total else f"{self.n:g}"
            sys.stderr.write(f"\r{self.desc + ': ' if self.desc else ''}{share}")
            sys.stderr.flush()

    def set_description(self, desc: str | None = None, refresh: bool | None = True) -> None:
        self.desc = desc

    @classmethod
    def write(cls, s: str, file: Any = None, end: str = "\n", nolock: bool = False) -> None:
        print(s, file=file or sys.stdout, end=end)

    def close(self) -> None:
        if not self.disable:
            sys.stderr.write("\n")
        self.disable = True

    def __iter__(self) -> Iterator[Any]:
        with self:
            for item in self.iterable or ():
                yield item
                self.update()

    def __enter__(self) -> PlainBar:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from tqdm import tqdm
    except ImportError:
        return PlainBar
    return tqdm
