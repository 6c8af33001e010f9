"""Parameters computed from others, and normalized weights."""

import copy
import pickle

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
from tl_nn.utils import parametrizations, parametrize


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2


class Invertible(Doubled):
    def right_inverse(self, x):
        return x / 2


class Split(nn.Module):
    def forward(self, a, b):
        return a + b

    def right_inverse(self, x):
        return x * 0.25, x * 0.75


def weight_of(layer):
    return np.array(layer.weight.tolist())


def test_registering():
    layer = nn.Linear(2, 3)
    before = weight_of(layer)
    assert parametrize.register_parametrization(layer, "weight", Doubled()) is layer
    np.testing.assert_allclose(weight_of(layer), 2 * before)
    assert isinstance(layer, nn.Linear) and type(layer).__name__ == "ParametrizedLinear"
    assert sorted(name for name, _ in layer.named_parameters()) == [
        "bias",
        "parametrizations.weight.original",
    ]
    assert parametrize.is_parametrized(layer, "weight") and not parametrize.is_parametrized(layer, "bias")
    assert parametrize.type_before_parametrizations(layer) is nn.Linear


def test_gradients_reach_the_original():
    layer = parametrize.register_parametrization(nn.Linear(1, 1, bias=False), "weight", Doubled())
    layer(tl.tensor([[3.0]])).sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[6.0]]


def test_several_are_applied_in_turn():
    layer = nn.Linear(2, 2)
    before = weight_of(layer)
    for _ in range(2):
        parametrize.register_parametrization(layer, "weight", Invertible())
    np.testing.assert_allclose(
        weight_of(layer), 2 * before
    )  # the first takes its inverse, the second doubles
    layer.weight = tl.ones(2, 2)
    assert layer.parametrizations.weight.original.tolist() == [[0.25] * 2] * 2
    assert layer.weight.tolist() == [[1.0] * 2] * 2


def test_several_originals():
    layer = nn.Linear(2, 2)
    before = weight_of(layer)
    parametrize.register_parametrization(layer, "weight", Split())
    np.testing.assert_allclose(weight_of(layer), before)
    assert {"parametrizations.weight.original0", "parametrizations.weight.original1"} <= set(
        layer.state_dict()
    )
    with pytest.raises(ValueError, match="Cannot leave unparametrized"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(layer, "weight")
    np.testing.assert_allclose(weight_of(layer), before)


@pytest.mark.parametrize("leave", [True, False])
def test_removing(leave):
    layer = nn.Linear(2, 2)
    before = weight_of(layer)
    parametrize.register_parametrization(layer, "weight", Doubled())
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=leave)
    assert type(layer) is nn.Linear and not hasattr(layer, "parametrizations")
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.is_leaf
    np.testing.assert_allclose(weight_of(layer), before * (2 if leave else 1))


def test_buffers():
    layer = nn.Module()
    layer.register_buffer("scale", tl.ones(2))
    parametrize.register_parametrization(layer, "scale", Doubled())
    assert layer.scale.tolist() == [2.0, 2.0] and list(layer.state_dict()) == [
        "parametrizations.scale.original"
    ]
    parametrize.remove_parametrizations(layer, "scale")
    assert list(layer._buffers) == ["scale"]


def test_cached():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Doubled())
    assert layer.weight is not layer.weight
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight


def test_copies_and_pickles():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Invertible())
    twin = copy.deepcopy(layer)
    np.testing.assert_allclose(weight_of(twin), weight_of(layer))
    twin.weight = tl.zeros(2, 2)
    assert np.abs(weight_of(layer)).max() > 0
    with pytest.raises(RuntimeError, match=r"only supported through state_dict\(\)"):
        pickle.dumps(layer)


def test_transfer():
    source = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Doubled())
    target = parametrize.transfer_parametrizations_and_params(source, nn.Linear(2, 2))
    np.testing.assert_allclose(weight_of(target), weight_of(source))


def test_faults():
    class Wider(nn.Module):
        def forward(self, x):
            return x.double()

    class Longer(nn.Module):
        def forward(self, x):
            return tl.cat([x, x])

    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="does not have a parameter, a buffer"):
        parametrize.register_parametrization(layer, "height", Doubled())
    with pytest.raises(ValueError, match="may not change the dtype"):
        parametrize.register_parametrization(layer, "weight", Wider())
    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(layer, "weight", Longer())
    assert type(layer) is nn.Linear
    parametrize.register_parametrization(layer, "weight", Longer(), unsafe=True)
    assert tuple(layer.weight.shape) == (4, 2)
    with pytest.raises(RuntimeError, match="does not implement right_inverse"):
        layer.weight = tl.ones(4, 2)
    with pytest.raises(ValueError, match="does not have a parametrization on bias"):
        parametrize.remove_parametrizations(layer, "bias")


