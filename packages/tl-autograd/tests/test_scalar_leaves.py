"""A leaf without dimensions in place of each number and each tensor of every row's calls.

Its gradient is that of the differences, or the call is refused: it is never taken for a plain number.
"""

import math
import sys
from pathlib import Path

import pytest

import tl_core as tl
from tl_autograd import grad

sys.path.insert(0, str(Path(__file__).parent))
from test_row_gradients import CALLS, COMPOSITES, LOOPS, ROWS, Leaves, elementwise, operator

# What a call with another shape is refused with.
ORDINARY = (TypeError, RuntimeError, ValueError, IndexError, NotImplementedError)
STEP = 1e-5


class Recorder:
    """Stands for an operator and keeps the arguments that it is called with."""

    def __init__(self, name):
        self.op, self.calls = operator(name), []

    def __call__(self, *args, **kwargs):
        self.calls.append((args, kwargs))
        return self.op(*args, **kwargs)


def recorded(name):
    """The calls of a row as tensors without a graph and numbers, each a dictionary by argument."""
    row = ROWS[name]
    call = elementwise(row) if row.elementwise else CALLS.get(name) or COMPOSITES[name]
    recorder = Recorder(name)
    with tl.no_grad():
        call(recorder, Leaves(name, tl.float64))
    for args, kwargs in recorder.calls:
        source = dict(zip((a.name for a in row.args), args, strict=False)) | kwargs
        yield {n: v.detach() if isinstance(v, tl.Tensor) else v for n, v in source.items()}


def spellings(row):
    """How a program calls it: the operator itself, the function, the method. Each takes a dictionary."""
    op = operator(row.name)

    def by_position(call, given):
        given = {
            n: v.clone() if isinstance(v, tl.Tensor) and row.writes_self else v for n, v in given.items()
        }
        names = [a.name for a in row.args if not a.keyword_only and a.name in given]
        return call(*(given[n] for n in names), **{n: v for n, v in given.items() if n not in names})

    yield "operator", lambda given: by_position(op, given)
    if row.function and not row.namespace:
        yield "function", lambda given: by_position(getattr(tl, row.base), given)
    if row.method and row.args[0].name == "self":
        yield (
            "method",
            lambda given: by_position(
                lambda self, *rest, **more: getattr(self, row.base)(*rest, **more), given
            ),
        )


def total(result):
    """The sum of all that has a derivative, each element with a weight of its own."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    parts = [tl.view_as_real(p) if p.is_complex() else p for p in parts if isinstance(p, tl.Tensor)]
    parts = [p for p in parts if p.is_floating_point()]
    return sum((p * tl.arange(1.0, p.numel() + 1, dtype=p.dtype).reshape(p.shape).cos()).sum() for p in parts)


def difference(call, value):
    """The derivative by central differences."""
    up, down = (float(total(call(tl.tensor(value + h, dtype=tl.float64)))) for h in (STEP, -STEP))
    return (up - down) / (2 * STEP)


def check_followed(call, value):
    """The gradient of a leaf that the call takes."""
    leaf = tl.tensor(value, dtype=tl.float64, requires_grad=True)
    result, want = total(call(leaf.clone())), difference(call, value)
    if not isinstance(result, tl.Tensor) or not result.requires_grad:
        assert want == 0 or math.isnan(want), "the leaf was taken for a plain number"
        return
    (output,) = grad(result, leaf)
    assert math.isclose(float(output), want, rel_tol=1e-4, abs_tol=1e-5) or math.isnan(want), (
        float(output),
        want,
    )


def names_of(row, kinds, given):
    return [a.name for a in row.args if a.type in kinds and a.name in given]


WITH_NUMBERS = [
    name
    for name in [*CALLS, *COMPOSITES, *(r.name for r in LOOPS)]
    if any(a.type in ("Scalar", "float", "Operand") for a in ROWS[name].args)
]
# What only derivatives call takes no other shapes.
PUBLIC = [
    name
    for name in [*CALLS, *COMPOSITES, *(r.name for r in LOOPS)]
    if not name.startswith("_") and not ROWS[name].base.endswith(("backward", "_scatter"))
]


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_leaf_for_a_number(name):
    row, tried = ROWS[name], 0
    for source in recorded(name):
        for argument in names_of(row, ("Scalar", "float", "Operand"), source):
            value = source[argument]
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                continue
            for how, call in spellings(row):
                tried += 1
                try:
                    check_followed(lambda leaf, c=call, g=source, a=argument: c({**g, a: leaf}), float(value))
                except TypeError as error:
                    assert "must be" in str(error) or "invalid combination" in str(error), (how, error)
                except RuntimeError as error:  # it is a tensor to another overload
                    assert "same number of dimensions" in str(error), (how, error)
    if not tried:
        pytest.skip("its calls have no number")


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", PUBLIC)
def test_leaf_for_a_tensor(name):
    row = ROWS[name]
    for source in recorded(name):
        for argument in names_of(row, ("Tensor", "Operand"), source):
            if not isinstance(source[argument], tl.Tensor) or not source[argument].is_floating_point():
                continue
            for _, call in spellings(row):
                with_leaf = lambda leaf, c=call, g=source, a=argument: c({**g, a: leaf})  # noqa: E731
                try:
                    with_leaf(tl.tensor(0.9, dtype=tl.float64))
                except ORDINARY:  # a shape that it does not take
                    continue
                try:
                    check_followed(with_leaf, 0.9)
                except NotImplementedError as error:
                    assert "the derivative for" in str(error)
