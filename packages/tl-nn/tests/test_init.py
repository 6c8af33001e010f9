"""Initialisation: distributions, fans, and what must not change."""

import math

import numpy as np
import pytest
from scipy import stats

import tl_core as tl
import tl_nn as nn
from tl_nn import init


@pytest.fixture(autouse=True)
def seed():
    tl.manual_seed(0)


def sample(function, *args, shape=(200, 100), **options):
    weight = nn.Parameter(tl.empty(*shape))
    assert function(weight, *args, **options) is weight
    assert weight.requires_grad and weight.is_leaf and weight.grad_fn is None
    return np.array(weight.tolist()).ravel()


def fits(values, distribution):
    return stats.kstest(values, distribution.cdf).pvalue > 1e-3


def test_distributions():
    assert fits(sample(init.uniform_, -1.0, 3.0), stats.uniform(-1, 4))
    assert fits(sample(init.normal_, 2.0, 0.5), stats.norm(2, 0.5))
    assert set(sample(init.constant_, 0.25)) == {0.25}
    assert set(sample(init.ones_)) == {1.0} and set(sample(init.zeros_)) == {0.0}


@pytest.mark.parametrize(
    ("mean", "std", "a", "b"),
    [(0, 1, -2, 2), (1, 2, 0.5, 1.5), (0, 0.02, -2, 2), (0, 1, 1.5, 4), (0, 1, -0.2, 0)],
)
def test_truncated_normal(mean, std, a, b):
    values = sample(init.trunc_normal_, mean, std, a, b)
    assert values.min() >= a and values.max() <= b
    assert fits(values, stats.truncnorm((a - mean) / std, (b - mean) / std, mean, std))


def test_truncated_normal_far_from_its_mean_warns():
    with pytest.warns(UserWarning, match="mean is more than 2 std"):
        sample(init.trunc_normal_, 10.0, 1.0, 4.0, 5.0, shape=(2, 2))


@pytest.mark.parametrize(
    ("shape", "fans"), [((3, 5), (5, 3)), ((4, 6, 3), (18, 12)), ((2, 3, 4, 5), (60, 40)), ((3, 0), (0, 3))]
)
def test_fans(shape, fans):
    weight = tl.empty(*shape)
    assert init._calculate_fan_in_and_fan_out(weight) == fans
    assert init._calculate_correct_fan(weight, "fan_in") == fans[0]
    assert init._calculate_correct_fan(weight, "FAN_OUT") == fans[1]


def test_fan_faults():
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        init.xavier_uniform_(tl.empty(3))
    with pytest.raises(ValueError, match="Mode both not supported"):
        init.kaiming_normal_(tl.empty(3, 3), mode="both")


def test_glorot_and_he():
    fan_in, fan_out = 100, 200
    bound = math.sqrt(6 / (fan_in + fan_out))
    assert fits(sample(init.xavier_uniform_, 2.0), stats.uniform(-2 * bound, 4 * bound))
    assert fits(sample(init.xavier_normal_), stats.norm(0, math.sqrt(2 / (fan_in + fan_out))))
    bound = math.sqrt(6 / fan_in)
    assert fits(sample(init.kaiming_uniform_, nonlinearity="relu"), stats.uniform(-bound, 2 * bound))
    assert fits(
        sample(init.kaiming_normal_, mode="fan_out", nonlinearity="linear"), stats.norm(0, fan_out**-0.5)
    )


def test_linear_is_started_as_documented():
    layer = nn.Linear(100, 200)
    for values in (layer.weight, layer.bias):
        assert fits(np.array(values.tolist()).ravel(), stats.uniform(-0.1, 0.2))


def test_the_seed_and_the_order_decide():
    tl.manual_seed(5)
    layer = nn.Linear(4, 3)
    tl.manual_seed(5)
    weight = tl.empty(3, 4).uniform_(-0.5, 0.5)
    bias = tl.empty(3).uniform_(-0.5, 0.5)
    np.testing.assert_allclose(layer.weight.tolist(), weight.tolist(), rtol=1e-6)
    np.testing.assert_allclose(layer.bias.tolist(), bias.tolist(), rtol=1e-6)


