"""Integers and floats of quantized layers against checksums that PyTorch 2.13 gave for the same inputs."""

import zlib

import numpy as np
import pytest

import tl_core as tl
import tl_quantization as tq
from tl_nn import functional as F
from tl_quantization.creation import _make_per_tensor_quantized_tensor
from tl_quantization.nn import quantized as nnq
from tl_quantization.nn.quantized import dynamic


def series(*shape, a=37, b=11, m=101):
    numbers = (np.arange(np.prod(shape)) * a + b) % m - m // 2
    return tl.tensor((numbers.reshape(shape).astype(np.float32) / 20).tolist())


def checksum(tensor):
    return zlib.crc32(np.ascontiguousarray(tensor.numpy()).tobytes())


def weight(*shape):
    w = series(*shape, a=53, m=97)
    scales = (w.abs().flatten(1).amax(1) / 127).double()
    return tq.quantize_per_channel(w, scales, tl.zeros(shape[0], dtype=tl.int64), 0, tq.qint8)


def quantized(x, scale=0.03, zero_point=61):
    return tq.quantize_per_tensor(x, scale, zero_point, tq.quint8)


def test_static_linear():
    layer = nnq.Linear(70, 40)
    layer.set_weight_bias(weight(40, 70), series(40, m=29))
    layer.scale, layer.zero_point = 0.7, 60
    assert checksum(layer(quantized(series(9, 70))).int_repr()) == 2205417639


def test_dynamic_linear():
    layer = dynamic.Linear(70, 40)
    layer.set_weight_bias(weight(40, 70), series(40, m=29))
    assert checksum(layer(series(9, 70))) == 3113267330


def test_convolution():
    layer = nnq.Conv2d(5, 8, 3, 2, 1)
    layer.set_weight_bias(weight(8, 5, 3, 3), series(8, m=29))
    layer.scale, layer.zero_point = 0.5, 70
    assert checksum(layer(quantized(series(2, 5, 9, 8))).int_repr()) == 1214096876


@pytest.mark.parametrize(("name", "want"), [("add", 2886392798), ("mul", 3817468984)])
def test_sums_and_products(name, want):
    module = nnq.QFunctional()
    module.scale, module.zero_point = 0.07, 33
    x, y = quantized(series(1000), 0.05, 100), quantized(series(1000, a=91, m=89), 0.03, 120)
    assert checksum(getattr(module, name)(x, y).int_repr()) == want


def test_bilinear_interpolation():
    x = quantized(series(1, 2, 7, 9), 0.05, 100)
    y = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
    assert checksum(y.int_repr()) == 4116188418


@pytest.mark.parametrize(
    ("channels_last", "align_corners", "want", "want_of_factors"),
    [(False, False, 1742664650, 2734835326), (False, True, 1875621124, 2629561585),
     (True, False, 1742664650, 3762291292), (True, True, 1875621124, 2629561585)],
)  # fmt: skip
def test_bilinear_interpolation_of_bytes(channels_last, align_corners, want, want_of_factors):
    integers = tl.tensor(((np.arange(2 * 20 * 7 * 6) * 7919 + 13) % 256).astype(np.uint8)).reshape(
        2, 20, 7, 6
    )
    x = _make_per_tensor_quantized_tensor(integers, 0.1, 117)
    if channels_last:
        x = x.contiguous(memory_format=tl.channels_last)
    for options, number in (({"size": (19, 23)}, want), ({"scale_factor": (1.7, 2.3)}, want_of_factors)):
        y = F.interpolate(x, **options, mode="bilinear", align_corners=align_corners)
        assert checksum(y.int_repr()) == number
        assert y.is_contiguous(memory_format=tl.channels_last) is channels_last
