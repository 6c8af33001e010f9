"""Handlers of `__torch_dispatch__` get the operators that others know, forward and backward.

handler_names.json holds the names that a mode of PyTorch 2.13 got for the same calls: those of the forward and those of
the backward, without what only makes, copies or reshapes tensors.
"""

import json
import math
from functools import partial
from pathlib import Path

import pytest

import tl_autograd
import tl_core as tl
import tl_nn as nn
import tl_nn.functional as F
from tl_autograd.checkpoint import checkpoint, create_selective_checkpoint_contexts
from tl_autograd.checkpoint_policy import CheckpointPolicy
from tl_core.operators.packets import aten
from tl_core.pytree import tree_map
from tl_core.subclasses.python_dispatch import TorchDispatchMode
from tl_core.testing import assert_close

KNOWN = json.loads((Path(__file__).parent / "handler_names.json").read_text())
GEOMETRY = frozenset(
    [
        "view",
        "_unsafe_view",
        "reshape",
        "expand",
        "transpose",
        "permute",
        "squeeze",
        "unsqueeze",
        "detach",
        "clone",
        "copy_",
        "new_empty",
        "new_empty_strided",
        "new_zeros",
        "zeros_like",
        "empty",
        "empty_like",
        "lift_fresh",
        "linspace",
        "ones",
        "zeros",
        "eye",
        "_to_copy",
        "scalar_tensor",
    ]
)


class Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append(func)
        return func(*args, **(kwargs or {}))

    def names(self):
        return {f.overloadpacket.__name__ for f in self.calls} - GEOMETRY


def t(*shape):
    return tl.linspace(-1, 1, math.prod(shape)).reshape(shape).clone().requires_grad_()


