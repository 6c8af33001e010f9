"""Steps that call a function with each sample."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from tl_data.collate import default_collate

from ..datapipe import IterDataPipe, functional_datapipe, lengths
from ..utils.common import validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Any]):
    """`fn` of each sample, or of the parts of it that `input_col` names.

    The result takes the place of the sample; of its first part, whose others are dropped; or of `output_col`'s, with
    -1 for one part more.

    Raises ValueError for an `output_col` without an `input_col`, and for one with several.

    Args:
        datapipe: the source pipe.
        fn: function of the sample or of its parts.
        input_col: the positions or keys of the parts of a sample that it takes; None for the sample.
        output_col: position or key of the result; None for the first of `input_col`.

    >>> from tl_data.compat.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([(1, 2), (3, 4)]).map(lambda a, b: a + b, input_col=[0, 1]))
    [(3,), (7,)]
    """

    def __init__(
        self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None
    ) -> None:
        validate_input_col(fn, input_col)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) != 1:
                raise ValueError(f"`output_col` must name one part, got {output_col}")
            (output_col,) = output_col
        self.datapipe, self.fn, self.input_col, self.output_col = datapipe, fn, input_col, output_col

    def _apply(self, sample: Any) -> Any:
        if self.input_col is None:
            return self.fn(sample)
        several = isinstance(self.input_col, (list, tuple))
        columns = list(self.input_col) if several else [self.input_col]
        result = self.fn(*(sample[c] for c in columns))
        parts = list(sample) if isinstance(sample, tuple) else copy.copy(sample)
        if self.output_col is None:
            parts[columns[0]] = result
            for column in sorted(columns[1:], reverse=True):
                del parts[column]
        elif self.output_col == -1:
            parts.append(result)
        else:
            parts[self.output_col] = result
        return tuple(parts) if isinstance(sample, tuple) else parts

    def __iter__(self) -> Iterator[Any]:
        return map(self._apply, self.datapipe)

    def __len__(self) -> int:
        return lengths(self, self.datapipe)[0]


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches of samples made into tensors, by `default_collate` or another function.

    Args:
        datapipe: the source pipe.
        conversion: function of a batch of samples; `collate_fn` takes precedence.
        collate_fn: function of a list of samples that returns the batch; None for `conversion`.

    Example:
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([[1, 2], [3, 4]]).collate())
        [tensor([1, 2]), tensor([3, 4])]
    """

    def __init__(
        self,
        datapipe: Any,
        conversion: Callable[..., Any] | None = default_collate,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:
        function = collate_fn or conversion
        if not callable(function):
            raise TypeError(
                f"collate takes a function, got {function!r}; there are no data frames in these pipes"
            )
        super().__init__(datapipe, function)
