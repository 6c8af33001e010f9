"""Out tensors in the memory of an input: the result is that of a fresh out tensor, or the call is refused.

Each row with an out form runs on calls of `row_samples`, with the out tensor at six offsets of each input's memory.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tl_core as tl

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
import row_samples  # noqa: E402
from opgen import collect  # noqa: E402

ROWS = [row for row in collect.rows() if not row.random and "out" in dict(row.forms())]
CALLS = 4  # good calls of a row
CANDIDATES = 160
ERRORS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError)
# Rows that take none of the arguments of `row_samples`.
WITHOUT_CALLS = {
    "_conj_physical", "_int_mm", "_nextafter_bits", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool3d",
    "max_pool3d_with_indices", "view_as_complex_copy", "view_as_real_copy",
}  # fmt: skip
UNINITIALIZED = {"empty.memory_format", "empty_strided", "empty_like", "new_empty", "empty_permuted"}


def apart(t: tl.Tensor, shape: Any) -> tl.Tensor | None:
    return tl.full(shape, 77).to(t.dtype)


def whole(t: tl.Tensor, shape: Any) -> tl.Tensor | None:
    return t if t.shape == shape else None


def turned(t: tl.Tensor, shape: Any) -> tl.Tensor | None:
    return t.transpose(-1, -2) if t.ndim > 1 and t.shape == shape == t.transpose(-1, -2).shape else None


def first(t: tl.Tensor, shape: Any) -> tl.Tensor | None:
    count = shape.numel()
    return t.view(-1)[:count].view(shape) if t.is_contiguous() and 0 < count < t.numel() else None


def last(t: tl.Tensor, shape: Any) -> tl.Tensor | None:
    count = shape.numel()
    return (
        t.view(-1)[t.numel() - count :].view(shape) if t.is_contiguous() and 0 < count < t.numel() else None
    )


PLACEMENTS: list[Callable[[tl.Tensor, Any], tl.Tensor | None]] = [apart, whole, turned, first, last]


def tensors(value: Any) -> Iterator[tl.Tensor]:
    if isinstance(value, tl.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def in_longer_memory(value: Any) -> Any:
    """The arguments with each dense tensor at the start of a storage with one more element."""
    if isinstance(value, tl.Tensor):
        if value.layout is not tl.strided or value.device.type == "meta":
            return value
        memory = tl.empty(value.numel() + 1, dtype=value.dtype)
        return memory[:-1].view(value.shape).copy_(value)
    return [in_longer_memory(item) for item in value] if isinstance(value, list) else value


def shifted(t: tl.Tensor, shape: Any) -> tl.Tensor | None:
    return t.as_strided(t.shape, t.stride(), 1) if t.shape == shape and t.numel() else None


def equal(a: tl.Tensor, b: tl.Tensor) -> bool:
    if a.dtype.is_floating_point or a.dtype.is_complex:
        return bool(tl.isclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True).all())
    return bool((a == b).all())


def good_calls(row: Any) -> Iterator[tuple[Any, list[tl.Tensor]]]:
    """Makers of arguments, and the results of the row."""
    makers = [row_samples.OWN[row.name]] if row.name in row_samples.OWN else row_samples.candidates(row)
    value = 0
    for make in itertools.islice(makers, CANDIDATES):
        try:
            results = row_samples.call(row.name, row.args, make())
        except ERRORS:
            continue
        results = [results] if isinstance(results, tl.Tensor) else list(results)
        if all(isinstance(r, tl.Tensor) and r.layout is tl.strided for r in results):
            yield make, results
            value += 1
        if value == CALLS:
            return


def wrong_placements(row: Any) -> list[str]:
    form = dict(row.forms())["out"]
    faults = []
    if row.name not in WITHOUT_CALLS and not any(good_calls(row)):
        if row_samples.needs_lapack(row):
            pytest.skip("no LAPACK")
        raise AssertionError("no good call of this row: give row_samples one")
    for make, results in good_calls(row):
        count = len(list(tensors(make())))
        for placement, i, k in itertools.product([*PLACEMENTS, shifted], range(count), range(len(results))):
            arguments = in_longer_memory(make()) if placement is shifted else make()
            source = list(tensors(arguments))[i]
            if source.layout is not tl.strided or source.dtype != results[k].dtype:
                continue
            target = placement(source, results[k].shape)
            if target is None:
                continue
            outs = [tl.empty_like(r) for r in results]
            outs[k] = target
            try:
                row_samples.call(form.name, form.args, [*arguments, *outs])
            except ERRORS:
                continue
            if not all(map(equal, results, outs)):
                faults.append(
                    f"{placement.__name__}: out {k} in input {i} of {[list(t.shape) for t in tensors(make())]}"
                )
    return faults


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.name not in UNINITIALIZED], ids=lambda row: row.name
)
def test_out_in_the_memory_of_an_input(row: Any) -> None:
    assert wrong_placements(row) == []


def test_fill_takes_an_element_of_the_tensor_that_it_writes():
    x = tl.tensor([1.0, 2.0, 3.0])
    assert x.fill_(x[2]).tolist() == [3.0, 3.0, 3.0]
    y = tl.tensor([[1, 2], [3, 4]])
    y[:, 1].fill_(y[0, 0])
    assert y.tolist() == [[1, 1], [3, 1]]
    assert y.t().fill_(y[1, 0]).tolist() == [[3, 3], [3, 3]]
