"""Functional forms of pooling, images and convolutions, against loops of numpy."""

import math

import numpy as np
import pytest

import tl_core as tl
import tl_nn.functional as F
from tl_nn import grad

VOLUME = np.random.default_rng(0).normal(size=(2, 3, 5, 4, 6))
LINE = np.random.default_rng(1).normal(size=(2, 3, 7))


def tensor(x):
    return tl.tensor(np.ascontiguousarray(x))


def bins(size, count):
    return [slice(math.floor(i * size / count), math.ceil((i + 1) * size / count)) for i in range(count)]


def boxes(x, reduce, windows):
    """The reduction of each box of the last three dimensions."""
    return np.array(
        [
            [[reduce(x[..., a, b, c], (-3, -2, -1)) for c in windows[2]] for b in windows[1]]
            for a in windows[0]
        ]
    ).transpose(3, 4, 0, 1, 2)


def strided(sizes, extent):
    return [[slice(i, i + extent) for i in range(0, size - extent + 1, extent)] for size in sizes]


def close(result, expected):
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_adaptive_pooling_of_lines():
    windows = bins(7, 3)
    means = np.stack([LINE[..., w].mean(-1) for w in windows], -1)
    maxima = np.stack([LINE[..., w].max(-1) for w in windows], -1)
    where = np.stack([LINE[..., w].argmax(-1) + w.start for w in windows], -1)
    close(F.adaptive_avg_pool1d(tensor(LINE), 3), means)
    close(F.adaptive_max_pool1d(tensor(LINE), 3), maxima)
    values, indices = F.adaptive_max_pool1d_with_indices(tensor(LINE), 3)
    close(values, maxima)
    assert indices.tolist() == where.tolist()


def test_adaptive_pooling_of_volumes():
    windows = [bins(n, k) for n, k in zip((5, 4, 6), (2, 4, 3), strict=True)]
    close(F.adaptive_avg_pool3d(tensor(VOLUME), (2, None, 3)), boxes(VOLUME, np.mean, windows))
    close(F.adaptive_max_pool3d(tensor(VOLUME), (2, None, 3)), boxes(VOLUME, np.max, windows))
    values, indices = F.adaptive_max_pool3d_with_indices(tensor(VOLUME), (2, None, 3))
    flat = VOLUME.reshape(2, 3, -1)
    picked = np.take_along_axis(flat, indices.numpy().reshape(2, 3, -1), -1).reshape(values.shape)
    close(values, picked)
    plane, positions = F.adaptive_max_pool2d_with_indices(tl.arange(8.0).view(1, 2, 4), (1, 2))
    assert plane.tolist() == [[[5, 7]]] and positions.tolist() == [[[5, 7]]]


def test_pooling_of_volumes():
    windows = strided((5, 4, 6), 2)
    close(F.avg_pool3d(tensor(VOLUME), 2), boxes(VOLUME, np.mean, windows))
    close(F.max_pool3d(tensor(VOLUME), 2), boxes(VOLUME, np.max, windows))
    positive = np.abs(VOLUME)
    cubes = boxes(positive**3, np.sum, windows) ** (1 / 3)
    close(F.lp_pool3d(tensor(positive), 3, 2), cubes)


def test_pooling_and_back():
    values, indices = F.max_pool3d_with_indices(tensor(VOLUME), 2, 2)
    back = F.max_unpool3d(values, indices, 2, output_size=VOLUME.shape[2:]).numpy()
    assert np.count_nonzero(back) == values.numel()
    assert np.array_equal(back[back != 0], VOLUME[back != 0])
    top, where = F.max_pool1d(tl.tensor([[1.0, 4.0, 2.0, 3.0]]), 2, return_indices=True)
    assert F.max_unpool1d(top, where, 2).tolist() == [[0, 4, 0, 3]]
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        F.max_unpool1d(top, where[:, :1], 2)


def test_fractional_pooling():
    samples = tl.full((1, 1, 3), 0.5, dtype=tl.float64)
    volume = tl.arange(125.0, dtype=tl.float64).view(1, 1, 5, 5, 5)
    pooled, indices = F.fractional_max_pool3d_with_indices(volume, 2, output_size=2, _random_samples=samples)
    assert pooled.flatten().tolist() == [float(i) for i in indices.flatten().tolist()]
    assert pooled.flatten()[-1].item() == 124
    assert F.fractional_max_pool3d(volume, 2, output_size=2, _random_samples=samples).equal(pooled)
    plane = tl.arange(25.0).view(1, 1, 5, 5)
    values, positions = F.fractional_max_pool2d_with_indices(plane, 2, output_ratio=0.5)
    assert values.shape == (1, 1, 2, 2) and values.flatten().tolist() == positions.flatten().tolist()


