"""Quantized tensors in traces, and without memory: on the device meta, and the refusal of fakes."""

import pytest

import tl_core as tl
import tl_quantization as tq
from tl_compiler.tracer.make_fx import make_fx
from tl_core.operators import packets
from tl_core.subclasses.fake_exceptions import UnsupportedFakeTensorException
from tl_core.subclasses.fake_mode import FakeTensorMode


def test_the_quantizer_goes_to_meta():
    q = tq.quantize_per_tensor(tl.ones(2, 3), 0.1, 3, tq.quint8)
    for x in (q.to("meta"), tl.empty_like(q, device="meta"), tl.relu(q.to("meta")), q.to("meta").t().t()):
        assert (x.device.type, tuple(x.shape), x.dtype, x.q_scale(), x.q_zero_point()) == (
            "meta", (2, 3), tq.quint8, 0.1, 3,
        )  # fmt: skip
    assert q.to("meta").dequantize().dtype is tl.float32
    assert repr(q.to("meta")).startswith("tensor(..., device='meta', size=(2, 3), dtype=torch.quint8,")


@pytest.mark.parametrize("channels", [False, True])
def test_there_are_no_fakes(channels):
    """A fake without a quantizer would be traced as a tensor of plain integers."""
    q = tq.quantize_per_tensor(tl.ones(2, 3), 0.1, 3, tq.quint8)
    if channels:
        q = tq.quantize_per_channel(tl.ones(2, 3), tl.ones(2), tl.zeros(2), 0, tq.qint8)
    with pytest.raises(UnsupportedFakeTensorException, match="quantized"):
        FakeTensorMode().from_tensor(q)


def test_fakes_are_not_quantized():
    """A trace with fakes must not record the result as a constant."""
    with pytest.raises(NotImplementedError, match="no fakes of quantized tensors"):
        make_fx(lambda x: tq.quantize_per_tensor(x, 0.1, 2, tq.quint8).dequantize(), tracing_mode="fake")(
            tl.ones(3)
        )


def _quantize(x):
    return tq.quantize_per_tensor(x, 0.5, 10, tq.quint8)


def _channels(x):
    return tq.quantize_per_channel(x, tl.tensor([0.5, 0.25]), tl.tensor([0, 3]), 0, tq.qint8)


PROGRAMS = {
    "relu": lambda x: tl.relu(_quantize(x)).dequantize(),
    "relu_": lambda x: _quantize(x).relu_().dequantize(),
    "views": lambda x: _quantize(x).t()[1:].contiguous().dequantize(),
    "cat": lambda x: tl.cat([_quantize(x), _quantize(x * 2)], 1).dequantize(),
    "integers": lambda x: tl.relu(_quantize(x)).int_repr() + 1,
    "sigmoid": lambda x: tl.sigmoid(_quantize(x)).dequantize(),
    "32 bits": lambda x: tq.quantize_per_tensor(x, 0.5, 0, tq.qint32).t().dequantize(),
    "sums": lambda x: packets.quantized.add(_quantize(x), _quantize(x + 1), 0.5, 20).dequantize(),
    "channels": lambda x: _channels(x).clone().dequantize(),
    "result": lambda x: tl.relu(_quantize(x)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_trace_of_tensors_follows_integers_and_quantized_tensors(name):
    """The graph computes from its input: a result as a constant would be the one of the tracing."""
    program = PROGRAMS[name]
    graph = make_fx(program)(tl.zeros(2, 3))
    for seed in range(3):
        x = tl.randn(2, 3, generator=tl.Generator().manual_seed(seed)) * 4
        assert tl.equal(graph(x), program(x))
    assert not tl.equal(program(x), program(tl.zeros(2, 3)))
