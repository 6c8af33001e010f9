"""Hooks that pack saved tensors."""

import gc
import weakref

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks


def leaf(*values):
    return tl.tensor(values, dtype=tl.float64, requires_grad=True)


def as_lists():
    packed = []

    def pack(t):
        packed.append(t.tolist())
        return t.tolist()

    return saved_tensors_hooks(pack, lambda kept: tl.tensor(kept, dtype=tl.float64)), packed


def test_saved_tensors_are_packed_and_unpacked():
    hooks, packed = as_lists()
    a, b = leaf(2.0, 3.0), leaf(5.0, 7.0)
    with hooks:
        y = a * b
        z = y.exp()
    assert len(packed) == 3
    z.log().sum().backward(retain_graph=True)
    assert a.grad.tolist() == pytest.approx([5.0, 7.0]) and b.grad.tolist() == pytest.approx([2.0, 3.0])
    assert y.grad_fn._saved_self.tolist() == [2.0, 3.0]


def test_second_derivatives_pass_through_unpacked_tensors():
    hooks, _ = as_lists()
    x = leaf(2.0)
    with hooks:
        y = (x * x * x).exp()
        (first,) = tl_autograd.grad(y, x, create_graph=True)
    (second,) = tl_autograd.grad(first, x)
    value = 2.718281828459045**8
    assert first.item() == pytest.approx(12 * value) and second.item() == pytest.approx((144 + 12) * value)


def test_lists_and_functions():
    hooks, packed = as_lists()

    class Square(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            assert y.tolist() == [9.0]
            return 2 * x * g

    x = leaf(3.0)
    with hooks:
        y = Square.apply(x)
    assert packed == [[3.0], [9.0]]
    y.backward()
    assert x.grad.item() == 6.0


def test_packed_values_die_with_the_graph():
    class Box:
        def __init__(self, t):
            self.t = t

    boxes = []

    def pack(t):
        box = Box(t)
        boxes.append(weakref.ref(box))
        return box

    x = leaf(1.0)
    with saved_tensors_hooks(pack, lambda box: box.t):
        y = (x * x).sin()
    y.backward()
    del y
    gc.collect()
    assert boxes and all(box() is None for box in boxes)


def test_errors():
    with pytest.raises(TypeError, match="two callables"), saved_tensors_hooks(1, 2):
        pass
    x = leaf(1.0)
    with saved_tensors_hooks(lambda t: t, lambda t: "text"):
        y = x * x
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor"):
        y.backward()
    with saved_tensors_hooks(lambda t: 1 / 0, lambda t: t), pytest.raises(ZeroDivisionError):
        x * x
    with (
        disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        save_on_cpu(),
    ):
        pass
    with save_on_cpu():
        y = x * x
    y.backward()
    assert x.grad.item() == 2.0


# ---- hooks on one saved tensor


def test_what_was_packed_before_a_hook_raised_is_freed():
    class Packed:
        pass

    packed = []

    def pack(t):
        if packed:
            raise ValueError("enough")
        value = Packed()
        packed.append(weakref.ref(value))
        return value

    x, w = (tl.ones(2, 2, requires_grad=True) for _ in range(2))
    with pytest.raises(ValueError, match="enough"), saved_tensors_hooks(pack, lambda t: t):
        x @ w
    gc.collect()
    assert packed[0]() is None


def test_hooks_on_what_a_node_saved():
    x = leaf(2.0, 3.0)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 2, lambda kept: kept)
    assert y.grad_fn._saved_self.tolist() == [4.0, 6.0] and y.grad_fn._saved_other.tolist() == [2.0, 3.0]
    assert {"_saved_self", "_raw_saved_self"} <= set(dir(y.grad_fn))
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 9.0]


def test_hooks_on_a_saved_result_and_second_derivatives():
    x = leaf(2.0)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(
        lambda t: t.tolist(), lambda kept: tl.tensor(kept, dtype=tl.float64)
    )
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    (first,) = tl_autograd.grad(y, x, create_graph=True)
    (second,) = tl_autograd.grad(first, x)
    assert first.item() == pytest.approx(y.item()) and second.item() == pytest.approx(y.item())


def test_hooks_on_lists_and_on_what_a_function_saved():
    x, indices = leaf(1.0, 2.0, 3.0), tl.tensor([0, 2])
    y = x.reshape(1, 3)[:, indices]
    none, value = y.grad_fn._raw_saved_indices
    assert isinstance(value, tl_autograd.SavedTensor)
    value.register_hooks(lambda t: t + 0, lambda t: t)
    with pytest.raises(RuntimeError, match="None is forbidden"):
        none.register_hooks(lambda t: t, lambda t: t)

    class Saves(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    z = Saves.apply(x)
    saved = z.grad_fn._raw_saved_tensors
    saved[0].register_hooks(lambda t: t + 1, lambda t: t)
    with pytest.raises(RuntimeError, match="None is forbidden"):
        saved[1].register_hooks(lambda t: t, lambda t: t)
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 3.0, 4.0]
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = z.grad_fn._raw_saved_tensors


def test_hooks_that_may_not_be_registered():
    x = leaf(2.0)
    y = x * x
    saved = y.grad_fn._raw_saved_self
    with pytest.raises(TypeError, match="incompatible function arguments"):
        saved.register_hooks(lambda t: t)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        saved.register_hooks(1, 2)
    with pytest.raises(RuntimeError, match="modifying its input in place"):
        saved.register_hooks(lambda t: t.detach().mul_(2), lambda t: t)
    with pytest.raises(ZeroDivisionError):
        saved.register_hooks(lambda t: 1 / 0, lambda t: t)
    y = x * x
    saved = y.grad_fn._raw_saved_self
    saved.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="already been set"):
        saved.register_hooks(lambda t: t, lambda t: t)
    y.backward()
    with pytest.raises(RuntimeError, match="after it has been freed"):
        saved.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="forbidden"):
        tl_autograd.SavedTensor()


def test_what_an_unpack_hook_enters_or_leaves_ends_with_it():
    outer = saved_tensors_hooks(lambda t: t, lambda t: t)

    def leaves(t):
        outer.__exit__()
        return t

    def enters(t):
        saved_tensors_hooks(lambda t: 1 / 0, lambda t: t).__enter__()
        return t

    x = leaf(1.0)
    for unpack in (leaves, enters):
        with outer, saved_tensors_hooks(lambda t: t, unpack):
            y = x.sin()
        with outer:
            y.sum().backward()
            packed = x.exp()
        packed.sum().backward()
    outer.__exit__()  # nothing is in force: nothing happens
    x.exp().grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)


def test_page_locked_memory_is_for_devices_that_read_it():
    x = leaf(3.0)
    with save_on_cpu(pin_memory=True):
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [6.0]
    with (
        save_on_cpu(pin_memory=True, device_type="meta"),
        pytest.raises(NotImplementedError, match="page-locked"),
    ):
        tl.ones(2, device="meta", requires_grad=True).exp()
