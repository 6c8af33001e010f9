"""Normalization layers."""

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
from tl_nn.optim.swa_utils import update_bn

BATCH = [
    (nn.BatchNorm1d, (6, 3)),
    (nn.BatchNorm1d, (4, 3, 5)),
    (nn.BatchNorm2d, (4, 3, 2, 2)),
    (nn.BatchNorm3d, (2, 3, 2, 2, 2)),
]
INSTANCE = [(nn.InstanceNorm1d, 1), (nn.InstanceNorm2d, 2), (nn.InstanceNorm3d, 3)]


def sample(shape):
    values = np.random.default_rng(1).normal(2.0, 3.0, size=shape)
    return values, tl.tensor(values.tolist())


def standard(values, axes, eps=1e-5):
    return (values - values.mean(axes, keepdims=True)) / np.sqrt(values.var(axes, keepdims=True) + eps)


@pytest.mark.parametrize(("kind", "shape"), BATCH)
def test_batch_norm(kind, shape):
    values, x = sample(shape)
    axes = (0, *range(2, len(shape)))
    norm = kind(3)
    np.testing.assert_allclose(norm(x).tolist(), standard(values, axes), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(norm.running_mean.tolist(), 0.1 * values.mean(axes), rtol=1e-4)
    np.testing.assert_allclose(norm.running_var.tolist(), 0.9 + 0.1 * values.var(axes, ddof=1), rtol=1e-4)
    assert norm.num_batches_tracked.item() == 1
    norm.eval()
    column = [1, 3, *(1,) * (len(shape) - 2)]
    mean, variance = (
        np.array(each.tolist()).reshape(column) for each in (norm.running_mean, norm.running_var)
    )
    np.testing.assert_allclose(
        norm(x).tolist(), (values - mean) / np.sqrt(variance + 1e-5), rtol=1e-4, atol=1e-5
    )
    assert norm.num_batches_tracked.item() == 1


def test_batch_norm_without_momentum_is_a_mean_over_batches():
    norm = nn.BatchNorm1d(1, momentum=None)
    for value in (1.0, 5.0, 9.0):
        norm(tl.tensor([[value - 1], [value + 1]]))
    np.testing.assert_allclose(norm.running_mean.tolist(), [5.0], rtol=1e-6)
    norm.reset_running_stats()
    assert norm.running_mean.item() == 0.0 and norm.num_batches_tracked.item() == 0


def test_batch_norm_without_running_statistics():
    values, x = sample((5, 3))
    norm = nn.BatchNorm1d(3, affine=False, track_running_stats=False).eval()
    np.testing.assert_allclose(norm(x).tolist(), standard(values, 0), rtol=1e-3, atol=1e-4)
    assert list(norm.state_dict()) == []


def test_batch_norm_refuses_other_inputs():
    with pytest.raises(ValueError, match=r"expected 4D input \(got 3D input\)"):
        nn.BatchNorm2d(3)(tl.zeros(1, 3, 2))
    with pytest.raises(ValueError, match=r"expected 2D or 3D input \(got 4D input\)"):
        nn.BatchNorm1d(3)(tl.zeros(1, 3, 2, 2))
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        nn.BatchNorm1d(3)(tl.zeros(1, 3))


def test_batch_norm_loads_what_old_versions_saved():
    norm, old = nn.BatchNorm1d(2), nn.BatchNorm1d(2).state_dict()
    del old["num_batches_tracked"]
    old._metadata[""]["version"] = 1
    norm.load_state_dict(old)
    with pytest.raises(RuntimeError, match="Missing key"):
        old._metadata[""]["version"] = 2
        norm.load_state_dict(old)


def test_synchronized_batch_norm():
    model = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.BatchNorm1d(3, eps=0.5)))
    norm = model[1][0]
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert converted is model and type(model[1][0]) is nn.SyncBatchNorm
    assert model[1][0].weight is norm.weight and model[1][0].eps == 0.5
    _, x = sample((5, 3))
    np.testing.assert_allclose(model[1][0](x).tolist(), norm(x).tolist())
    with pytest.raises(ValueError, match="at least 2D input"):
        model[1][0](tl.zeros(3))