# Weight normalization


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim):
    layer = nn.Linear(3, 2)
    before = weight_of(layer)
    parametrizations.weight_norm(layer, dim=dim)
    np.testing.assert_allclose(weight_of(layer), before, rtol=1e-5)
    length, direction = (getattr(layer.parametrizations.weight, f"original{n}") for n in range(2))
    axes = None if dim is None else (1 - dim,)
    norms = np.sqrt((before**2).sum(axis=axes, keepdims=dim is not None))
    np.testing.assert_allclose(length.tolist(), norms, rtol=1e-5)
    with tl.no_grad():
        direction.mul_(7.0)
        length.mul_(2.0)
    np.testing.assert_allclose(weight_of(layer), 2 * before, rtol=1e-5)


def test_weight_norm_by_a_hook():
    layer = nn.Linear(3, 2)
    before = weight_of(layer)
    with pytest.warns(FutureWarning, match="deprecated"):
        nn.utils.weight_norm(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight_g", "weight_v"]
    layer(tl.ones(1, 3)).sum().backward()
    assert layer.weight_g.grad is not None
    np.testing.assert_allclose(weight_of(layer), before, rtol=1e-5)
    newer = parametrizations.weight_norm(nn.Linear(3, 2))
    newer.load_state_dict(layer.state_dict())
    np.testing.assert_allclose(weight_of(newer), before, rtol=1e-5)
    with (
        pytest.warns(FutureWarning),
        pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks"),
    ):
        nn.utils.weight_norm(layer, "weight")
    nn.utils.remove_weight_norm(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        nn.utils.remove_weight_norm(layer)


# Spectral normalization


def largest(weight):
    return np.linalg.svd(weight.reshape(weight.shape[0], -1))[1][0]


def test_spectral_norm():
    layer = nn.Linear(5, 4)
    before = weight_of(layer)
    parametrizations.spectral_norm(layer, n_power_iterations=20)
    np.testing.assert_allclose(weight_of(layer), before / largest(before), rtol=1e-3)
    assert {"parametrizations.weight.0._u", "parametrizations.weight.0._v"} <= set(layer.state_dict())
    layer.eval()
    assert layer.weight.tolist() == layer.weight.tolist()
    layer(tl.ones(1, 5)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None


def test_spectral_norm_of_a_transposed_convolution_takes_its_outputs():
    layer = parametrizations.spectral_norm(nn.ConvTranspose1d(3, 5, 2))
    assert tuple(layer.parametrizations.weight[0]._u.shape) == (5,)


def test_spectral_norm_by_a_hook():
    layer = nn.Linear(5, 4)
    before = weight_of(layer)
    nn.utils.spectral_norm(layer, n_power_iterations=50)
    layer(tl.ones(1, 5)).sum().backward()
    np.testing.assert_allclose(weight_of(layer), before / largest(before), rtol=1e-3)
    assert layer.weight_orig.grad is not None
    assert sorted(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    nn.utils.remove_spectral_norm(layer)
    np.testing.assert_allclose(weight_of(layer), before / largest(before), rtol=1e-3)
    with pytest.raises(ValueError, match="n_power_iterations to be positive"):
        nn.utils.spectral_norm(layer, n_power_iterations=0)


def test_orthogonal_faults():
    with pytest.raises(ValueError, match="Expected a matrix or batch of matrices"):
        parametrizations.orthogonal(nn.Linear(2, 2), "bias")
    with pytest.raises(ValueError, match="orthogonal_map has to be one of"):
        parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="rotation")


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_an_orthogonal_weight_stays_orthogonal_in_training(shape, orthogonal_map, trivial):
    tl.manual_seed(0)
    layer = nn.Linear(shape[1], shape[0], bias=False)
    parametrizations.orthogonal(layer, orthogonal_map=orthogonal_map, use_trivialization=trivial)
    target = tl.eye(*shape)
    optimizer = nn.optim.SGD(layer.parameters(), lr=0.05)
    losses = []
    for _ in range(30):
        losses.append(((layer.weight - target) ** 2).sum())
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    weight = np.array(layer.weight.tolist())
    small = weight @ weight.T if shape[0] <= shape[1] else weight.T @ weight
    np.testing.assert_allclose(small, np.eye(min(shape)), atol=1e-5)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley"])
def test_an_orthogonal_matrix_can_be_assigned(orthogonal_map):
    layer = parametrizations.orthogonal(nn.Linear(3, 3), orthogonal_map=orthogonal_map)
    turned = tl.tensor([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    layer.weight = turned
    np.testing.assert_allclose(layer.weight.tolist(), turned.tolist(), atol=1e-6)
