"""Clipping gradients, and parameters as one vector."""

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
from tl_nn import utils

GRADS = [np.array([[3.0, -4.0], [0.0, 1.0]]), np.array([12.0, -0.5]), np.array(2.0)]
FLAT = np.concatenate([grad.ravel() for grad in GRADS])


def params():
    result = [tl.zeros(grad.shape, dtype=tl.float64, requires_grad=True) for grad in GRADS]
    for param, grad in zip(result, GRADS, strict=True):
        param.grad = tl.tensor(grad.tolist(), dtype=tl.float64)
    return [*result, tl.zeros(1, requires_grad=True)]


@pytest.mark.parametrize("order", [2.0, 1.0, 3.0, 0.0, float("inf"), float("-inf")])
@pytest.mark.parametrize("max_norm", [0.5, 1000.0])
def test_clip_grad_norm(order, max_norm):
    value = params()
    norms = [np.linalg.norm(grad.ravel(), order) for grad in GRADS]
    expected = np.linalg.norm(norms, order)
    total = utils.clip_grad_norm_(iter(value), max_norm, order)
    assert total.item() == pytest.approx(expected)
    factor = min(1.0, max_norm / (expected + 1e-6))
    for param, grad in zip(value, GRADS, strict=False):
        np.testing.assert_allclose(param.grad.tolist(), grad * factor)


def test_clip_one_tensor_and_none():
    (param, *_) = params()
    assert utils.clip_grad_norm_(param, 1.0).item() == pytest.approx(np.linalg.norm(GRADS[0]))
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0
    assert utils.get_total_norm([tl.tensor([3.0, 4.0])]).item() == 5.0


def test_clip_refuses_what_isnt_finite():
    param = tl.zeros(1, requires_grad=True)
    param.grad = tl.tensor([float("inf")])
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        utils.clip_grad_norm_([param], 1.0, error_if_nonfinite=True)


def test_old_name_warns():
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        utils.clip_grad_norm(params(), 1.0)


def test_clip_grad_value():
    value = params()
    utils.clip_grad_value_(value, 1.5)
    for param, grad in zip(value, GRADS, strict=False):
        np.testing.assert_allclose(param.grad.tolist(), np.clip(grad, -1.5, 1.5))


def test_parameters_and_vectors():
    layer = nn.Linear(2, 3)
    vector = utils.parameters_to_vector(layer.parameters())
    assert vector.tolist() == [*layer.weight.flatten().tolist(), *layer.bias.tolist()]
    utils.vector_to_parameters(tl.arange(9.0), layer.parameters())
    assert layer.weight.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]] and layer.bias.tolist() == [
        6.0,
        7.0,
        8.0,
    ]
    with pytest.raises(TypeError, match=r"expected torch.Tensor, but got: list"):
        utils.vector_to_parameters([1.0], layer.parameters())
    with pytest.raises(TypeError, match="different devices"):
        utils.parameters_to_vector([tl.zeros(1), tl.zeros(1, device="meta")])


def test_skip_init_takes_no_random_numbers():
    before = tl.get_rng_state().tolist()
    layer = utils.skip_init(nn.Linear, 3, 2, bias=False, dtype=tl.float64)
    assert tl.get_rng_state().tolist() == before
    assert layer.weight.shape == (2, 3) and layer.weight.dtype == tl.float64 and layer.bias is None
    assert isinstance(layer.weight, nn.Parameter) and not layer.weight.is_meta
    with pytest.raises(RuntimeError, match="Expected a Module; got 3"):
        utils.skip_init(3)
    with pytest.raises(RuntimeError, match="Module must support a 'device' arg"):
        utils.skip_init(nn.Tanh)
