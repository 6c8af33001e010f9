"""Functional forms and the layers over them, against numpy and finite differences."""

import numpy as np
import pytest
from scipy import stats

import tl_core as tl
import tl_nn as nn
import tl_nn.functional as F

POINTS = np.concatenate([np.linspace(-7, 7, 57), [0.3, -0.3, 2.9, 6.1, -2.9]])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ELEMENTWISE = {
    "relu": (F.relu, nn.ReLU(), lambda x: np.maximum(x, 0)),
    "relu6": (F.relu6, nn.ReLU6(), lambda x: np.clip(x, 0, 6)),
    "hardtanh": (F.hardtanh, nn.Hardtanh(), lambda x: np.clip(x, -1, 1)),
    "threshold": (
        lambda x: F.threshold(x, 0.1, 20.0),
        nn.Threshold(0.1, 20.0),
        lambda x: np.where(x > 0.1, x, 20.0),
    ),
    "leaky_relu": (F.leaky_relu, nn.LeakyReLU(), lambda x: np.where(x > 0, x, 0.01 * x)),
    "sigmoid": (F.sigmoid, nn.Sigmoid(), sigmoid),
    "tanh": (F.tanh, nn.Tanh(), np.tanh),
    "silu": (F.silu, nn.SiLU(), lambda x: x * sigmoid(x)),
    "hardsigmoid": (F.hardsigmoid, nn.Hardsigmoid(), lambda x: np.clip(x + 3, 0, 6) / 6),
    "hardswish": (F.hardswish, nn.Hardswish(), lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "hardshrink": (F.hardshrink, nn.Hardshrink(), lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    "softshrink": (F.softshrink, nn.Softshrink(), lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    "softsign": (F.softsign, nn.Softsign(), lambda x: x / (1 + np.abs(x))),
    "elu": (F.elu, nn.ELU(), lambda x: np.where(x > 0, x, np.expm1(x))),
    "selu": (
        F.selu,
        nn.SELU(),
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    ),
    "celu": (lambda x: F.celu(x, 2.0), nn.CELU(2.0), lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2))),
    "rrelu": (
        lambda x: F.rrelu(x, 0.2, 0.4),
        nn.RReLU(0.2, 0.4).eval(),
        lambda x: np.where(x > 0, x, 0.3 * x),
    ),
    "gelu": (F.gelu, nn.GELU(), lambda x: x * stats.norm.cdf(x)),
    "gelu_tanh": (
        lambda x: F.gelu(x, approximate="tanh"),
        nn.GELU("tanh"),
        lambda x: x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    "softplus": (F.softplus, nn.Softplus(), lambda x: np.logaddexp(0, x)),
    "softplus_sharp": (lambda x: F.softplus(x, 2.0), nn.Softplus(2.0), lambda x: np.logaddexp(0, 2 * x) / 2),
    "logsigmoid": (F.logsigmoid, nn.LogSigmoid(), lambda x: -np.logaddexp(0, -x)),
    "mish": (F.mish, nn.Mish(), lambda x: x * np.tanh(np.logaddexp(0, x))),
    "tanhshrink": (F.tanhshrink, nn.Tanhshrink(), lambda x: x - np.tanh(x)),
}


def tensor(values, requires_grad=False):
    values = np.asarray(values)
    flat = tl.tensor(values.ravel().tolist(), dtype=tl.float64)
    return flat.reshape(values.shape).requires_grad_(requires_grad)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    function, layer, expected = ELEMENTWISE[name]
    for compute in (function, layer):
        np.testing.assert_allclose(compute(tensor(POINTS)).tolist(), expected(POINTS), rtol=1e-12, atol=1e-12)
    assert function(tensor(np.zeros((0, 3)))).shape == (0, 3)
    assert function(tensor(2.0)).dim() == 0
    strided = tensor(POINTS.reshape(2, -1)).t()
    np.testing.assert_allclose(function(strided).tolist(), expected(POINTS.reshape(2, -1).T), atol=1e-12)


def test_rrelu_has_a_factor_for_each_negative_element():
    layer, x = nn.RReLU(0.2, 0.4), -tl.ones(1000, dtype=tl.float64)
    samples = np.asarray((-layer(x)).tolist())
    assert ((samples >= 0.2) & (samples < 0.4)).all() and len(set(samples)) > 900
    assert (layer(-x) == 1).all()
    assert repr(nn.RReLU(inplace=True)) == "RReLU(lower=0.125, upper=0.3333333333333333, inplace=True)"
    changed = x.clone()
    assert nn.RReLU(inplace=True)(changed) is changed


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_gradient(name):
    function, _, expected = ELEMENTWISE[name]
    smooth = POINTS[(np.abs(POINTS * 4 - np.round(POINTS * 4)) > 1e-3)]
    step = 1e-6
    derivative = (expected(smooth + step) - expected(smooth - step)) / (2 * step)
    x = tensor(smooth, requires_grad=True)
    function(x).sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), derivative, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "kind",
    [
        nn.ReLU,
        nn.ReLU6,
        nn.Hardtanh,
        nn.LeakyReLU,
        nn.SiLU,
        nn.Hardsigmoid,
        nn.Hardswish,
        nn.ELU,
        nn.SELU,
        nn.Mish,
    ],
)
def test_in_place(kind):
    x = tensor([-1.0, 0.25, 2.0], requires_grad=True)
    expected = kind()(x)
    expected.sum().backward()
    derivative, x.grad = x.grad.tolist(), None
    base = x * 1
    result = kind(inplace=True)(base)
    assert result is base and base.tolist() == expected.tolist()
    result.sum().backward()
    assert x.grad.tolist() == derivative
    assert "inplace=True" in repr(kind(inplace=True)) and "inplace" not in repr(kind())


