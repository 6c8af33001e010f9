"""Steps that leave samples out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..datapipe import IterDataPipe, functional_datapipe

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The samples of which `filter_fn`, of them or of the parts that `input_col` names, is true.

    Args:
        datapipe: the pipe before.
        filter_fn: takes a sample, gives a bool.
        input_col: the positions or keys of the parts of a sample that it takes; None for the sample.

    Example:
        >>> from tl_data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(5)).filter(lambda x: x % 2 == 0))
        [0, 2, 4]
    """

    def __init__(self, datapipe: Any, filter_fn: Callable[..., bool], input_col: Any = None) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def _wanted(self, sample: Any) -> bool:
        if self.input_col is None:
            wanted = self.filter_fn(sample)
        elif isinstance(self.input_col, (list, tuple)):
            wanted = self.filter_fn(*(sample[c] for c in self.input_col))
        else:
            wanted = self.filter_fn(sample[self.input_col])
        if not isinstance(wanted, bool):
            raise ValueError(f"filter_fn should give a bool, got {type(wanted).__name__}")
        return wanted

    def __iter__(self) -> Iterator[Any]:
        return filter(self._wanted, self.datapipe)