FLASH = getattr(aten, KNOWN["causal attention"][0]).default
IMAGE, ROWS, CLASSES = (2, 3, 8, 8), tl.tensor([0, 2]), tl.tensor([0, 1, 2, 0])
CALLS = {
    "linear": lambda: F.linear(t(4, 3), t(5, 3), t(5)),
    "linear of no bias": lambda: F.linear(t(4, 3), t(5, 3)),
    "linear of three dimensions": lambda: F.linear(t(2, 4, 3), t(5, 3), t(5)),
    "linear of three dimensions, no bias": lambda: F.linear(t(2, 4, 3), t(5, 3)),
    "matmul": lambda: t(4, 3) @ t(3, 5),
    "matmul of batches": lambda: t(2, 4, 3) @ t(2, 3, 5),
    "matmul by a vector": lambda: t(4, 3) @ t(3),
    "dot": lambda: t(3) @ t(3),
    "addmm": lambda: tl.addmm(t(5), t(4, 3), t(3, 5)),
    "conv1d": lambda: F.conv1d(t(2, 3, 8), t(4, 3, 3), t(4)),
    "conv2d": lambda: F.conv2d(t(*IMAGE), t(4, 3, 3, 3), t(4)),
    "conv2d of no bias": lambda: F.conv2d(t(*IMAGE), t(4, 3, 3, 3), padding=1, stride=2),
    "conv3d": lambda: F.conv3d(t(1, 2, 4, 4, 4), t(3, 2, 2, 2, 2), t(3)),
    "conv_transpose2d": lambda: F.conv_transpose2d(t(2, 3, 4, 4), t(3, 4, 3, 3), t(4)),
    "max_pool1d": lambda: F.max_pool1d(t(2, 3, 8), 2),
    "max_pool2d": lambda: F.max_pool2d(t(*IMAGE), 2),
    "avg_pool1d": lambda: F.avg_pool1d(t(2, 3, 8), 2),
    "avg_pool2d": lambda: F.avg_pool2d(t(*IMAGE), 2),
    "adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(t(*IMAGE), 3),
    "adaptive_avg_pool2d to one": lambda: F.adaptive_avg_pool2d(t(*IMAGE), 1),
    "adaptive_max_pool2d": lambda: F.adaptive_max_pool2d(t(*IMAGE), 3),
    "layer_norm": lambda: F.layer_norm(t(4, 3, 6), (6,), t(6), t(6)),
    "layer_norm of no weight": lambda: F.layer_norm(t(4, 3, 6), (3, 6)),
    "group_norm": lambda: F.group_norm(t(2, 4, 5), 2, t(4), t(4)),
    "instance_norm": lambda: F.instance_norm(t(2, 4, 5)),
    "batch_norm in training": lambda: F.batch_norm(
        t(4, 3, 5), tl.zeros(3), tl.ones(3), t(3), t(3), training=True
    ),
    "batch_norm in evaluation": lambda: F.batch_norm(t(4, 3, 5), tl.zeros(3), tl.ones(3), t(3), t(3)),
    "scaled_dot_product_attention": lambda: F.scaled_dot_product_attention(
        *(t(2, 2, 4, 8) for _ in range(3))
    ),
    "causal attention": lambda: F.scaled_dot_product_attention(
        *(t(2, 2, 4, 8) for _ in range(3)), is_causal=True
    ),
    "softmax": lambda: F.softmax(t(4, 3), -1),
    "log_softmax": lambda: F.log_softmax(t(4, 3), -1),
    **{
        name: partial(lambda name: getattr(F, name)(t(4)), name)
        for name in ("relu", "gelu", "silu", "elu", "leaky_relu", "hardswish", "softplus")
    },
    "glu": lambda: F.glu(t(4, 6)),
    "prelu": lambda: F.prelu(t(4, 3), t(3)),
    "mse_loss": lambda: F.mse_loss(t(4), t(4).detach()),
    **{
        name: partial(lambda name: getattr(F, name)(t(4), t(4).detach() + 1), name)
        for name in ("l1_loss", "smooth_l1_loss", "huber_loss")
    },
    "cross_entropy": lambda: F.cross_entropy(t(4, 3), CLASSES),
    "nll_loss": lambda: F.nll_loss(t(4, 3), CLASSES),
    "binary_cross_entropy": lambda: F.binary_cross_entropy(t(4).sigmoid(), tl.ones(4)),
    "binary_cross_entropy_with_logits": lambda: F.binary_cross_entropy_with_logits(t(4), tl.ones(4)),
    "embedding": lambda: F.embedding(tl.tensor([0, 2, 1]), t(4, 3)),
    "interpolate": lambda: F.interpolate(t(1, 2, 4, 4), scale_factor=2.0, mode="bilinear"),
    "pad": lambda: F.pad(t(1, 2, 4, 4), (1, 1, 1, 1), mode="reflect"),
    "dropout": lambda: F.dropout(t(4), 0.5),
    "sum over a dimension": lambda: t(4, 3).sum(1),
    "mean": lambda: t(4, 3).mean(),
    "index": lambda: t(4, 3)[ROWS],
    "gather": lambda: tl.gather(t(4, 3), 1, CLASSES.reshape(4, 1)),
    "cat": lambda: tl.cat([t(4, 3), t(2, 3)]),
    "split": lambda: tl.split(t(4, 3), 2)[0],
    "grid_sample": lambda: F.grid_sample(t(1, 2, 4, 4), t(1, 3, 3, 2), align_corners=False),
    "where": lambda: tl.where(t(4) > 0, t(4), 0.0),
    "cumsum": lambda: t(4, 3).cumsum(0),
}
_BIAS = "the gradient of the bias is a sum of its own"
# What handlers get here instead of or beside the names that are known, and why.
OTHERWISE = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), ("convolution", "convolution_backward sum", _BIAS)),
    "conv_transpose2d": ("convolution", "convolution convolution_backward sum", _BIAS),
    "max_pool1d": ("max_pool1d_with_indices", "scatter_add", "one dimension is no case of two"),
    "avg_pool1d": ("avg_pool1d", "avg_pool2d_backward", "one dimension is no case of two"),
    "max_pool2d": ("max_pool2d_with_indices", "scatter_add", "the indices say all that the gradient needs"),
    "adaptive_max_pool2d": (
        "adaptive_max_pool2d",
        "scatter_add",
        "the indices say all that the gradient needs",
    ),
    "instance_norm": ("native_group_norm", "native_group_norm_backward", "no copy as one batch"),
    "prelu": ("_prelu_kernel", "gt mul sum where", "the gradient has no operator of its own"),
    "binary_cross_entropy_with_logits": (
        "binary_cross_entropy_with_logits",
        "div mul sigmoid sub",
        "nothing is written in place",
    ),
    "dropout": ("native_dropout", "native_dropout_backward", "one pass draws and multiplies"),
}


