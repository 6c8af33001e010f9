"""Pooling, padding, resampling and rearranging layers."""

import copy

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn


def array(tensor):
    return np.array(tensor.tolist())


def image(*shape):
    values = np.random.default_rng(4).permutation(int(np.prod(shape))).reshape(shape).astype(float)
    return values, tl.tensor(values.tolist())


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pooling_in_blocks(dims):
    values, x = image(2, 3, *(4,) * dims)
    blocks = values.reshape(2, 3, *(2, 2) * dims)
    axes = tuple(range(3, 3 + 2 * dims, 2))
    for name, expected in (("Max", blocks.max(axes)), ("Avg", blocks.mean(axes))):
        np.testing.assert_allclose(array(getattr(nn, f"{name}Pool{dims}d")(2)(x)), expected)
        np.testing.assert_allclose(array(getattr(nn, f"Adaptive{name}Pool{dims}d")(2)(x)), expected)
    norms = (blocks**3).sum(axes) ** (1 / 3)
    np.testing.assert_allclose(array(getattr(nn, f"LPPool{dims}d")(3, 2)(x)), norms, rtol=1e-5)
    single = getattr(nn, f"MaxPool{dims}d")(2)(x[0])
    np.testing.assert_allclose(array(single), blocks.max(axes)[0])


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_what_was_taken_goes_back(dims):
    values, x = image(2, 3, *(4,) * dims)
    choice, indices = getattr(nn, f"MaxPool{dims}d")(2, return_indices=True)(x)
    back = array(getattr(nn, f"MaxUnpool{dims}d")(2)(choice, indices))
    value = back != 0
    np.testing.assert_array_equal(back[value], values[value])
    assert value.sum() in (choice.numel(), choice.numel() - 1)  # one of them may be 0


def test_printing_of_pools():
    assert repr(nn.MaxPool2d(3, 2, padding=1)) == (
        "MaxPool2d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=False)"
    )
    assert repr(nn.AvgPool1d(2)) == "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"
    assert repr(nn.AdaptiveAvgPool2d((1, None))) == "AdaptiveAvgPool2d(output_size=(1, None))"


def test_fractional_pools():
    _, x = image(1, 2, 9, 9)
    pool = nn.FractionalMaxPool2d(2, output_ratio=0.5, return_indices=True)
    out, indices = pool(x)
    assert tuple(out.shape) == (1, 2, 4, 4)
    np.testing.assert_array_equal(array(x.flatten(2).gather(2, indices.flatten(2))), array(out.flatten(2)))
    with pytest.raises(ValueError, match="requires specifying either an output size, or a pooling ratio"):
        nn.FractionalMaxPool2d(2)
    with pytest.raises(ValueError, match="only one of output_size and output_ratio"):
        nn.FractionalMaxPool3d(2, output_size=2, output_ratio=0.5)
    with pytest.raises(ValueError, match="output_ratio must be between 0 and 1"):
        nn.FractionalMaxPool2d(2, output_ratio=1.5)


PADS = {
    "Constant": "constant",
    "Zero": "constant",
    "Reflection": "reflect",
    "Replication": "edge",
    "Circular": "wrap",
}


@pytest.mark.parametrize("kind", PADS)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_padding(kind, dims):
    values, x = image(2, 3, *(4,) * dims)
    extra = (7.0,) if kind == "Constant" else ()
    sides = [(1, 2), (2, 0), (1, 1)][:dims]
    layer = getattr(nn, f"{kind}Pad{dims}d")([side for pair in sides for side in pair], *extra)
    options = {"constant_values": 7.0} if kind == "Constant" else {}
    expected = np.pad(values, [(0, 0), (0, 0), *sides[::-1]], mode=PADS[kind], **options)
    np.testing.assert_array_equal(array(layer(x)), expected)
    same = getattr(nn, f"{kind}Pad{dims}d")(1, *extra)
    assert same.padding == (1,) * (2 * dims) and tuple(same(x[0]).shape) == (3, *(6,) * dims)


def test_resampling():
    values, x = image(1, 2, 3, 3)
    np.testing.assert_array_equal(array(nn.Upsample(scale_factor=2)(x)), values.repeat(2, 2).repeat(2, 3))
    np.testing.assert_array_equal(array(nn.UpsamplingNearest2d(size=(6, 3))(x)), values.repeat(2, 2))
    corners = array(nn.UpsamplingBilinear2d(size=(5, 5))(x))
    np.testing.assert_allclose(corners[..., ::2, ::2], values, rtol=1e-5)
    np.testing.assert_allclose(corners[..., 1, ::2], (values[..., 0, :] + values[..., 1, :]) / 2, rtol=1e-5)
    assert repr(nn.Upsample(scale_factor=2)) == "Upsample(scale_factor=2.0, mode='nearest')"
    assert copy.deepcopy(nn.Upsample(size=4))(x).shape == (1, 2, 4, 4)


def test_rearranging():
    values, x = image(1, 8, 2, 3)
    wide = nn.PixelShuffle(2)(x)
    expected = values.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6)
    np.testing.assert_array_equal(array(wide), expected)
    np.testing.assert_array_equal(array(nn.PixelUnshuffle(2)(wide)), values)
    turned = values.reshape(1, 2, 4, 2, 3).swapaxes(1, 2).reshape(1, 8, 2, 3)
    np.testing.assert_array_equal(array(nn.ChannelShuffle(2)(x)), turned)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_convolutions_pad_in_other_ways(mode):
    values, x = image(1, 1, 5, 5)
    layer = nn.Conv2d(1, 1, 3, padding=1, padding_mode=mode, bias=False)
    names = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    padded = np.pad(values, [(0, 0), (0, 0), (1, 1), (1, 1)], mode=names[mode])
    plain = nn.functional.conv2d(tl.tensor(padded.tolist()), layer.weight)
    np.testing.assert_allclose(array(layer(x)), array(plain), rtol=1e-5)


@pytest.mark.parametrize("size", [(1, 1, 2, 1), (1, 1, 3, 2, 1)])
def test_grids_along_one_point(size):
    theta = tl.zeros(1, len(size) - 2, len(size) - 1)
    with pytest.warns(UserWarning, match="See the documentation of affine_grid for details"):
        nn.functional.affine_grid(theta, size, align_corners=True)
    nn.functional.affine_grid(theta, size, align_corners=False)
