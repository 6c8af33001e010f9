"""Fakes whose sizes are expressions, the checks of operators that trace, and operators that take functions."""

from __future__ import annotations

import copy

import pytest

import tl_core as tl
import tl_nn
from tl_compiler import export
from tl_compiler.higher_order.base import HigherOrderOperator
from tl_compiler.symbolic.shape_env import ShapeEnv
from tl_core import library
from tl_core.dispatch.keys import DispatchKey
from tl_core.dispatch.modes import modes_in_force
from tl_core.library import operator_checks
from tl_core.operators.packets import aten
from tl_core.subclasses import FakeTensor, FakeTensorMode
from tl_core.subclasses.python_dispatch import TorchDispatchMode
from tl_core.testing import assert_close


@pytest.fixture
def mode():
    return FakeTensorMode(shape_env=ShapeEnv())


def text(sizes):
    return [str(n) for n in sizes]


def test_sizes_are_expressions_of_the_inputs(mode):
    x = mode.from_tensor(tl.ones(4, 5))
    assert type(x) is FakeTensor and text(x.shape) == ["s0", "s1"] == text(x.size())
    assert str(x.numel()) == "s0*s1" and text(x.stride()) == ["s1", "1"] and x.dim() == 2
    with mode:
        assert text(x.flatten().shape) == ["s0*s1"]
        assert text((x @ x.t()).shape) == ["s0", "s0"]
        assert text(tl.cat([x, x]).shape) == ["2*s0", "s1"]
        assert text(x[:, : x.shape[1] - 1].shape) == ["s0", "s1 - 1"]
        assert text(tl.zeros(x.shape[0], 3).shape) == ["s0", "3"]
        assert text(x.sum(1, keepdim=True).expand_as(x).shape) == ["s0", "s1"]
        assert len(x) == 4  # from now on it is known
    assert not modes_in_force()


def test_static_sizes_are_numbers(mode):
    assert mode.from_tensor(tl.ones(4, 5), static_shapes=True).shape == (4, 5)
    assert FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True).from_tensor(tl.ones(4)).shape == (4,)


def test_copies_and_gradients_keep_the_sizes(mode):
    x = mode.from_tensor(tl.ones(4, 5, requires_grad=True))
    assert x.requires_grad and text(copy.deepcopy(x).shape) == text(x.shape)
    assert text(x.on_device("meta").shape) == text(x.shape)
    with mode:
        assert (x * 2).requires_grad and not (x > 0).requires_grad and not x.detach().requires_grad


def test_sizes_that_elements_decide_are_symbols(mode):
    x = mode.from_tensor(tl.ones(4, 5), static_shapes=True)
    with mode:
        assert text(aten.nonzero.default(x).shape) == ["u0", "2"]
        assert text(tl.masked_select(x, x > 0).shape) == ["u1"]
        assert str(x.sum().item()).startswith("zuf")


def test_symbols_may_come_while_a_mode_is_on():
    mode = FakeTensorMode()
    with mode:
        mode.use_symbols(ShapeEnv())
        with mode:
            assert tl.ones(2).shape == (2,)
    assert not modes_in_force()


# ---- opcheck traces ------------------------------------------------------------------------------------------------
@library.custom_op("_symbolic_fakes::doubled", mutates_args=())
def doubled(x: tl.Tensor) -> tl.Tensor:
    return x * 2


doubled.register_fake(tl.empty_like)


@library.custom_op("_symbolic_fakes::positions", mutates_args=())
def positions(x: tl.Tensor) -> tl.Tensor:
    return tl.nonzero(x).contiguous()


@positions.register_fake
def _(x):
    return x.new_empty([library.get_ctx().new_dynamic_size(), x.dim()], dtype=tl.int64)


def test_opcheck_of_sizes_that_elements_decide():
    assert set(library.opcheck(positions, (tl.tensor([[0.0, 1.0], [2.0, 0.0]]),)).values()) == {"SUCCESS"}


def test_opcheck_runs_graphs_of_the_call():
    records = []

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            records.append(type(args[0]) if args else None)
            return func(*args, **(kwargs or {}))

    with Seen():
        library.opcheck(doubled, (tl.ones(3),), test_utils="test_aot_dispatch_dynamic")
    assert FakeTensor in records and tl.Tensor in records


