"""The memory format of results: channels_last where the strides of an input are in that order, dense or not."""

import pytest

import tl_core as tl
from tl_core._C import _nn as nn

LAST = tl.channels_last


def image(c=3):
    return tl.arange(2 * c * 8 * 8, dtype=tl.float32).reshape(2, c, 8, 8).contiguous(memory_format=LAST)


OPERATORS = {
    "avg_pool2d": lambda x: nn.avg_pool2d(x, 2),
    "max_pool2d": lambda x: tl.max_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: nn.adaptive_avg_pool2d(x, [3, 3]),
    "adaptive_avg_pool2d of one": lambda x: nn.adaptive_avg_pool2d(x, [1, 1]),
    "upsample_nearest2d": lambda x: nn.upsample_nearest2d(x, [5, 5], None),
    "upsample_bilinear2d": lambda x: nn.upsample_bilinear2d(x, [5, 5], False, None),
    "constant_pad_nd": lambda x: tl.constant_pad_nd(x, [1, 1, 1, 1]),
    "conv2d": lambda x: tl.conv2d(x, tl.ones(4, x.size(1), 3, 3)),
    "group_norm": lambda x: tl.group_norm(x, 1),
    "pixel_unshuffle": lambda x: tl.pixel_unshuffle(x, 2),
    "cat": lambda x: tl.cat([x, x], 1),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_results_take_over_the_order_of_strides(name):
    f, x = OPERATORS[name], image()
    expected = f(x.contiguous())
    for source in (x, image()[:, :, ::1, :]):
        result = f(source)
        assert result.is_contiguous(memory_format=LAST)
        assert result.equal(expected)


@pytest.mark.parametrize("name", OPERATORS)
def test_strides_decide_not_density(name):
    wide = tl.zeros(2, 3, 8, 11).contiguous(memory_format=LAST)[:, :, :, :8]
    assert not wide.is_contiguous(memory_format=LAST)
    wide.copy_(image())
    result = OPERATORS[name](wide)
    assert result.is_contiguous(memory_format=LAST)
    assert result.equal(OPERATORS[name](image().contiguous()))


@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "cat"])
def test_a_batch_stride_out_of_order_means_contiguous(name):
    alone = image()[:1][0][None]  # its first stride is that of the channels
    assert alone.stride(0) < alone.stride(2)
    result = OPERATORS[name](alone)
    assert result.is_contiguous()
    assert result.equal(OPERATORS[name](alone.contiguous()))


def test_pixel_shuffle():
    x = image(12)
    assert tl.pixel_shuffle(x, 2).is_contiguous(memory_format=LAST)
    assert tl.pixel_shuffle(x, 2).equal(tl.pixel_shuffle(x.contiguous(), 2))


def test_rrelu_of_a_scalar():
    x = tl.tensor(-2.0)
    assert -2 / 3 <= tl.rrelu(x, 0.125, 1 / 3, True).item() <= -0.25


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_out_that_is_resized_has_the_order_of_the_operands(order):
    x = tl.arange(24.0).reshape(2, 3, 4).permute(order)
    for name, make in {"exp": tl.exp, "add": lambda x, out: tl.add(x, x, out=out)}.items():
        out = make(x, out=tl.empty(0))
        assert out.stride() == x.stride() and tl.equal(out, x.exp() if name == "exp" else x * 2), name
    value = tl.empty(x.shape)
    assert tl.exp(x, out=value).stride() == value.stride()


@pytest.mark.parametrize(
    "f",
    [
        lambda x, out: tl.cat([x, x], 1, out=out),
        lambda x, out: nn.avg_pool2d(x, 2, out=out),
        lambda x, out: nn.upsample_nearest2d(x, [5, 5], None, out=out),
        lambda x, out: nn.upsample_bilinear2d(x, [5, 5], False, None, out=out),
    ],
    ids=["cat", "avg_pool2d", "upsample_nearest2d", "upsample_bilinear2d"],
)
def test_out_that_is_resized_has_the_order_of_the_result(f):
    empty, source = tl.empty(0), tl.empty(0)
    f(image(), empty)
    f(image().contiguous(), source)
    assert empty.is_contiguous(memory_format=LAST) and source.is_contiguous() and tl.equal(empty, source)
    f(image(), source)
    assert source.is_contiguous()  # of the right size: as it was


def test_channel_shuffle_keeps_the_format():
    x = tl.arange(32.0).reshape(2, 4, 2, 2)
    shuffled = tl.channel_shuffle(x.contiguous(memory_format=tl.channels_last), 2)
    assert shuffled.is_contiguous(memory_format=tl.channels_last)
    assert shuffled.equal(tl.channel_shuffle(x, 2)) and tl.channel_shuffle(x, 2).is_contiguous()


def test_channel_shuffle_keeps_the_format_of_volumes():
    x = tl.arange(64.0).reshape(2, 4, 2, 2, 2)
    shuffled = tl.channel_shuffle(x.contiguous(memory_format=tl.channels_last_3d), 2)
    assert shuffled.is_contiguous(memory_format=tl.channels_last_3d)
    assert shuffled.equal(tl.channel_shuffle(x, 2))
