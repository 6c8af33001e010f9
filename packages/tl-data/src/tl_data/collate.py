"""Collation of samples into batches, by a table of types that programs can extend."""

from __future__ import annotations

import collections.abc
import contextlib
import copy
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import tl_core
from tl_core import Tensor

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

CollateMap = Mapping[Any, Callable[..., Any]]


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Tensors of one shape, stacked."""
    return tl_core.stack(tuple(batch), 0)


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """NumPy arrays of one shape, stacked."""
    first = batch[0]
    if first.dtype.kind not in "biufc":
        raise TypeError(_refusal(first.dtype))
    joined = join_arrays(batch)
    if joined is not None:
        return tl_core.from_numpy(joined)
    tensors: Tensor = collate([tl_core.as_tensor(a) for a in batch], collate_fn_map=collate_fn_map)
    return tensors


def join_arrays(batch: Sequence[Any], out: Any = None) -> Any:
    """Arrays of one type and shape as rows of one array; None if they differ."""
    first = batch[0]
    alike = all(a.dtype == first.dtype and a.shape == first.shape for a in batch)
    if not alike or not first.dtype.isnative:
        return None
    import numpy

    if first.ndim == 0:
        return numpy.stack(batch) if out is None else numpy.stack(batch, out=out)
    rows = None if out is None else out.reshape(len(batch) * first.shape[0], *first.shape[1:])
    return numpy.concatenate(batch, out=rows).reshape(len(batch), *first.shape)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """NumPy numbers as a tensor of their type."""
    import numpy

    return tl_core.as_tensor(numpy.asarray(batch))


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Python floats as float64."""
    return tl_core.tensor(batch, dtype=tl_core.float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Python ints as int64, bools as bool."""
    return tl_core.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """The list of texts or bytes, unchanged."""
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {Tensor: collate_tensor_fn}
"""Collate function by type; a key may be a tuple of types. Programs can change the table."""

_AFTER_NUMPY = {float: collate_float_fn, int: collate_int_fn, str: collate_str_fn, bytes: collate_str_fn}
_numpy_known = False


def know_numpy() -> None:
    """Adds NumPy's types to the table once the program has imported NumPy."""
    global _numpy_known
    numpy = sys.modules.get("numpy")
    if _numpy_known or not hasattr(numpy, "ndarray"):
        return
    _numpy_known = True
    scalars = (numpy.bool_, numpy.number, numpy.object_)  # type: ignore[union-attr]
    default_collate_fn_map.setdefault(numpy.ndarray, collate_numpy_array_fn)  # type: ignore[union-attr]
    default_collate_fn_map.setdefault(scalars, collate_numpy_scalar_fn)
    for kind in _AFTER_NUMPY:  # np.float64 is a float: its own entry must come first
        if kind in default_collate_fn_map:
            default_collate_fn_map[kind] = default_collate_fn_map.pop(kind)


default_collate_fn_map.update(_AFTER_NUMPY)
know_numpy()


def _refusal(what: object) -> str:
    return (
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {what}; such elements need a collate_fn or a line in default_collate_fn_map"
    )


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """One batch of a sequence of samples; containers are traversed, elements are collated by the table.

    Args:
        batch (sequence): The samples, all of one structure.
        collate_fn_map (mapping, optional): Type, or tuple of types, to a function `f(batch, *, collate_fn_map)`.
            The exact type of an element comes first, then the first entry that it is an instance of.

    Raises TypeError for an element that no entry and no container rule covers, RuntimeError for samples of different
    lengths.

    >>> collate([(1, "a"), (2, "b")], collate_fn_map={int: lambda batch, collate_fn_map: sum(batch),
    ...                                               str: lambda batch, collate_fn_map: "".join(batch)})
    [3, 'ab']
    """
    element = batch[0]
    kind = type(element)
    if collate_fn_map is not None:
        function = collate_fn_map.get(kind)
        if function is None:
            function = next((f for key, f in collate_fn_map.items() if isinstance(element, key)), None)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(element, Mapping):
        return _collate_mappings(batch, collate_fn_map)
    if isinstance(element, tuple) and hasattr(element, "_fields"):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)))
    if isinstance(element, collections.abc.Sequence):
        return _collate_sequences(batch, collate_fn_map)
    raise TypeError(_refusal(kind))


def _collate_mappings(batch: Any, table: CollateMap | None) -> Any:
    first = batch[0]
    columns = {key: collate([sample[key] for sample in batch], collate_fn_map=table) for key in first}
    return columns if type(first) is dict else like_mapping(first, columns)


def like_mapping(example: Any, items: dict[Any, Any]) -> Any:
    """The items in a mapping of the example's type; a dict if that type has no such constructor."""
    with contextlib.suppress(TypeError):
        if isinstance(example, MutableMapping):
            mapping = copy.copy(example)
            mapping.update(items)
            return mapping
        return type(example)(items)
    return items


def _collate_sequences(batch: Any, table: CollateMap | None) -> Any:
    try:
        columns = list(zip(*batch, strict=True))
    except ValueError:
        raise RuntimeError("each element in list of batch should be of equal size") from None
    collated = [collate(column, collate_fn_map=table) for column in columns]
    first = batch[0]
    return (
        collated
        if isinstance(first, (list, tuple)) and type(first) in (list, tuple)
        else like_sequence(first, collated)
    )


def like_sequence(example: Any, items: list[Any]) -> Any:
    """The items in a sequence of the example's type; a list for tuples and for types without such a constructor."""
    if isinstance(example, tuple):
        return items
    with contextlib.suppress(TypeError):
        if isinstance(example, MutableSequence):
            sequence = copy.copy(example)
            for i, item in enumerate(items):
                sequence[i] = item
            return sequence
        return type(example)(items)
    return items


def default_collate(batch: Any) -> Any:
    """A batch of samples: tensors, arrays and numbers become tensors with one dimension more, containers stay.

    Raises TypeError for elements of another kind, which need a `collate_fn` or an entry in `default_collate_fn_map`.

    >>> default_collate([{"A": 0, "B": 1}, {"A": 100, "B": 100}])
    {'A': tensor([  0, 100]), 'B': tensor([  1, 100])}
    """
    know_numpy()
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: Any) -> Any:
    """A single sample with its NumPy arrays as tensors, in containers too; everything else as it is.

    >>> default_convert([1, "a"])
    [1, 'a']
    """
    if isinstance(data, (Tensor, str, bytes)):
        return data
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(data, (numpy.ndarray, numpy.generic)):
        is_text = data.dtype.kind in "SUO" and not isinstance(data, numpy.object_)
        return data if is_text else tl_core.as_tensor(data)
    if isinstance(data, Mapping):
        items = {key: default_convert(data[key]) for key in data}
        return items if type(data) is dict else like_mapping(data, items)
    if isinstance(data, tuple):
        converted = [default_convert(item) for item in data]
        return type(data)(*converted) if hasattr(data, "_fields") else converted
    if isinstance(data, collections.abc.Sequence):
        return like_sequence(data, [default_convert(item) for item in data])
    return data