def test_generator_is_used():
    before = tl.get_rng_state().tolist()
    first = sample(init.normal_, generator=tl.Generator().manual_seed(3))
    second = sample(init.normal_, generator=tl.Generator().manual_seed(3))
    assert (first == second).all()
    assert tl.get_rng_state().tolist() == before


@pytest.mark.parametrize(
    ("name", "param", "gain"),
    [
        ("linear", None, 1),
        ("conv3d", None, 1),
        ("sigmoid", None, 1),
        ("tanh", None, 5 / 3),
        ("relu", None, math.sqrt(2)),
        ("leaky_relu", None, math.sqrt(2 / (1 + 0.01**2))),
        ("leaky_relu", 0.5, math.sqrt(2 / 1.25)),
        ("selu", None, 0.75),
    ],
)
def test_gains(name, param, gain):
    assert init.calculate_gain(name, param) == pytest.approx(gain)


def test_gain_faults():
    with pytest.raises(ValueError, match="Unsupported nonlinearity cube"):
        init.calculate_gain("cube")
    with pytest.raises(ValueError, match="negative_slope True not a valid number"):
        init.calculate_gain("leaky_relu", True)


def test_eye():
    assert init.eye_(tl.empty(2, 3)).tolist() == np.eye(2, 3).tolist()
    with pytest.raises(ValueError, match="Only tensors with 2 dimensions"):
        init.eye_(tl.empty(2))


@pytest.mark.parametrize(("shape", "groups"), [((3, 2, 3), 1), ((4, 2, 3, 5), 2), ((2, 4, 1, 3, 3), 1)])
def test_dirac(shape, groups):
    weight = np.array(init.dirac_(tl.ones(*shape), groups).tolist())
    expected = np.zeros(shape)
    per_group = shape[0] // groups
    for output in range(shape[0]):
        channel = output % per_group
        if channel < shape[1]:
            expected[(output, channel, *(size // 2 for size in shape[2:]))] = 1
    assert (weight == expected).all()


def test_dirac_faults():
    with pytest.raises(ValueError, match="3, 4, or 5 dimensions"):
        init.dirac_(tl.empty(2, 2))
    with pytest.raises(ValueError, match="dim 0 must be divisible by groups"):
        init.dirac_(tl.empty(3, 2, 2), 2)


def test_sparse():
    weight = init.sparse_(tl.empty(20, 6), 0.33, std=0.5)
    assert (weight == 0).sum(0).tolist() == [7] * 6
    with pytest.raises(ValueError, match="Only tensors with 2 dimensions"):
        init.sparse_(tl.empty(2), 0.1)


def test_orthogonal():
    for shape in ((3, 5), (5, 3), (4, 2, 3)):
        weight = np.array(init.orthogonal_(tl.empty(*shape), 2.0).tolist()).reshape(shape[0], -1)
        small = weight @ weight.T if weight.shape[0] <= weight.shape[1] else weight.T @ weight
        np.testing.assert_allclose(small, 4 * np.eye(min(weight.shape)), atol=1e-5)


def test_orthogonal_needs_a_matrix():
    with pytest.raises(ValueError, match="2 or more dimensions"):
        init.orthogonal_(tl.empty(3))


def test_nothing_to_fill_warns():
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        init.kaiming_uniform_(tl.empty(0, 3))


def test_meta_tensors_are_left_alone():
    for function in (init.uniform_, init.trunc_normal_, init.xavier_normal_, init.zeros_):
        assert function(tl.empty(2, 3, device="meta")).is_meta


def test_old_names_warn():
    with pytest.warns(
        FutureWarning, match="`nn.init.constant` is now deprecated in favor of `nn.init.constant_`"
    ):
        assert init.constant(tl.empty(1), 2.0).item() == 2.0
