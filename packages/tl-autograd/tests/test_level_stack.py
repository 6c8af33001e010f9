"""The levels of transforms: their kinds and numbers, and functions and tensors inside of them."""

import warnings
from types import SimpleNamespace

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import _C, func
from tl_autograd.func import interpreter, level_stack, levels
from tl_autograd.func.custom_function import VmapInfo, apply_in_transform
from tl_autograd.func.debug import debug_unwrap
from tl_autograd.func.level_stack import RandomnessType, TransformType
from tl_autograd.func.pushed import check_pushed


@pytest.fixture(autouse=True)
def no_level_is_left():
    yield
    assert _C.top_level() is None


def test_numbers_of_kinds_are_those_of_PyTorch():
    names = {"Torch": 0, "Vmap": 1, "Grad": 2, "Jvp": 3, "Functionalize": 4}
    assert {kind.name: int(kind) for kind in TransformType} == names
    assert {kind.name: int(kind) for kind in RandomnessType} == {"Error": 0, "Same": 1, "Different": 2}


def test_the_innermost_level():
    assert level_stack.peek_interpreter_stack() is None
    with pytest.raises(AssertionError, match="no transform"):
        interpreter.retrieve_current_functorch_interpreter()
    records = []

    def f(x):
        top = level_stack.peek_interpreter_stack()
        assert isinstance(top, level_stack.CInterpreter)
        records.append((top.key(), top.level(), top.batchSize(), top.randomness()))
        return x

    func.vmap(f, randomness="different")(tl.ones(5))
    func.grad(lambda x: func.vmap(f, randomness="same")(x).sum())(tl.ones(3))
    assert records == [
        (TransformType.Vmap, 1, 5, RandomnessType.Different),
        (TransformType.Vmap, 2, 3, RandomnessType.Same),
    ]


def test_all_levels_and_those_below():
    def f(x):
        outer, inner = interpreter.retrieve_all_functorch_interpreters()
        assert [outer.key(), inner.key()] == [TransformType.Vmap, TransformType.Grad]
        states = [(TransformType.Vmap, None), (TransformType.Grad, None)]
        assert interpreter.compare_functorch_state(states)
        assert not interpreter.compare_functorch_state(states[:1])
        current = interpreter.retrieve_current_functorch_interpreter()
        assert isinstance(current, interpreter.FuncTorchInterpreter) and current.level() == 2
        with current.lower():
            assert interpreter.compare_functorch_state(states[:1])
        return x.sum()

    func.vmap(func.grad(f))(tl.ones(2, 3))
    assert interpreter.retrieve_all_functorch_interpreters() == [] and interpreter.compare_functorch_state([])


def test_a_level_by_hand():
    x = tl.tensor([1.0, 2.0])
    with levels.Level(levels.BATCH, 2, "same") as level:
        inside = _C.wrap_batch(x, 0, level.serial)
        assert inside.shape == () and level.unwrap(inside * 2).tolist() == [2.0, 4.0] and level.unwrap(x) is x
    with tl.no_grad():
        with levels.Level(levels.GRAD):
            assert tl.is_grad_enabled()
        assert not tl.is_grad_enabled()
    with pytest.raises(ValueError):
        levels.Level(levels.BATCH, 2, "random")


def test_functions_of_the_tensors_of_a_tree():
    tree = {"a": (tl.ones(2), 3), "b": ["text", tl.zeros(1)]}
    assert levels.tensors_mapped(lambda t: t.numel(), tree) == {"a": (2, 3), "b": ["text", 1]}


def test_values_below_transforms():
    x, values = tl.arange(6.0).reshape(2, 3), []

    def f(row):
        inner = debug_unwrap(row, recurse=False)
        values.extend([debug_unwrap(row), inner, debug_unwrap(inner)])
        return row.sum()

    func.vmap(func.grad(f))(x)
    full, inner, again = values
    assert full is again and full.shape == (2, 3) and tl.equal(full, x) and debug_unwrap(x) is x
    assert inner is not full


class Scaled(tl_autograd.Function):
    @staticmethod
    def forward(x, k):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None

    @staticmethod
    def vmap(info, in_dims, x, k):
        assert isinstance(info, VmapInfo) and info == (4, "same") and in_dims == (1, None)
        return Scaled.apply(x.t(), k) + info.batch_size, 0


class Plain(tl_autograd.Function):
    @staticmethod
    def forward(ctx, x, *, k=1.0):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_functions_in_transforms():
    x = tl.arange(12.0).reshape(3, 4)
    batched = func.vmap(lambda c: apply_in_transform(Scaled, (c, 3.0), {}), 1, randomness="same")(x)
    assert tl.equal(batched, 3 * x.t() + 4)
    assert tl.equal(
        func.grad(lambda t: apply_in_transform(Scaled, (t, 3.0), {}).sum())(x), tl.full((3, 4), 3.0)
    )
    assert tl.equal(apply_in_transform(Plain, (x,), {}), 2 * x)
    with pytest.raises(RuntimeError, match="override the setup_context staticmethod: Plain"):
        func.grad(lambda t: apply_in_transform(Plain, (t,), {}).sum())(x)
    with pytest.raises(NotImplementedError, match="kwarg-only Tensor"):
        func.grad(lambda t: apply_in_transform(Plain, (t,), {"k": t}).sum())(x)


def check(output, pushed, args=(), tangents=(), versions=(), constants=(), dirty=()):
    context = SimpleNamespace(non_differentiable=constants, dirty_tensors=dirty)
    check_pushed(args, tangents, list(versions), output, pushed, context)


def test_tangents_of_constants_writes_and_views():
    x, t = tl.ones(2, 2), tl.ones(2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check((x * 2, x.long()), (t * 2, None), (x,), (t,), (0,))
    for constant, constants in ((x.long(), ()), (y := x * 2, (y,))):
        with pytest.raises(RuntimeError, match="tangent for output 1, which is not differentiable"):
            check((x * 2, constant), (t, t), (x,), (t,), (0,), constants)
    with pytest.raises(RuntimeError, match="not modifying the forward mode gradients inplace"):
        check(x, t, (x,), (t,), (t._version,), dirty=(x,))
    before = t._version
    check(x, t.mul_(2), (x,), (t,), (before,), dirty=(x,))
    check(x[0], t[0], (x,), (t,), (0,))
    with pytest.raises(RuntimeError, match=r"the jvp is not returning a view\.$"):
        check(x[0], t[0] * 1, (x,), (t,), (0,))
    with pytest.raises(RuntimeError, match="not returning a view of the given tangent"):
        check(x[0], tl.ones(2, 2)[0], (x,), (t,), (0,))
