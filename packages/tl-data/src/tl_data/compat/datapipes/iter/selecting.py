"""Steps that drop samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..datapipe import IterDataPipe, functional_datapipe
from ..utils.common import validate_input_col

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Any]):
    """The samples of which `filter_fn`, of them or of the parts that `input_col` names, is true.

    Args:
        datapipe: the source pipe.
        filter_fn: predicate of the sample or of its parts.
        input_col: the positions or keys of the parts of a sample that it takes; None for the sample.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(5)).filter(lambda x: x % 2 == 0))
        [0, 2, 4]
    """

    def __init__(self, datapipe: Any, filter_fn: Callable[..., bool], input_col: Any = None) -> None:
        validate_input_col(filter_fn, input_col)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def _accepts(self, sample: Any) -> bool:
        if self.input_col is None:
            result = self.filter_fn(sample)
        elif isinstance(self.input_col, (list, tuple)):
            result = self.filter_fn(*(sample[c] for c in self.input_col))
        else:
            result = self.filter_fn(sample[self.input_col])
        if not isinstance(result, bool):
            raise ValueError(f"filter_fn should give a bool, got {type(result).__name__}")
        return result

    def __iter__(self) -> Iterator[Any]:
        return filter(self._accepts, self.datapipe)
