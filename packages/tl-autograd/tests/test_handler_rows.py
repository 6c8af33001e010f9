"""What handlers of `__torch_dispatch__` get of every row that has a derivative, forward and backward: no operator that
only this library has, and the numbers that a run without a handler gives.

tl-core's aten_names.txt lists the operators of PyTorch 2.13, without those of devices, of optimizers, and in place.
"""

import sys
from functools import partial
from pathlib import Path

import pytest

import tl_core as tl
from tl_autograd import grad
from tl_core.pytree import tree_leaves
from tl_core.subclasses.python_dispatch import TorchDispatchMode
from tl_core.testing import assert_close

sys.path.insert(0, str(Path(__file__).parent))
import row_functions
from test_row_gradients import (
    CALLS,
    COMPLEX_CALLS,
    COMPOSITES,
    CORE,
    LOOPS,
    Leaves,
    elementwise,
    operator,
)

KNOWN = frozenset((CORE / "tests/aten_names.txt").read_text().split())
# Asked for by the derivative of a derivative alone: a kernel's weights, differentiated.
DERIVED = {"_grid_sample"}
# Losses that are rows of their own; programs call them by nn.functional, whose tests have them.
ABOVE = {"squared_error", "smooth_l1_error", "huber_error"}


class Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))

    def own(self):
        """Those that PyTorch doesn't have."""
        return {name for name in self.calls if name not in KNOWN and name.removesuffix("_") not in KNOWN}


def run(function, leaves, mode):
    """The results, and the gradients by the leaves."""
    with mode:
        results = [t for t in tree_leaves(function()) if isinstance(t, tl.Tensor)]
        recorded = [t for t in results if t.requires_grad]
        ones = [tl.ones_like(t) for t in recorded]
        gradients = grad(recorded, leaves, ones, allow_unused=True) if recorded else ()
    return [t.detach() for t in results], list(gradients)


def row_case(name, call, dtype, low=0.5, high=1.5):
    leaves, op = Leaves(name, dtype, low, high), operator(name)
    call(op, leaves)
    result = leaves.made

    def function():
        leaves.given = iter(result)
        return call(op, leaves)

    return function, result


def function_case(f, shapes):
    leaves = [(tl.rand(*shape, generator=tl.Generator().manual_seed(i)) + 0.5).requires_grad_()
              for i, shape in enumerate(shapes)]  # fmt: skip
    return partial(f, *leaves), leaves


CASES = {
    **{
        f"{row.name} {dtype}": (
            row_case, row.name, elementwise(row), dtype, max(row.samples.low, -1.5), min(row.samples.high, 1.5),
        )
        for row in LOOPS if row.name not in ABOVE
        for dtype in (tl.float64, tl.complex128)
        if str(dtype).removeprefix("torch.") in row.elementwise.dtypes
    },
    **{name: (row_case, name, call, tl.float64) for name, call in CALLS.items() if name not in DERIVED},
    **{f"{name} complex": (row_case, name, call, tl.complex128) for name, call in COMPLEX_CALLS.items()},
    **{f"{name} composite": (row_case, name, call, tl.float64) for name, call in COMPOSITES.items()},
    **{f"{name} function": (function_case, *case) for name, case in row_functions.FUNCTIONS.items()},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_handlers_get_operators_that_others_know(name):
    make, *source = CASES[name]
    function, leaves = make(*source)
    mode = Names()
    results = run(function, leaves, mode)
    assert not mode.own()
    for result, expected in zip(results, run(function, leaves, tl.enable_grad()), strict=True):
        for a, b in zip(result, expected, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert_close(a, b, rtol=1e-4, atol=1e-5)
