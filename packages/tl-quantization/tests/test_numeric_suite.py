"""The comparison of models, and measures of differences."""

import copy
import math

import pytest

import tl_core
import tl_nn as nn
import tl_quantization as tq
from tl_quantization import utils
from tl_quantization.granularity import (
    AffineQuantizedObserverBase,
    MappingType,
    PerAxis,
    PerBlock,
    PerGroup,
    PerRow,
    PerTensor,
    PerToken,
    get_block_size,
)
from tl_quantization.nn import intrinsic
from tl_quantization.numeric_suite import eager
from tl_quantization.numeric_suite.measures import (
    compute_cosine_similarity,
    compute_normalized_l2_error,
    compute_sqnr,
)


@pytest.fixture
def models():
    tl_core.manual_seed(0)
    model = nn.Sequential(
        tq.QuantStub(), nn.Conv2d(2, 3, 1), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2), tq.DeQuantStub()
    ).eval()
    model.qconfig = tq.get_default_qconfig("x86")
    x = tl_core.randn(4, 2, 2, 2)
    fused = tq.fuse_modules(model, ["1", "2"])
    prepared = tq.prepare(fused)
    prepared(x)
    return fused, tq.convert(prepared), x


def test_weights(models):
    fused, quantized, _ = models
    pairs = eager.compare_weights(fused.state_dict(), quantized.state_dict())
    assert list(pairs) == ["1.weight", "4._packed_params._packed_params"]
    for pair in pairs.values():
        assert pair["quantized"].is_quantized
        step = float(pair["quantized"].q_per_channel_scales().max())
        assert float((pair["float"] - pair["quantized"].dequantize()).abs().max()) <= step / 2 + 1e-6


def test_outputs(models):
    fused, quantized, x = models
    exact = fused[1](x)
    pairs = eager.compare_model_outputs(copy.deepcopy(fused), copy.deepcopy(quantized), x)
    assert list(pairs) == ["0.stats", "1.stats", "4.stats"]  # the stub, the layers
    assert tl_core.equal(pairs["1.stats"]["float"][0], exact)
    assert all(float(compute_sqnr(p["float"][0], p["quantized"][0])) > 25 for p in pairs.values())


def test_stubs(models):
    fused, quantized, x = models
    before = quantized(x)
    pairs = eager.compare_model_stub(fused, quantized, [nn.Linear, intrinsic.ConvReLU2d], x)
    assert list(pairs) == ["1.stats", "4.stats"]
    assert isinstance(quantized[4], eager.Shadow)
    assert tl_core.equal(quantized(x), before)
    for pair in pairs.values():
        assert float(compute_sqnr(pair["float"][0], pair["quantized"][0].dequantize())) > 25


def test_shadows_of_functionals():
    functional = tq.nn.quantized.FloatFunctional()
    integer = tq.nn.quantized.QFunctional()
    integer.scale = 0.05
    shadow = eager.Shadow(integer, functional, eager.ShadowLogger)
    q = tq.quantize_per_tensor(tl_core.ones(3), 0.05, 0, tq.quint8)
    for name, args in (("add", (q, q)), ("mul", (q, q)), ("add_relu", (q, q)), ("add_scalar", (q, 1.0)),
                       ("mul_scalar", (q, 2.0)), ("cat", ([q, q],))):  # fmt: skip
        getattr(shadow, name)(*args)
    values = shadow.logger.stats
    for exact, integers in zip(values["float"], values["quantized"], strict=True):
        assert tl_core.allclose(exact, integers.dequantize(), atol=0.03)


def test_measures():
    x, y = tl_core.tensor([3.0, 4.0]), tl_core.tensor([3.0, 3.5])
    assert float(compute_sqnr(x, y)) == pytest.approx(20 * math.log10(5 / 0.5), rel=1e-5)
    assert float(compute_normalized_l2_error(x, y)) == pytest.approx(0.1, rel=1e-5)
    assert float(compute_cosine_similarity(x, y)) == pytest.approx(23 / (5 * math.hypot(3, 3.5)), rel=1e-5)
    assert compute_sqnr(x, tl_core.ones(3)) is None
    assert len(compute_sqnr((x, x), (y, y))) == 2


def test_block_sizes():
    shape = (4, 6)
    kinds = (PerTensor(), PerAxis(0), PerRow(), PerToken(), PerGroup(2), PerBlock((2, 3)))
    assert [get_block_size(shape, kind) for kind in kinds] == [(4, 6), (1, 6), (1, 6), (1, 6), (1, 2), (2, 3)]
    with pytest.raises(ValueError, match="Granularity"):
        get_block_size(shape, None)
    with pytest.raises(AssertionError, match="2"):
        get_block_size((2, 2, 2), PerGroup(2))
    with pytest.raises(TypeError, match="abstract"):
        AffineQuantizedObserverBase(MappingType.SYMMETRIC, tl_core.int8, PerTensor())


def test_facts_of_configurations():
    dynamic, rows = tq.default_dynamic_qconfig, tq.float_qparams_weight_only_qconfig
    kinds = [
        utils.get_quant_type(c).name for c in (tq.default_qconfig, dynamic, rows, tq.float16_dynamic_qconfig)
    ]
    assert kinds == ["STATIC", "DYNAMIC", "WEIGHT_ONLY", "DYNAMIC"]
    assert utils.activation_is_statically_quantized(tq.default_qconfig)
    assert utils.activation_is_dynamically_quantized(dynamic)
    assert utils.weight_is_quantized(rows)
    assert utils.calculate_qmin_qmax(None, None, False, tq.qint8, True) == (-64, 63)
    assert utils.calculate_qmin_qmax(0, 15, True, tq.quint8, False) == (0, 15)
    with pytest.raises(AssertionError, match="include 0"):
        utils.validate_qmin_qmax(3, 5)
    with pytest.raises(AssertionError, match="less than max"):
        utils.check_min_max_valid(tl_core.tensor(2.0), tl_core.tensor(1.0))
    assert not utils.check_min_max_valid(tl_core.tensor([]), tl_core.tensor([]))
