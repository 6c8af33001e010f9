"""Dropout: which elements fall, and how the others are scaled."""

import pytest

import tl_core as tl
import tl_nn as nn
import tl_nn.functional as F


@pytest.fixture(autouse=True)
def seed():
    tl.manual_seed(0)


def test_elements_are_dropped_or_scaled():
    result = F.dropout(tl.ones(100, 100), 0.2)
    assert set(result.flatten().tolist()) == {0.0, 1.25}
    share = (result == 0).sum().item() / 10_000
    assert share == pytest.approx(0.2, abs=0.02)


def test_gradient_follows_the_mask():
    x = tl.ones(50, requires_grad=True)
    result = nn.Dropout(0.5)(x)
    result.sum().backward()
    assert x.grad.tolist() == result.tolist()


def test_the_seed_decides():
    x = tl.ones(20)
    first = F.dropout(x)
    tl.manual_seed(0)
    assert F.dropout(x).tolist() == first.tolist()
    assert F.dropout(x).tolist() != first.tolist()


def test_mask_is_a_draw_of_bernoulli():
    result = F.dropout(tl.ones(40), 0.3)
    tl.manual_seed(0)
    mask = tl.empty(40).bernoulli_(0.7)
    assert (result != 0).tolist() == (mask == 1).tolist()


@pytest.mark.parametrize("function", [F.dropout, F.alpha_dropout, F.feature_alpha_dropout, F.dropout1d])
def test_off_gives_the_input_back(function):
    x = tl.ones(2, 3, 4)
    assert function(x, 0.5, training=False) is x
    assert function(x, 0.0, training=True) is x


@pytest.mark.parametrize("p", [-0.1, 1.1])
def test_bad_probability(p):
    with pytest.raises(ValueError, match=f"has to be between 0 and 1, but got {p}"):
        F.dropout(tl.ones(2), p)
    with pytest.raises(ValueError, match=f"has to be between 0 and 1, but got {p}"):
        nn.Dropout(p)


def test_everything_dropped():
    assert F.dropout(tl.ones(3), 1.0).tolist() == [0.0] * 3
    x = tl.ones(3)
    assert F.dropout(x, 1.0, inplace=True) is x and x.tolist() == [0.0] * 3
    assert F.dropout(tl.ones(0, 3)).shape == (0, 3)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Dropout1d, (2, 30, 4)),
        (nn.Dropout1d, (30, 4)),
        (nn.Dropout2d, (2, 30, 4, 3)),
        (nn.Dropout3d, (2, 30, 4, 3, 2)),
        (nn.Dropout3d, (30, 4, 3, 2)),
    ],
)
def test_whole_channels(layer, shape):
    result = layer(0.5)(tl.ones(*shape))
    batched = len(shape) == {nn.Dropout1d: 3, nn.Dropout2d: 4, nn.Dropout3d: 5}[layer]
    channels = result.reshape(-1, tl.ones(*shape[2 if batched else 1 :]).numel())
    assert all(row in ([0.0] * len(row), [2.0] * len(row)) for row in channels.tolist())
    assert len({row[0] for row in channels.tolist()}) == 2


def test_ranks():
    with pytest.raises(RuntimeError, match="dropout1d: Expected 2D or 3D input, but received a 1D input"):
        F.dropout1d(tl.ones(2))
    with pytest.warns(UserWarning, match="Received a 2-D input to dropout2d"):
        F.dropout2d(tl.ones(2, 3))
    with pytest.warns(UserWarning, match="assuming that channel-wise 1D dropout"):
        F.dropout2d(tl.ones(2, 3, 4))


def test_alpha_dropout_keeps_mean_and_variance():
    x = tl.randn(400, 500)
    result = nn.AlphaDropout(0.3)(x)
    assert result.mean().item() == pytest.approx(0.0, abs=0.02)
    assert result.var().item() == pytest.approx(1.0, abs=0.02)
    channels = nn.FeatureAlphaDropout(0.5)(tl.zeros(4, 20, 5))
    assert all(len(set(row)) == 1 for row in channels.reshape(-1, 5).tolist())


def test_printing():
    assert repr(nn.Dropout(0.25, inplace=True)) == "Dropout(p=0.25, inplace=True)"