def test_opcheck_finds_a_fake_that_holds_for_some_sizes_only():
    @library.custom_op("_symbolic_fakes::some", mutates_args=())
    def some(x: tl.Tensor) -> tl.Tensor:
        return x.clone()

    some.register_fake(lambda x: tl.empty_like(x) if x.shape[0] == 3 else x.new_empty(7))
    with pytest.raises(operator_checks.OpCheckError, match="Shapes"):
        library.opcheck(some, (tl.ones(4),))


# ---- operators that take functions ---------------------------------------------------------------------------------
def test_functions_of_keys_classes_and_modes():
    twice = HigherOrderOperator("_symbolic_fakes_twice")

    class Named(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    @twice.py_impl(DispatchKey.CompositeExplicitAutograd)
    def _(f, x):
        return f(f(x))

    @twice.py_impl(DispatchKey.Autograd)
    def _(f, x):
        return "recorded"

    @twice.py_impl(FakeTensorMode)
    def _(mode, f, x):
        return mode, modes_in_force()

    assert twice(lambda x: x + 1, tl.zeros(1)).item() == 2
    assert twice(lambda x: x, tl.zeros(1, requires_grad=True)) == "recorded"
    with tl.no_grad():
        assert twice(lambda x: x, tl.zeros(1, requires_grad=True)).item() == 0
    with FakeTensorMode() as mode:
        assert twice(None, None) == (mode, [])
        assert modes_in_force() == [mode]
    twice.fallthrough(DispatchKey.Autograd)
    assert twice(lambda x: x * 2, tl.ones(1, requires_grad=True)).item() == 4
    with pytest.raises(AssertionError, match="override a python impl"):
        twice.py_impl(FakeTensorMode)(lambda: None)
    with pytest.raises(AssertionError, match="expected a DispatchKey"):
        twice.py_impl(int)
    with Named(), pytest.raises(NotImplementedError, match="could not find kernel for HigherOrderOperator"):
        HigherOrderOperator("_symbolic_fakes_nothing")(tl.ones(1))


# ---- writes to parts -----------------------------------------------------------------------------------------------
class Pieces(tl_nn.Module):
    """Writes to views of several kinds."""

    def forward(self, x):
        x = x.clone()
        first, second = x.split([1, 3], dim=1)
        second.mul_(2)
        first.add_(10)
        x.unbind(1)[1].zero_()
        x.chunk(2, dim=1)[0].add_(1)
        x.reshape(-1).add_(0.5)
        x.t().contiguous().zero_()  # a copy
        x.t()[0].mul_(3)
        return x, first


@pytest.mark.parametrize("dynamic", [False, True])
def test_writes_to_pieces_become_functional(dynamic):
    x = tl.arange(12.0).reshape(3, 4)
    sizes = {"x": {0: export.Dim("rows", min=2, max=9)}} if dynamic else None
    parts = export.export(Pieces(), (x,), dynamic_shapes=sizes).run_decompositions()
    assert not any("_." in str(n.target) for n in parts.graph.nodes if n.op == "call_function")
    y = tl.arange(20.0).reshape(5, 4) if dynamic else x
    assert_close(parts.module()(y), Pieces()(y))


# ---- modules with their signatures ---------------------------------------------------------------------------------
class Inner(tl_nn.Module):
    """Takes containers, constants and names."""

    def forward(self, pair, *, scale=1.0, shift):
        return {"sum": pair[0] + pair[1] * scale, "more": [shift.relu(), pair[0]]}


class Outer(tl_nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x, y):
        out = self.inner((x, y), scale=2.0, shift=x - 1)
        return out["sum"] * out["more"][0]


def test_preserved_signatures_are_those_of_the_modules():
    x, y = tl.randn(3), tl.randn(3)
    result = export.export(Outer(), (x, y), preserve_module_call_signature=("inner",))
    module = export.unflatten(result)
    assert_close(module(x, y), Outer()(x, y))
    assert_close(module.inner((x, y), shift=x, scale=2.0), Inner()((x, y), scale=2.0, shift=x))
    with pytest.raises(TypeError, match="exported with arguments of the structure"):
        module.inner([x, y], scale=2.0, shift=x)
    module.inner = Inner()
    assert_close(module(x, y), Outer()(x, y))
