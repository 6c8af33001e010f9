"""Layers and losses of batches, sequences and spaces without elements."""

import math

import pytest

import tl_core as tl
import tl_nn as nn

KEPT = [
    *(nn.ReLU(), nn.GELU(), nn.Softplus(), nn.LogSigmoid(), nn.Hardtanh(), nn.PReLU(), nn.RReLU(), nn.Mish()),
    *(nn.Softmax(-1), nn.LogSoftmax(-1), nn.Dropout(), nn.AlphaDropout(), nn.Identity()),
]
SHAPES = [(0,), (0, 4), (3, 0), (0, 4, 5), (2, 0, 4), (2, 4, 0), (2, 4, 0, 4)]


def passes(module, shape, expected, others=()):
    inputs = [tl.rand(s, requires_grad=True) for s in (shape, *others)]
    result = module(*inputs)
    first = result[0] if isinstance(result, tuple) else result
    assert first.shape == expected
    first.sum().backward()
    assert all(x.grad is None or x.grad.shape == x.shape for x in inputs)
    assert all(p.grad is None or p.grad.isfinite().all() for p in module.parameters())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("module", KEPT, ids=lambda m: type(m).__name__)
def test_layers_that_keep_the_shape(module, shape):
    for training in (True, False):
        passes(module.train(training), shape, shape)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("batch", [0, 2])
@pytest.mark.parametrize("channels", [0, 4])
@pytest.mark.parametrize("training", [True, False])
def test_norms(dims, batch, channels, training):
    for sizes in ([5] * dims, [0] + [5] * (dims - 1)):
        shape = (batch, channels, *sizes)
        for options in ({}, {"affine": True}, {"affine": True, "track_running_stats": True}):
            if (batch == 0 or channels == 0 or 0 in sizes) and not options.get("track_running_stats"):
                passes(getattr(nn, f"InstanceNorm{dims}d")(channels, **options).train(training), shape, shape)
        if channels and not training:
            passes(getattr(nn, f"BatchNorm{dims}d")(channels).eval(), shape, shape)
            passes(nn.GroupNorm(2, channels), shape, shape)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_windows_over_an_empty_batch(dims):
    shape = (0, 4, *[6] * dims)
    passes(getattr(nn, f"Conv{dims}d")(4, 3, 3), shape, (0, 3, *[4] * dims))
    passes(getattr(nn, f"ConvTranspose{dims}d")(4, 3, 3), shape, (0, 3, *[8] * dims))
    for name in ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool"):
        size = 3 if name.startswith("Adaptive") else 2
        passes(getattr(nn, f"{name}{dims}d")(size), shape, (0, 4, *[3] * dims))
    for name in ("ReflectionPad", "ReplicationPad", "CircularPad", "ZeroPad"):
        passes(getattr(nn, f"{name}{dims}d")(1), shape, (0, 4, *[8] * dims))
    passes(nn.Upsample(scale_factor=2), shape, (0, 4, *[12] * dims))


@pytest.mark.parametrize("shape", [(0, 3, 8), (3, 0, 8), (0, 0, 8)])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_transformers(shape, batch_first, training):
    options = {"dropout": 0.0, "batch_first": batch_first}
    encoder = nn.TransformerEncoderLayer(8, 2, 16, **options).train(training)
    passes(encoder, shape, shape)
    passes(nn.TransformerEncoder(encoder, 2, enable_nested_tensor=False).train(training), shape, shape)
    passes(nn.TransformerDecoderLayer(8, 2, 16, **options).train(training), shape, shape, [shape])
    with tl.no_grad():
        assert encoder(tl.rand(shape)).shape == shape


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_recurrent_layers_of_an_empty_batch(kind, bidirectional):
    for layers in (1, 2):
        module = kind(4, 5, layers, bidirectional=bidirectional)
        passes(module, (3, 0, 4), (3, 0, 10 if bidirectional else 5))


LOSSES = ["MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCELoss", "BCEWithLogitsLoss"]


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_of_nothing(name, reduction):
    x = tl.rand(0, 4, requires_grad=True)
    loss = getattr(nn, name)(reduction=reduction)(x, tl.rand(0, 4))
    assert loss.shape == ((0, 4) if reduction == "none" else ())
    if reduction != "none":
        assert math.isnan(loss.item()) if reduction == "mean" else loss.item() == 0
    loss.sum().backward()
    assert x.grad.shape == (0, 4)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_losses_of_classes_of_an_empty_batch(reduction):
    x, classes = tl.rand(0, 4, requires_grad=True), tl.zeros(0, dtype=tl.int64)
    for kind in (nn.CrossEntropyLoss, nn.NLLLoss):
        loss = kind(reduction=reduction)(x, classes)
        assert math.isnan(loss.item()) if reduction == "mean" else loss.item() == 0
    assert nn.MultiMarginLoss(reduction=reduction)(x, classes).item() == 0
    assert nn.MultiLabelMarginLoss(reduction=reduction)(x, tl.zeros(0, 4, dtype=tl.int64)).item() == 0