def test_in_place_functions():
    for name in ("relu", "hardtanh", "leaky_relu", "elu", "selu", "celu"):
        function, plain = getattr(F, name + "_"), getattr(F, name)
        x = tensor([-2.0, 2.0])
        assert function(x) is x and x.tolist() == plain(tensor([-2.0, 2.0])).tolist()
    x = tensor([-2.0, 2.0])
    assert F.threshold_(x, 0.0, 1.0) is x and x.tolist() == [1.0, 2.0]


def test_far_numbers_keep_finite_gradients():
    for function in (F.elu, F.selu, F.celu, F.softplus, F.mish, F.logsigmoid, F.silu):
        x = tensor([-1e4, -100.0, 100.0, 1e4], requires_grad=True)
        function(x).sum().backward()
        assert np.isfinite(x.grad.tolist()).all(), function.__name__


def test_derivatives_at_zero():
    for function, derivative in (
        (F.logsigmoid, 0.5),
        (F.softplus, 0.5),
        (F.elu, 1.0),
        (F.relu, 0.0),
        (F.gelu, 0.5),
    ):
        x = tensor([0.0], requires_grad=True)
        function(x).sum().backward()
        assert x.grad.item() == pytest.approx(derivative), function.__name__


def test_activation_faults():
    with pytest.raises(RuntimeError, match=r"lambda must be in range \[0, 1.79.*, but found -1"):
        F.softshrink(tensor([1.0]), -1)
    with pytest.raises(ValueError, match="min_val cannot be greater than max_val, got 2 and 1"):
        F.hardtanh(tensor([1.0]), 2, 1)
    with pytest.raises(RuntimeError, match="alpha cannot be 0 for CELU"):
        F.celu(tensor([1.0]), 0.0)
    with pytest.raises(RuntimeError, match="approximate argument must be either none or tanh, got cubic"):
        F.gelu(tensor([1.0]), approximate="cubic")


def test_nan_passes():
    for name in ("relu6", "hardtanh", "threshold", "silu", "hardswish", "hardshrink"):
        assert np.isnan(ELEMENTWISE[name][0](tensor([np.nan])).tolist()).all(), name


