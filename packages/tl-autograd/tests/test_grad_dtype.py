"""The element type of a leaf's gradient, and versions that are set back."""

import pytest

import tl_autograd
import tl_core as tl


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "scalar", "empty"])
def test_gradients_are_converted_to_it(layout):
    shape = {"scalar": (), "empty": (0, 3)}.get(layout, (2, 3))
    x = tl.ones(shape).t() if layout == "transposed" else tl.ones(shape)
    x = x.detach().requires_grad_()
    assert x.grad_dtype is tl.float32
    x.grad_dtype = tl.float64
    for times in (1, 2):
        (x * 3).sum().backward()
        assert x.grad.dtype is tl.float64 and x.grad.shape == x.shape
        assert x.grad.equal(tl.full(x.shape, 3.0 * times, dtype=tl.float64))
    with pytest.raises(RuntimeError, match=r"grad_dtype '(torch|tl)\.float64'"):
        x.grad = tl.ones(x.shape)
    with pytest.raises(RuntimeError, match="already a gradient"):
        x.grad_dtype = tl.float16
    x.grad_dtype = None
    assert x.grad_dtype is None
    x.grad = tl.ones(x.shape, dtype=tl.bfloat16)
    x.grad = None
    x.grad_dtype = tl.float32
    (x * 3).sum().backward()
    assert x.grad.dtype is tl.float32


@pytest.mark.filterwarnings("ignore:Using backward")
def test_gradients_of_second_order_are_converted_too():
    x = tl.tensor([2.0], requires_grad=True)
    x.grad_dtype = tl.float64
    (x**3).sum().backward(create_graph=True)
    (second,) = tl_autograd.grad(x.grad.sum(), x)
    assert x.grad.dtype is tl.float64 and second.item() == 12.0


def test_it_is_refused():
    x = tl.ones(2, requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="only be accessed on leaf tensors"):
        y.grad_dtype  # noqa: B018
    with pytest.raises(RuntimeError, match="only be set on leaf tensors"):
        y.grad_dtype = tl.float64
    for value in (3, "float64", float):
        with pytest.raises(RuntimeError, match=r"must be a torch.dtype or None, but got"):
            x.grad_dtype = value
    assert tl.ones(2).grad_dtype is tl.float32


def test_a_version_is_set_back():
    x = tl.ones(2, requires_grad=True)
    value = x * 1
    y = value.square().sum()
    with tl_autograd.grad_mode._unsafe_preserve_version_counter(value), tl.no_grad():
        value.mul_(3)
    assert value._version == 0
    y.backward()
    assert x.grad.tolist() == [6.0, 6.0]
    with pytest.raises(AssertionError, match="must be a tensor or a tuple of them, got list"):
        tl_autograd.grad_mode._unsafe_preserve_version_counter([value])
