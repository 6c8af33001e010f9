"""Derivatives through masks: elements that do not count have none, whatever stands there."""

import warnings

import pytest

import tl_autograd
import tl_core as tl
from tl_core import masked
from tl_core.masked import as_masked_tensor, masked_tensor

MASK = [[True, False, True, True], [False, True, True, False], [True, True, True, True]]


def inputs():
    tl.manual_seed(0)
    return tl.randn(3, 4, dtype=tl.float64, requires_grad=True), tl.tensor(MASK)


FUNCTIONS = {
    **{
        name: (lambda x, m, name=name: getattr(masked, name)(x, 1, mask=m))
        for name in (
            "sum", "prod", "mean", "amax", "amin", "var", "std", "median", "logsumexp", "softmax", "log_softmax",
            "softmin", "cumsum", "cumprod",
        )
    },
    "norm": lambda x, m: masked.norm(x, 3.0, 1, mask=m),
    "normalize": lambda x, m: masked.normalize(x, 2.0, 1, mask=m),
    "logaddexp": lambda x, m: masked.logaddexp(x, x * x, input_mask=m),
    "masked_tensor": lambda x, m: (as_masked_tensor(x, m).exp() * 2).mean(1).get_data(),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name):
    x, mask = inputs()

    def f(x):
        result = FUNCTIONS[name](x, mask)
        return tl.where(result.isfinite(), result, 0.0)

    assert tl_autograd.gradcheck(f, x)
    if name not in ("amax", "amin", "median", "cumprod", "logaddexp"):
        assert tl_autograd.gradgradcheck(f, x)


def test_a_leaf_has_a_masked_gradient():
    data = tl.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    mask = tl.tensor([[True, False, False], [False, True, False]])
    for reduce, expected in (("sum", 1.0), ("mean", 0.5)):
        x = masked_tensor(data, mask, requires_grad=True)
        getattr(x, reduce)().backward()
        assert masked.is_masked_tensor(x.grad) and tl.equal(x.grad.get_mask(), mask)
        assert x.grad.to_tensor(0.0).tolist() == [[expected, 0, 0], [0, expected, 0]]
    x = masked_tensor(data, mask, requires_grad=True)
    (grad,) = tl_autograd.grad((x * x).sum(), x)
    assert grad.to_tensor(0.0).tolist() == [[0, 0, 0], [0, 8, 0]]


def test_what_does_not_count_gets_no_nan():
    x = tl.tensor([0.0, 1.0, -1.0], requires_grad=True)
    mask = tl.tensor([False, True, False])
    as_masked_tensor(x, mask).log().sum().backward()
    assert x.grad.tolist() == [0, 1, 0]
    w = tl.tensor(2.0, requires_grad=True)
    (masked_tensor(tl.tensor([float("nan"), 3.0]), tl.tensor([False, True])) * w).sum().backward()
    assert w.grad == 3.0


def test_where_takes_the_gradient_of_what_counts():
    data = tl.tensor([-10.0, -5, 0, 5, 100])
    mask = data < 0
    x = masked_tensor(data, mask, requires_grad=True)
    y = masked_tensor(tl.ones_like(data), ~mask, requires_grad=True)
    tl.where(mask, tl.exp(x), y).sum().backward()
    assert tl.allclose(x.grad.to_tensor(0.0), tl.where(mask, data.exp(), 0.0))
    assert y.grad.to_tensor(0.0).tolist() == [0, 0, 1, 1, 1]


def test_construction_warns_of_gradients_that_are_lost():
    x = tl.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="It is not recommended to create a MaskedTensor"):
        masked_tensor(x, tl.tensor([True, False]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_masked_tensor(x, tl.tensor([True, False])).requires_grad