def forward_and_backward(call, mode=Names):
    with mode() as forward:
        result = call()
    gradient = tl.ones_like(result)
    with mode() as backward:
        result.backward(gradient)
    return forward, backward


def test_every_call_is_recorded():
    assert sorted(CALLS) == sorted(KNOWN) and len(CALLS) >= 60


@pytest.mark.parametrize("name", CALLS)
def test_handlers_get_the_operators_that_others_know(name):
    expected = OTHERWISE.get(name, KNOWN[name])
    for records, names in zip(forward_and_backward(CALLS[name]), expected, strict=False):
        assert records.names() == set(names.split())


def _numbers(call, mode):
    """What a call gives, and its gradients by what it is made of."""
    leaves = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "t", lambda *shape: leaves.append(result := _leaf(shape)) or result)
        with mode:
            out = call()
            result = tl_autograd.grad(out, leaves, tl.ones_like(out), allow_unused=True) if leaves else ()
    return [out.detach(), *(g.to_dense() for g in result if g is not None)]


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"dropout"}))
def test_a_mode_changes_no_number(name):
    result, expected = (_numbers(CALLS[name], mode) for mode in (Names(), tl_autograd.enable_grad()))
    for a, b in zip(result, expected, strict=True):
        assert_close(a, b, rtol=1e-5, atol=1e-6)


def _leaf(shape):
    return tl.linspace(-1, 1, math.prod(shape)).reshape(shape).clone().requires_grad_()


class Wrapper(tl.Tensor):
    """Holds a tensor, and notes the operators."""

    @staticmethod
    def __new__(cls, held):
        return tl.Tensor._make_wrapper_subclass(
            cls, held.shape, dtype=held.dtype, requires_grad=held.requires_grad
        )

    def __init__(self, held):
        self.held = held.detach()

    calls = []  # noqa: RUF012 - of all objects

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.overloadpacket.__name__)
        out = func(
            *tree_map(lambda a: a.held if isinstance(a, Wrapper) else a, args),
            **tree_map(lambda a: a.held if isinstance(a, Wrapper) else a, kwargs or {}),
        )
        return tree_map(lambda a: Wrapper(a) if isinstance(a, tl.Tensor) else a, out)


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda x: F.layer_norm(x, (6,)), "native_layer_norm native_layer_norm_backward"),
        (lambda x: F.mse_loss(x, x.detach() + 1), "mse_loss mse_loss_backward"),
        (lambda x: F.linear(x, tl.ones(2, 6)), "mm"),
        (lambda x: F.conv1d(x[None], tl.ones(2, 4, 3)), "convolution convolution_backward"),
    ],
    ids=["layer_norm", "mse_loss", "linear", "conv1d"],
)
def test_classes_get_them_too(call, names):
    Wrapper.calls.clear()
    x = Wrapper(tl.linspace(-1, 1, 24).reshape(4, 6).requires_grad_())
    call(x).sum().backward()
    assert set(names.split()) <= set(Wrapper.calls)
    assert x.grad is not None


SAVED = {
    "linear": (aten.addmm.default, lambda x: F.linear(x, t(6, 6), t(6))),
    "layer_norm": (aten.native_layer_norm.default, lambda x: F.layer_norm(x, (6,))),
    "attention": (
        FLASH,
        lambda x: F.scaled_dot_product_attention(*[x.reshape(1, 1, 4, 6)] * 3),
    ),
    "convolution": (aten.convolution.default, lambda x: F.conv1d(x[None], tl.ones(2, 4, 3))),
    "batch_norm": (
        aten.native_batch_norm.default,
        lambda x: F.batch_norm(x, tl.zeros(6), tl.ones(6), training=True),
    ),
    "mse_loss": (aten.mse_loss.default, lambda x: F.mse_loss(x, tl.ones(4, 6))),
}


