"""Sources of maps."""

from __future__ import annotations

import copy
from typing import Any

from ..datapipe import MapDataPipe

__all__ = ["SequenceWrapperMapDataPipe"]


class SequenceWrapperMapDataPipe(MapDataPipe[Any]):
    """The items of a sequence or a mapping, which is copied first unless `deepcopy=False`.

    Example:
        >>> from tl_data.compat.datapipes.map import SequenceWrapper
        >>> SequenceWrapper("abc")[1]
        'b'
    """

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)
