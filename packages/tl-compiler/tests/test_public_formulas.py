"""Graphs of derivatives hold operators that others know, and compute what the program computes."""

import pytest

import tl_autograd
import tl_core as tl
import tl_nn as nn
import tl_nn.functional as F
from tl_compiler.export import export
from tl_compiler.fx.experimental.proxy_tensor import make_fx

ROWS = tl.tensor([0, 2])
ROW = tl.tensor([[0, 1, 2, 0]])
MASK = tl.tensor([True, False, True])
TARGET = tl.tensor([0, 3, 1])


def of_gradients(f):
    """The gradients of a function by all of its arguments."""

    def gradients(*args):
        args = [a.detach().requires_grad_() for a in args]
        out = f(*args)
        return tl_autograd.grad(out, args, tl.ones_like(out))

    return gradients


def norm(training):
    def f(x, w, b):
        return F.batch_norm(x, tl.full((3,), 0.5), tl.full((3,), 2.0), w, b, training)

    return f


def sampled(x, grid):
    return F.grid_sample(x, grid, align_corners=True)


# A name, a function, the sizes of its arguments, and what the graph of its gradients has.
CASES = [
    ("sum", lambda x: x.sum(1), [(3, 4)], "unsqueeze expand"),
    ("sum_kept", lambda x: x.sum((0, -1), keepdim=True), [(3, 4)], "expand"),
    ("permute", lambda x: x.permute(2, 0, 1), [(2, 3, 4)], "permute"),
    ("cumsum", lambda x: x.cumsum(1) * x, [(3, 4)], "flip cumsum"),
    ("split", lambda x: x.split(3, 1)[1] * 2, [(3, 5)], "new_zeros cat"),
    ("split_sizes", lambda x: x.split([1, 3], 1)[1] * 2, [(3, 4)], "new_zeros cat"),
    ("unbind", lambda x: x.unbind(1)[2] * 2, [(3, 4)], "new_zeros stack"),
    ("index", lambda x: x[:, ROWS].sin(), [(3, 4)], "new_zeros index_put"),
    ("mask", lambda x: x[MASK].sin(), [(3, 4)], "new_zeros index_put"),
    ("index_select", lambda x: x.index_select(0, ROWS).sin(), [(3, 4)], "new_zeros index_add"),
    ("max_pool1d", lambda x: F.max_pool1d(x, 2), [(2, 3, 8)], "scatter_add"),
    ("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), [(2, 3, 8, 8)], "max_pool2d_with_indices_backward"),
    ("max_pool3d", lambda x: F.max_pool3d(x, 2), [(2, 3, 4, 4, 4)], "max_pool3d_with_indices_backward"),
    ("adaptive_max", lambda x: F.adaptive_max_pool2d(x, 3), [(2, 3, 8, 8)], "adaptive_max_pool2d_backward"),
    ("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2, 1), [(2, 3, 8)], "avg_pool2d_backward"),
    ("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), [(2, 3, 8, 8)], "avg_pool2d_backward"),
    ("adaptive_avg1", lambda x: F.adaptive_avg_pool1d(x, 3), [(2, 3, 8)], "_adaptive_avg_pool2d_backward"),
    (
        "adaptive_avg3",
        lambda x: F.adaptive_avg_pool3d(x, 2),
        [(2, 3, 4, 4, 4)],
        "_adaptive_avg_pool3d_backward",
    ),
    ("reflect", lambda x: F.pad(x, [1, 2], "reflect"), [(2, 3, 8)], "reflection_pad1d_backward"),
    (
        "replicate",
        lambda x: F.pad(x, [1, 2, 0, 1], "replicate"),
        [(2, 3, 4, 4)],
        "replication_pad2d_backward",
    ),
    ("circular", lambda x: F.pad(x, [1, 2, 0, 3], "circular").sin(), [(2, 3, 4, 4)], "cat constant_pad_nd"),
    (
        "conv",
        lambda x, w, b: F.conv2d(x, w, b, 2, 1),
        [(2, 3, 8, 8), (4, 3, 3, 3), (4,)],
        "convolution_backward",
    ),
    ("conv_t", lambda x, w: F.conv_transpose1d(x, w, None, 2), [(2, 3, 8), (3, 4, 3)], "convolution"),
    ("leaky_relu", lambda x: F.leaky_relu(x, 0.1), [(3, 4)], "leaky_relu_backward"),
    ("nll", lambda x: F.nll_loss(x, TARGET), [(3, 4)], "nll_loss_backward"),
    ("nll2d", lambda x: F.nll_loss(x, tl.ones(2, 3, 3).long()), [(2, 4, 3, 3)], "nll_loss2d_backward"),
    (
        "cross_entropy",
        lambda x: F.cross_entropy(x, TARGET),
        [(3, 4)],
        "_log_softmax nll_loss_forward nll_loss_backward _log_softmax_backward_data",
    ),
    (
        "layer_norm",
        lambda x, w, b: F.layer_norm(x, (2, 4), w, b),
        [(3, 2, 4), (2, 4), (2, 4)],
        "native_layer_norm",
    ),
    ("layer_norm_g", lambda x: F.layer_norm(x, (4,)).sin(), [(3, 4)], "native_layer_norm_backward"),
    (
        "group_norm",
        lambda x, w, b: F.group_norm(x, 2, w, b),
        [(2, 4, 5), (4,), (4,)],
        "native_group_norm_backward",
    ),
    ("rms_norm", lambda x, w: F.rms_norm(x, (4,), w).sin(), [(3, 4), (4,)], "rsqrt mean"),
    ("batch_norm", norm(True), [(4, 3, 5), (3,), (3,)], "native_batch_norm native_batch_norm_backward"),
    ("batch_norm_fixed", norm(False), [(4, 3, 5), (3,), (3,)], "native_batch_norm_backward"),
    (
        "grid_sample",
        lambda x, grid: F.grid_sample(x, grid, align_corners=True),
        [(2, 3, 5, 5), (2, 4, 4, 2)],
        "grid_sampler_2d grid_sampler_2d_backward",
    ),
    (
        "attention",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [(2, 2, 4, 8)] * 3,
        "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward",
    ),
    ("mse", F.mse_loss, [(3, 4)] * 2, "mse_loss mean"),
    ("smooth_l1", lambda x, y: F.smooth_l1_loss(x, y, beta=0.3), [(3, 4)] * 2, "smooth_l1_loss"),
    ("huber", lambda x, y: F.huber_loss(x, y, delta=0.3), [(3, 4)] * 2, "huber_loss"),
    ("glu", F.glu, [(3, 4)], "sigmoid mul"),
    ("bce", lambda x: F.binary_cross_entropy(x.sigmoid(), tl.full((3, 4), 0.25)), [(3, 4)], "log"),
]
PRIVATE = (
    "_avg_pool_adjoint _adaptive_avg_pool_adjoint _attention _attention_backward _batch_norm _batch_norm_backward "
    "_border_adjoint _pad_circular _convolve _convolve_input _convolve_weight _cross_entropy _cross_entropy_backward "
    "_grid_sample _grid_sample_adjoint _grid_sample_derivative _leaky_relu_backward _nll_loss_backward _put_by_index "
    "_sample_norm _sample_norm_backward _unpool cumsum_backward index_backward index_select_backward permute_backward "
    "_glu_halves huber_error smooth_l1_error squared_error split_backward split_with_sizes_backward "
    "unbind_backward unsum"
)


def names(gm):
    return {n.target.overloadpacket.__name__ for n in gm.graph.nodes if hasattr(n.target, "overloadpacket")}


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize(("f", "sizes", "wanted"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_gradients_are_operators_that_others_know(f, sizes, wanted, mode):
    tl.manual_seed(0)
    step = of_gradients(f)
    gm = make_fx(step, tracing_mode=mode)(*(tl.rand(*s) for s in sizes))
    assert names(gm) >= set(wanted.split())
    assert not names(gm) & set(PRIVATE.split())
    # Other elements than those of the trace: nothing of these may stay in the graph.
    args = [tl.randn(*s) for s in sizes]
    for result, expected in zip(gm(*args), step(*args), strict=True):
        assert tl.allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "f", [tl.tanh, tl.exp, tl.sigmoid, lambda x: x.softmax(1), lambda x: x.max(1, True)[0]]
)
def test_results_that_autograd_keeps_are_values_of_the_graph(f):
    step = of_gradients(lambda x: f(x) * x)
    gm = make_fx(step)(tl.ones(2, 3))
    assert not any(n.op == "get_attr" for n in gm.graph.nodes)
    x = tl.randn(2, 3)
    assert tl.allclose(gm(x)[0], step(x)[0])


def test_a_model_with_attention_has_no_rows_of_our_own():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    step = of_gradients(layer)
    gm = make_fx(step, tracing_mode="fake")(tl.randn(3, 2, 8))
    assert not names(gm) & set(PRIVATE.split())
    x = tl.randn(3, 2, 8)
    assert tl.allclose(gm(x)[0], step(x)[0], atol=1e-5)


@pytest.mark.parametrize("loss", [F.mse_loss, F.smooth_l1_loss, F.huber_loss])
def test_exported_losses_are_the_operators_of_that_name(loss):
    class Loss(nn.Module):
        def forward(self, x, y):
            return loss(x, y)

    ep = export(Loss(), (tl.ones(3), tl.zeros(3)))
    assert names(ep.graph_module) == {loss.__name__}
    x, y = tl.randn(3), tl.randn(3) * 3
    for result in (ep, ep.run_decompositions()):
        assert tl.allclose(result.module()(x, y), loss(x, y))
    assert loss.__name__ not in names(result.graph_module)


def test_a_table_has_the_last_word():
    step = of_gradients(lambda x: x.sum(0))
    table = {tl.ops.aten.unsum.default: lambda grad, sizes, dim, keepdim: grad.new_full(sizes, 3.0)}
    gm = make_fx(step, decomposition_table=table)(tl.ones(2, 3))
    assert gm(tl.ones(2, 3))[0].tolist() == [[3.0] * 3] * 2
