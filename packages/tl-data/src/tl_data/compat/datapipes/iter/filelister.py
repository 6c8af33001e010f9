"""The files of folders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..datapipe import IterDataPipe, functional_datapipe
from ..utils.common import get_file_pathnames_from_root
from .utils import IterableWrapperIterDataPipe

__all__ = ["FileListerIterDataPipe"]


@functional_datapipe("list_files")
class FileListerIterDataPipe(IterDataPipe[Any]):
    """Paths of the files in folders whose names match one of the `masks`, in order.

    Args:
        root: a folder, or several.
        masks: patterns of names, such as "*.csv"; "" for all.
        recursive: whether folders within are searched.
        abspath: whether paths are absolute.
        non_deterministic: accepted; paths are sorted in any case.
        length: the result of `len`; -1 for none.

    Example:
        >>> import pathlib, tempfile
        >>> from tl_data.compat.datapipes.iter import FileLister
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "a.txt").write_text("hello")
        ...     [pathlib.Path(path).name for path in FileLister(folder, "*.txt")]
        ...
        ['a.txt']
    """

    def __init__(
        self,
        root: Any = ".",
        masks: str | list[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ) -> None:
        roots = [root] if isinstance(root, str) else root
        self.datapipe = roots if isinstance(roots, IterDataPipe) else IterableWrapperIterDataPipe(roots)
        self.masks, self.recursive, self.abspath = masks, recursive, abspath
        self.non_deterministic, self.length = non_deterministic, length

    def __iter__(self) -> Iterator[str]:
        for root in self.datapipe:
            yield from get_file_pathnames_from_root(root, self.masks, self.recursive, self.abspath)

    def __len__(self) -> int:
        if self.length < 0:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length