def test_prelu():
    x = np.linspace(-1, 1, 24).reshape(2, 3, 4)
    weight = np.array([0.1, 0.2, 0.3])
    expected = np.where(x > 0, x, x * weight[:, None])
    np.testing.assert_allclose(F.prelu(tensor(x), tensor(weight)).tolist(), expected)
    layer = nn.PReLU(3, init=0.5, dtype=tl.float64)
    np.testing.assert_allclose(layer(tensor(x)).tolist(), np.where(x > 0, x, x * 0.5))
    layer(tensor(x)).sum().backward()
    np.testing.assert_allclose(layer.weight.grad.tolist(), np.where(x > 0, 0, x).sum((0, 2)))
    with pytest.raises(RuntimeError, match="Found parameter numbers = 2 and channel size = 3"):
        F.prelu(tensor(x), tensor([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="Not allow zero-dim input tensor"):
        F.prelu(tensor(1.0), tensor([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="to be a scalar or 1D tensor, but got: ndim = 2"):
        F.prelu(tensor(x), tensor([[1.0, 2.0, 3.0]]))
    assert repr(layer) == "PReLU(num_parameters=3)"


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax(dim):
    x = np.random.default_rng(0).normal(size=(3, 4, 2)) * 50
    shifted = np.exp(x - x.max(dim, keepdims=True))
    expected = shifted / shifted.sum(dim, keepdims=True)
    np.testing.assert_allclose(F.softmax(tensor(x), dim).tolist(), expected, rtol=1e-9)
    np.testing.assert_allclose(nn.Softmin(dim)(tensor(-x)).tolist(), expected, rtol=1e-9)
    logs = x - x.max(dim, keepdims=True) - np.log(shifted.sum(dim, keepdims=True))
    np.testing.assert_allclose(nn.LogSoftmax(dim)(tensor(x)).tolist(), logs, rtol=1e-9)
    assert F.softmax(tl.zeros(2), 0, dtype=tl.float64).dtype == tl.float64


def test_softmax_without_dim_warns():
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        result = F.softmax(tensor(np.zeros((2, 4))))
    assert result.sum(1).tolist() == [1.0, 1.0]
    assert nn.Softmax2d()(tensor(np.zeros((1, 2, 3, 3)))).sum(1).tolist() == np.ones((1, 3, 3)).tolist()
    with pytest.raises(ValueError, match="expected input to be 3D or 4D, got 2D"):
        nn.Softmax2d()(tensor(np.zeros((2, 2))))


def test_glu():
    x = np.random.default_rng(0).normal(size=(2, 6))
    np.testing.assert_allclose(nn.GLU(1)(tensor(x)).tolist(), x[:, :3] * sigmoid(x[:, 3:]))
    with pytest.raises(RuntimeError, match="Halving dimension must be even, but dimension 0 is size 3"):
        F.glu(tensor([1.0, 2.0, 3.0]))
    with pytest.raises(RuntimeError, match="does not support scalars"):
        F.glu(tensor(1.0))


# Affine maps


@pytest.mark.parametrize("shape", [(3,), (2, 3), (0, 3), (2, 0, 3), (4, 2, 3), (2, 2, 2, 3)])
@pytest.mark.parametrize("with_bias", [True, False])
def test_linear(shape, with_bias):
    rng = np.random.default_rng(0)
    x, weight, bias = rng.normal(size=shape), rng.normal(size=(5, 3)), rng.normal(size=5)
    result = F.linear(tensor(x), tensor(weight), tensor(bias) if with_bias else None)
    np.testing.assert_allclose(
        np.asarray(result.tolist()).reshape(*shape[:-1], 5), x @ weight.T + bias * with_bias
    )


def test_linear_gradients():
    rng = np.random.default_rng(0)
    x, weight, bias = rng.normal(size=(4, 2, 3)), rng.normal(size=(5, 3)), rng.normal(size=5)
    tensors = [tensor(value, requires_grad=True) for value in (x, weight, bias)]
    F.linear(*tensors).sum().backward()
    np.testing.assert_allclose(tensors[0].grad.tolist(), np.broadcast_to(weight.sum(0), x.shape))
    np.testing.assert_allclose(tensors[1].grad.tolist(), np.broadcast_to(x.sum((0, 1)), weight.shape))
    assert tensors[2].grad.tolist() == [8.0] * 5


def test_linear_with_a_vector_weight():
    assert F.linear(tensor([[1.0, 2.0]]), tensor([3.0, 4.0])).tolist() == [11.0]
    assert F.linear(tensor([1.0, 2.0]), tensor([3.0, 4.0])).item() == 11.0


def test_linear_faults():
    with pytest.raises(TypeError, match=r"argument 'input' \(position 1\) must be Tensor, not int"):
        F.linear(3, tensor([[1.0]]))
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        nn.Linear(3, 2)(tl.zeros(1, 4))
    with pytest.raises(RuntimeError, match="at least 1D, but they are 0D and 2D"):
        F.linear(tensor(1.0), tensor([[1.0]]))


def test_bilinear():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 5))
    layer = nn.Bilinear(4, 5, 6, dtype=tl.float64)
    weight, bias = np.array(layer.weight.tolist()), np.array(layer.bias.tolist())
    expected = np.einsum("abi,kij,abj->abk", left, weight, right) + bias
    np.testing.assert_allclose(layer(tensor(left), tensor(right)).tolist(), expected)
    with pytest.raises(RuntimeError, match="batch dimensions do not match"):
        layer(tensor(left), tensor(right[:1]))
    with pytest.raises(RuntimeError, match="does not match inputs with 5 and 4 features"):
        layer(tensor(right), tensor(left))
    with pytest.raises(ValueError, match="in1_features must be > 0, but got 0"):
        nn.Bilinear(0, 1, 1)


def test_flatten_and_unflatten():
    x = tl.zeros(2, 3, 4, 5)
    assert nn.Flatten()(x).shape == (2, 60)
    assert nn.Flatten(2, 3)(x).shape == (2, 3, 20)
    assert repr(nn.Flatten()) == "Flatten(start_dim=1, end_dim=-1)"
    assert nn.Unflatten(3, (5, -1))(x).shape == (2, 3, 4, 5, 1)
    with pytest.raises(IndexError):
        nn.Unflatten(4, (1, 1))(x)
    with pytest.raises(RuntimeError):
        nn.Unflatten(1, (2, 2))(x)
    with pytest.raises(TypeError, match="must be a tuple of ints, but found type int"):
        nn.Unflatten(1, 3)
    with pytest.raises(TypeError, match="found element of type float at pos 1"):
        nn.Unflatten(1, (3, 1.0))


def test_unflatten_by_name():
    x = tl.ones(2, 12, names=("N", "features"))
    result = nn.Unflatten("features", (("C", 3), ("H", -1)))(x)
    assert result.names == ("N", "C", "H") and result.shape == (2, 3, 4)
    for sizes in (3, (3, 4), (("C", "H"),), ((3, 4),)):
        with pytest.raises(TypeError, match="unflattened_size must be a tuple of tuples"):
            nn.Unflatten("features", sizes)
    with pytest.raises(TypeError, match="dim must be an int or a str"):
        nn.Unflatten(1.5, (3, 4))


def test_one_hot():
    classes = [[0, 2], [1, 0]]
    assert F.one_hot(tl.tensor(classes)).tolist() == np.eye(3, dtype=int)[classes].tolist()
    assert F.one_hot(tl.tensor(1), 4).tolist() == [0, 1, 0, 0]
    assert F.one_hot(tl.zeros(0, dtype=tl.int64), 4).shape == (0, 4)


@pytest.mark.parametrize(
    ("values", "count", "message"),
    [
        ([1.0], -1, "only applicable to index tensor"),
        ([-1], -1, "must be non-negative"),
        ([2], 2, "must be smaller than num_classes"),
        ([2], 0, "num_classes should be positive"),
    ],
)
def test_one_hot_faults(values, count, message):
    with pytest.raises(RuntimeError, match=message):
        F.one_hot(tl.tensor(values), count)


def test_one_hot_of_nothing():
    with pytest.raises(RuntimeError, match="Can not infer total number of classes from empty tensor"):
        F.one_hot(tl.zeros(0, dtype=tl.int64))


@pytest.mark.parametrize("order", [tl.contiguous_format, tl.channels_last])
def test_unpooling_of_a_batch_of_examples(order):
    vmap = pytest.importorskip("tl_autograd.func").vmap
    x = tl.arange(3 * 2 * 4 * 6 * 6.0).remainder(7).view(3, 2, 4, 6, 6)
    examples = [e.contiguous(memory_format=order) for e in x]

    def there_and_back(e):
        return F.max_unpool2d(*F.max_pool2d(e, 2, return_indices=True), 2)

    expected = tl.stack([there_and_back(e) for e in examples])
    tl.testing.assert_close(vmap(there_and_back)(tl.stack(examples)), expected)
    assert there_and_back(examples[0]).is_contiguous(memory_format=order)