@pytest.mark.parametrize("name", SAVED)
def test_policies_of_checkpoints_know_them(name):
    operator, call = SAVED[name]
    runs = []

    def policy(ctx, op, *args, **kwargs):
        if op is operator:
            runs.append(ctx.is_recompute)
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE

    def gradient(f):
        x = tl.linspace(-1, 1, 24).reshape(4, 6).requires_grad_()
        f(x).sum().backward()
        return x.grad

    value = gradient(
        lambda x: checkpoint(
            lambda x: call(x.sin()).cos(),
            x,
            use_reentrant=False,
            context_fn=lambda: create_selective_checkpoint_contexts(policy),
        )
    )
    assert runs == [False, True]
    assert_close(value, gradient(lambda x: call(x.sin()).cos()))


def test_a_mode_that_declines_says_which_operator():
    class Declining(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    x = tl.ones(2, 3)
    with pytest.raises(TypeError, match=r"native_layer_norm'; all __torch_dispatch__ handlers"), Declining():
        F.layer_norm(x, (3,))


def test_second_derivatives_of_losses_under_a_mode():
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    with Names():
        (g,) = tl_autograd.grad(F.mse_loss(x, tl.zeros(2), reduction="sum"), x, create_graph=True)
        (second,) = tl_autograd.grad(g.sum(), x)
    assert second.tolist() == [2.0, 2.0]


# ---- everything else that has a gradient: no operator that only this library has
def q(*shape):
    return t(*(shape or (2, 3, 4, 8)))


def matrix(n=3):
    return t(n, n).detach().add(3 * tl.eye(n)).requires_grad_()


def csr(n=3):
    return matrix(n).detach().to_sparse_csr()


LONG, LABELS = tl.tensor([[0, 1], [2, 1]]), tl.zeros(2, 4, 4, dtype=tl.int64)
ATTENTION = F.scaled_dot_product_attention
LAYERS = {
    "attention with a learned mask": lambda: ATTENTION(q(), q(), q(), attn_mask=t(4, 4)),
    "attention with a mask": lambda: ATTENTION(q(), q(), q(), attn_mask=tl.ones(4, 4).tril().bool()),
    "attention of shared heads": lambda: ATTENTION(q(2, 4, 4, 8), q(2, 2, 4, 8), q(2, 2, 4, 8), enable_gqa=True),
    "attention of matrices": lambda: ATTENTION(q(4, 8), q(4, 8), q(4, 8)),
    "lstm": lambda: recurrent(nn.LSTM, 4, 3),
    "lstm of projections": lambda: recurrent(nn.LSTM, 4, 3, proj_size=2),
    "lstm of two layers": lambda: recurrent(nn.LSTM, 4, 3, num_layers=2, bidirectional=True),
    "gru": lambda: recurrent(nn.GRU, 4, 3),
    "gru without biases": lambda: recurrent(nn.GRU, 4, 3, bias=False, batch_first=True),
    "rnn": lambda: recurrent(nn.RNN, 4, 3, nonlinearity="relu"),
    "lstm of packed rows": lambda: recurrent(
        nn.LSTM, 4, 3, x=nn.utils.rnn.pack_sequence([t(3, 4), t(2, 4)])
    ),
    "lstm cell": lambda: recurrent(nn.LSTMCell, 4, 3, x=t(2, 4)),
    "gru cell": lambda: recurrent(nn.GRUCell, 4, 3, x=t(2, 4)),
    "ctc_loss": lambda: F.ctc_loss(
        t(6, 2, 5).log_softmax(2), tl.tensor([[1, 2], [1, 3]]), tl.tensor([6, 6]), tl.tensor([2, 2])
    ),
    "embedding_bag": lambda: F.embedding_bag(LONG, t(3, 4)),
    "embedding_bag, max": lambda: F.embedding_bag(LONG, t(3, 4), mode="max"),
    "embedding_bag of weights": lambda: F.embedding_bag(LONG, t(3, 4), mode="sum", per_sample_weights=t(2, 2)),
    "embedding of a sparse gradient": lambda: F.embedding(LONG, t(3, 4), sparse=True),
    "bilinear": lambda: F.bilinear(t(3, 4), t(3, 5), t(2, 4, 5), t(2)),
    "local_response_norm": lambda: F.local_response_norm(t(2, 3, 4, 4), 2),
    **{
        f"unpool of {n} dimensions": partial(
            lambda pool, unpool, shape: unpool(*pool(t(*shape), 2, return_indices=True), 2),
            getattr(F, f"max_pool{n}d"), getattr(F, f"max_unpool{n}d"), (1, 2, *[4] * n),
        )
        for n in (1, 2, 3)
    },
    **{
        f"{name} of {n} dimensions": partial(
            lambda pool, shape: pool(t(*shape), 2), getattr(F, f"{name}_pool{n}d"), (1, 2, *[6] * n)
        )
        for name in ("max", "avg", "adaptive_max", "adaptive_avg") for n in (1, 2, 3)
    },
    "lp_pool2d": lambda: F.lp_pool2d(t(1, 2, 8, 8), 2.0, 2),
    "fold": lambda: F.fold(t(1, 12, 4), (3, 3), 2),
    "unfold": lambda: F.unfold(t(1, 3, 4, 4), 2),
    "grid_sample of volumes": lambda: F.grid_sample(
        t(1, 2, 4, 4, 4), t(1, 3, 3, 3, 3), align_corners=True, padding_mode="border"
    ),
    "grid_sample, bicubic": lambda: F.grid_sample(
        t(1, 2, 4, 4), t(1, 3, 3, 2), align_corners=True, mode="bicubic", padding_mode="reflection"
    ),
    "circular border": lambda: F.pad(t(1, 2, 4, 4), (1, 1, 2, 1), mode="circular"),
    "circular border, cut": lambda: F.pad(t(1, 2, 4, 4), (1, -1, -1, 2), mode="circular"),
    "replicated border": lambda: F.pad(t(1, 2, 4, 4, 4), (1, 1, 1, 1, 1, 1), mode="replicate"),
    "convolution as wide as its input": lambda: F.conv2d(t(1, 2, 5, 5), t(3, 2, 2, 2), t(3), padding="same"),
    "transposed convolution of a stride": lambda: F.conv_transpose2d(
        t(1, 2, 5, 5), t(2, 3, 2, 2), t(3), stride=2, output_padding=1
    ),
    **{
        f"cdist of {p}": partial(lambda p: tl.cdist(t(2, 3, 4), t(2, 5, 4) + 1, p), p)
        for p in (0.5, 1.0, 2.0, 3.0, math.inf)
    },
    "pdist": lambda: F.pdist(t(4, 3), 3.0),
    "cross_entropy of probabilities": lambda: F.cross_entropy(t(3, 4), t(3, 4).softmax(1)),
    "cross_entropy of images": lambda: F.cross_entropy(t(2, 3, 4, 4), LABELS, label_smoothing=0.1),
    "nll_loss of images": lambda: F.nll_loss(t(2, 3, 4, 4), LABELS),
    "mse_loss of weights": lambda: F.mse_loss(t(3), t(3) + 1, weight=tl.ones(3)),
    "multi_margin_loss": lambda: F.multi_margin_loss(t(4, 3), CLASSES),
    "rms_norm": lambda: F.rms_norm(t(3, 4), (4,), t(4)),
    "upsampling, bicubic": lambda: F.interpolate(t(1, 2, 4, 4), scale_factor=1.5, mode="bicubic"),
    "upsampling, antialias": lambda: F.interpolate(t(1, 2, 8, 8), size=4, mode="bilinear", antialias=True),
    **{name: partial(lambda name: getattr(tl.linalg, name)(matrix()), name) for name in ("inv", "det", "pinv")},
    **{
        f"matrix_norm {order}": partial(lambda order: tl.linalg.matrix_norm(matrix(), order), order)
        for order in ("nuc", 2, -2)
    },
    "solve of a vector": lambda: tl.linalg.solve(matrix(), t(3)),
    "solve of a matrix of batches": lambda: tl.linalg.solve(tl.stack([matrix(), matrix()]), t(3, 2)),
    "solve of batches": lambda: tl.linalg.solve(matrix(), t(2, 3, 3)),
    "lstsq": lambda: tl.linalg.lstsq(t(4, 3) ** 2 + tl.eye(4, 3), t(4, 2)).solution,
    "as_strided": lambda: t(6).as_strided((2, 2), (2, 1), 1),
    "as_strided that overlaps": lambda: t(6).as_strided((3, 2), (1, 1)),
    "as_strided of what is expanded": lambda: t(1, 3).expand(2, 3).as_strided((2, 2), (1, 1)),
    "product of a sparse matrix": lambda: tl.sparse.mm(matrix().detach().to_sparse().requires_grad_(), t(3, 2)),
    "product of compressed rows": lambda: csr() @ t(3, 2),
    "sampled product": lambda: tl.sparse.sampled_addmm(csr(), t(3, 2), t(2, 3)).to_dense(),
    "to_sparse": lambda: (t(3, 3) + 2).to_sparse().to_dense(),
    "sum of a sparse tensor": lambda: tl.sparse.sum((t(3, 3) + 2).to_sparse()),
    "softmax of a sparse tensor": lambda: tl.sparse.softmax((t(3, 3) + 2).to_sparse(), 1).to_dense(),
    "sparse_mask": lambda: t(3, 3).sparse_mask(tl.eye(3).to_sparse()).to_dense(),
    "dense plus sparse": lambda: tl.add(t(3, 3), tl.eye(3).to_sparse()),
}  # fmt: skip
RANDOM = {
    "attention with dropout": lambda: ATTENTION(q(), q(), q(), dropout_p=0.5),
    "lstm with dropout": lambda: recurrent(nn.LSTM, 4, 3, num_layers=2, dropout=0.5),
    "transformer layer": lambda: nn.TransformerEncoderLayer(8, 2, 16)(t(4, 2, 8)),
    "fractional_max_pool2d": lambda: F.fractional_max_pool2d(t(1, 2, 8, 8), 2, 3),
    "rrelu": lambda: F.rrelu(t(4), training=True),
    "dropout of channels": lambda: F.dropout2d(t(1, 2, 3, 3)),
}
NAMES = Path(__file__).parents[2] / "tl-core/tests/aten_names.txt"


def recurrent(kind, *sizes, x=None, **settings):
    layer = kind(*sizes, **settings)
    for p in layer.parameters():
        p.data = tl.linspace(-0.5, 0.5, p.numel()).reshape(p.shape)
    out = layer(t(5, 2, 4) if x is None else x)
    while isinstance(out, tuple):
        out = out[0]
    return out


@pytest.mark.skipif(not NAMES.exists(), reason="PyTorch's names stand in tl-core's sources")
@pytest.mark.parametrize("name", [*LAYERS, *RANDOM])
def test_handlers_get_no_operator_of_ours(name):
    names_of_pytorch = frozenset(NAMES.read_text().split())
    with Names() as forward:
        result = {**LAYERS, **RANDOM}[name]()
    with Names() as backward:
        result.sum().backward()
    names = {f.overloadpacket.__name__ for mode in (forward, backward) for f in mode.calls}
    assert not {n for n in names if n not in names_of_pytorch and n.removesuffix("_") not in names_of_pytorch}


@pytest.mark.parametrize("name", LAYERS)
def test_a_mode_changes_no_number_of_these(name):
    result, expected = (_numbers(LAYERS[name], mode) for mode in (Names(), tl_autograd.enable_grad()))
    for a, b in zip(result, expected, strict=True):
        assert_close(a, b, rtol=1e-4, atol=1e-5)