@pytest.mark.parametrize(("kind", "spatial"), INSTANCE)
def test_instance_norm(kind, spatial):
    values, x = sample((2, 3, *(4,) * spatial))
    axes = tuple(range(2, 2 + spatial))
    expected = standard(values, axes)
    norm = kind(3)
    np.testing.assert_allclose(norm(x).tolist(), expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(norm(x[0]).tolist(), expected[0], rtol=1e-3, atol=1e-4)
    assert list(norm.state_dict()) == []
    with pytest.raises(ValueError, match="expected"):
        norm(tl.zeros(*(2,) * (spatial + 3)))
    with pytest.raises(ValueError, match="to match num_features"):
        kind(5, affine=True)(x)
    with pytest.warns(UserWarning, match="does not match num_features"):
        kind(5)(x)


def test_instance_norm_tracks_and_refuses_stale_statistics():
    values, x = sample((2, 3, 4))
    norm = nn.InstanceNorm1d(3, affine=True, track_running_stats=True)
    norm(x)
    np.testing.assert_allclose(norm.running_mean.tolist(), 0.1 * values.mean((0, 2)), rtol=1e-4)
    state = dict(norm.state_dict())
    with pytest.raises(RuntimeError, match="Unexpected running stats buffer"):
        nn.InstanceNorm1d(3, affine=True).load_state_dict(state)


@pytest.mark.parametrize(
    "name",
    ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"],
)
def test_lazy_norms(name):
    lazy, plain = getattr(nn, f"Lazy{name}")(), getattr(nn, name)
    x = sample((4, 3, *(2,) * int(name[-2])))[1]
    lazy.load_state_dict(lazy.state_dict())
    out = lazy(x)
    assert type(lazy) is plain and lazy.num_features == 3 and lazy.affine
    assert out.tolist() == plain(3, affine=True, track_running_stats=True)(x).tolist()


def test_layer_norm():
    values, x = sample((4, 3, 5))
    norm = nn.LayerNorm((3, 5))
    np.testing.assert_allclose(norm(x).tolist(), standard(values, (1, 2)), rtol=1e-3, atol=1e-4)
    assert tuple(norm.weight.shape) == (3, 5) and norm.bias is not None
    assert (
        nn.LayerNorm(5, bias=False).bias is None and nn.LayerNorm(5, elementwise_affine=False).weight is None
    )
    assert repr(norm) == "LayerNorm((3, 5), eps=1e-05, elementwise_affine=True)"


def test_rms_norm():
    values, x = sample((4, 5))
    expected = values / np.sqrt((values**2).mean(-1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(nn.RMSNorm(5, eps=1e-3)(x).tolist(), expected, rtol=1e-4)


def test_group_norm():
    values, x = sample((2, 6, 4))
    expected = standard(values.reshape(2, 3, 8), 2).reshape(2, 6, 4)
    np.testing.assert_allclose(nn.GroupNorm(3, 6)(x).tolist(), expected, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="num_channels must be divisible by num_groups"):
        nn.GroupNorm(4, 6)
    with pytest.raises(ValueError, match="num_groups must be positive"):
        nn.GroupNorm(0, 6)


def test_update_bn():
    model = nn.Sequential(nn.BatchNorm1d(1), nn.Dropout(0.5)).eval()
    data = [tl.tensor([[0.0], [2.0]]), [tl.tensor([[4.0], [6.0]]), "label"]]
    update_bn(data, model)
    assert model[0].running_mean.item() == pytest.approx(3.0)
    assert model[0].momentum == 0.1 and not model.training
    update_bn(data, nn.Linear(1, 1))


@pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16, tl.float32, tl.float64])
@pytest.mark.parametrize("of_input", [None, tl.float32])
@pytest.mark.parametrize("rows", [4, 0])
@pytest.mark.parametrize(
    "make",
    [lambda: nn.BatchNorm1d(6), lambda: nn.BatchNorm1d(6).eval(), lambda: nn.GroupNorm(2, 6),
     lambda: nn.LayerNorm(5), lambda: nn.InstanceNorm1d(6, affine=True), lambda: nn.RMSNorm(5)],
    ids=["batch", "batch, fixed", "group", "layer", "instance", "rms"],
)  # fmt: skip
def test_gradients_of_parameters_have_their_type(make, dtype, of_input, rows):
    norm = make().to(dtype)
    if of_input is not None and dtype in (tl.float64, tl.float16):
        pytest.skip("halves and single precision mix")
    if rows == 0 and isinstance(norm, nn.BatchNorm1d) and norm.training:
        pytest.skip("no statistics of nothing")
    x = tl.ones(rows, 6, 5, dtype=of_input or dtype, requires_grad=True)
    try:
        y = norm(x)
    except RuntimeError:
        if of_input is None:
            raise
        pytest.skip("types that don't mix")
    y.sum().backward()
    assert x.grad.dtype is x.dtype
    for parameter in norm.parameters():
        assert parameter.grad.dtype is dtype and parameter.grad.shape == parameter.shape