def test_channels():
    x = np.arange(2 * 12 * 3 * 5.0).reshape(2, 12, 3, 5)
    shuffled = x.reshape(2, 3, 4, 3, 5).swapaxes(1, 2).reshape(x.shape)
    close(F.channel_shuffle(tensor(x), 3), shuffled)
    close(F.native_channel_shuffle(tensor(x), 3), shuffled)
    wide = x.reshape(2, 3, 2, 2, 3, 5).transpose(0, 1, 4, 2, 5, 3).reshape(2, 3, 6, 10)
    close(F.pixel_shuffle(tensor(x), 2), wide)
    close(F.pixel_unshuffle(tensor(wide), 2), x)
    with pytest.raises(RuntimeError):
        F.pixel_shuffle(tensor(x), 5)


def test_upsampling():
    x = np.arange(12.0).reshape(1, 1, 3, 4)
    repeated = x.repeat(2, 2).repeat(2, 3)
    with pytest.warns(UserWarning, match="interpolate"):
        close(F.upsample_nearest(tensor(x), scale_factor=2), repeated)
    with pytest.warns(UserWarning, match="interpolate"):
        close(F.upsample(tensor(x), scale_factor=2), repeated)
    line = np.interp(np.linspace(0, 3, 7), range(4), x[0, 0, 0])
    with pytest.warns(UserWarning, match="interpolate"):
        close(F.upsample_bilinear(tensor(x), size=(3, 7))[0, 0, 0], line)


def test_convolution_over_time():
    x, weight, bias = (
        np.random.default_rng(i).normal(size=s) for i, s in enumerate([(5, 2, 3), (3, 3, 4), (4,)])
    )
    padded = np.pad(x, [(1, 1), (0, 0), (0, 0)])
    expected = np.stack([sum(padded[t + k] @ weight[k] for k in range(3)) + bias for t in range(5)])
    close(F.conv_tbc(tensor(x), tensor(weight), tensor(bias), 1), expected)
    with pytest.raises(RuntimeError, match="Bias must be 1-D"):
        F.conv_tbc(tensor(x), tensor(weight), tensor(weight), 1)


FORMS = [
    (F.conv1d, grad.conv1d_input, grad.conv1d_weight),
    (F.conv2d, grad.conv2d_input, grad.conv2d_weight),
    (F.conv3d, grad.conv3d_input, grad.conv3d_weight),
]


@pytest.mark.parametrize(("convolution", "by_input", "by_weight"), FORMS)
def test_gradients_of_convolutions(convolution, by_input, by_weight):
    """The products <g, conv(x, w)> are linear in x and in w, so the gradients are the values at the unit tensors."""
    dims, options = int(convolution.__name__[4]), {"stride": 2, "padding": 1}
    rng = np.random.default_rng(dims)
    x, w = tensor(rng.normal(size=(1, 2, *[4] * dims))), tensor(rng.normal(size=(2, 2, *[3] * dims)))
    g = tensor(rng.normal(size=tuple(convolution(x, w, **options).shape)))

    def products(of, shape):
        units = tl.eye(math.prod(shape), dtype=tl.float64)
        return np.array([(of(unit.view(shape)) * g).sum().item() for unit in units]).reshape(shape)

    close(
        by_input(x.shape, w, g, **options), products(lambda u: convolution(u, w, **options), tuple(x.shape))
    )
    close(
        by_weight(x, w.shape, g, **options), products(lambda u: convolution(x, u, **options), tuple(w.shape))
    )


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (F.relu_, lambda x: np.maximum(x, 0)),
        (F.celu_, lambda x: np.where(x > 0, x, np.expm1(x))),
        (F.elu_, lambda x: np.where(x > 0, x, np.expm1(x))),
        (F.hardtanh_, lambda x: np.clip(x, -1, 1)),
        (F.leaky_relu_, lambda x: np.where(x > 0, x, 0.01 * x)),
        (F.rrelu_, lambda x: np.where(x > 0, x, x * 11 / 48)),
        (F.selu_, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))),
    ],
)
def test_activations_in_place(function, reference):
    x = np.linspace(-3, 3, 13)
    t = tensor(x)
    assert function(t) is t
    close(t, reference(x))


def test_softmin():
    x = np.array([[0.0, 1.0], [3.0, -1.0]])
    weights = np.exp(-x)
    close(F.softmin(tensor(x), 1), weights / weights.sum(1, keepdims=True))
    assert F.softmin(tensor(x), 0, dtype=tl.float32).dtype is tl.float32


def test_whole_channels_drop():
    tl.manual_seed(0)
    result = F.dropout3d(tl.ones(4, 8, 2, 2, 2), 0.5).flatten(2)
    assert set(result.flatten().tolist()) == {0.0, 2.0} and result.amax(-1).equal(result.amin(-1))
    x = tl.ones(4, 8, 2, 2, 2)
    assert F.dropout3d(x, 0.5, training=False).equal(x)
