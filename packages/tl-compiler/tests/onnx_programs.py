"""Programs over operators, which the tests export to ONNX: a function and its example inputs for each name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core as tl
import tl_nn
import tl_nn.functional as F
from tl_compiler.higher_order import cond, scan, while_loop

__all__ = ["DYNAMIC", "PROGRAMS"]

tl.manual_seed(0)


def real(*sizes: int) -> Any:
    return tl.randn(sizes)


def positive(*sizes: int) -> Any:
    return tl.rand(*sizes) + 0.5


def unit(*sizes: int) -> Any:
    return tl.rand(*sizes) * 1.6 - 0.8


def whole(*sizes: int, high: int = 9) -> Any:
    return tl.randint(0, high, sizes)


def module(kind: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    tl.manual_seed(1)
    return kind(*args, **kwargs).eval()


# ---- in-place
def write_slice(x: Any) -> Any:
    y = x.clone()
    y[:, 1] = 3.0
    y[0] += 1
    return y


def write_views(x: Any) -> Any:
    y = x * 1
    y.view(-1)[2:4].mul_(5)
    return y.relu_()


def write_index(x: Any, i: Any) -> Any:
    y = x.clone()
    y[i] = 0
    return y


# ---- control flow
def choose(x: Any) -> Any:
    return cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos() + 1, (x,))


def choose_in_choice(x: Any) -> Any:
    def outer(x: Any) -> Any:
        return cond(x.max() > 1, lambda x: x * 2, lambda x: x * 3, (x,))

    return cond(x.sum() > 0, outer, lambda x: x - 1, (x,))


def repeat(x: Any) -> Any:
    return while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * 1.5), (tl.tensor(0), x))


def accumulate(x: Any) -> Any:
    return scan(lambda c, x: (c + x, c * x), tl.zeros(3), x)


# ---- recurrent and attention modules
def rotate(x: Any) -> Any:
    angles = tl.outer(tl.arange(x.shape[2]), 0.5 ** tl.arange(x.shape[-1] // 2))
    turns = tl.polar(tl.ones_like(angles), angles)
    return tl.view_as_real(tl.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * turns).flatten(3)


class Recurrent(tl_nn.Module):
    def __init__(self, kind: Any, **options: Any) -> None:
        super().__init__()
        self.cell = kind(4, 5, batch_first=True, **options)

    def forward(self, x: Any) -> Any:
        return self.cell(x)[0]


class Attention(tl_nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = tl_nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.attention(x, x, x, need_weights=False)[0]


PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    # arithmetic and element types
    "add": (lambda a, b: a + b, (real(2, 3), real(3))),
    "add_alpha": (lambda a, b: tl.add(a, b, alpha=2.5), (real(2, 3), real(2, 3))),
    "sub_number": (lambda a: 3 - a, (real(2, 3),)),
    "mixed_dtypes": (lambda a, b: a * b + 1.5, (whole(2, 3), real(2, 3))),
    "half": (lambda a, b: a * 2 + b, (real(2, 3).half(), real(2, 3).half())),
    "integer_division": (lambda a, b: (a // b, a % b, a / b), (whole(2, 3), whole(2, 3) + 1)),
    "negative_floor": (lambda a: (tl.floor_divide(a, 4), tl.remainder(a, 4), tl.fmod(a, 4)), (whole(5) - 4,)),
    "div_modes": (
        lambda a: (tl.div(a, 3, rounding_mode="floor"), tl.div(a, 3, rounding_mode="trunc")),
        (real(5) * 9,),
    ),
    "power": (lambda a: (a**2, a**0.5, 2.0**a), (positive(2, 3),)),
    "powers": (lambda a, b: a**b, (positive(2, 3), real(2, 3))),
    "bits": (lambda a, b: (a & b, a | b, a ^ b, ~a), (whole(4), whole(4))),
    "shifts": (lambda a: (a << 2, a >> 1), (whole(4),)),
    "logic": (lambda a, b: (a & b, a | b, ~a, a.logical_xor(b)), (real(4) > 0, real(4) > 0)),
    "compare": (lambda a, b: (a < b, a <= b, a > b, a >= b, a == b, a != b), (real(4), real(4))),
    "compare_numbers": (lambda a: (a < 1, a == 2, a != 3, a >= 2), (whole(6),)),
    "casts": (lambda a: (a.int(), a.bool(), a.double(), a.half(), a.long()), (real(4) * 3,)),
    "bfloat16": (lambda a: a.bfloat16().float() * 2, (real(4),)),
    "where": (lambda a, b: tl.where(a > 0, a, b), (real(2, 3), real(3))),
    "where_number": (lambda a: tl.where(a > 0, a, -1.0), (real(2, 3),)),
    "clamp": (lambda a: (a.clamp(-0.5, 0.5), a.clamp(min=0), a.clamp(max=0.1)), (real(6),)),
    "clamp_tensors": (lambda a, b: a.clamp(-b, b), (real(6), positive(6))),
    "lerp": (lambda a, b: (tl.lerp(a, b, 0.3), tl.lerp(a, b, tl.sigmoid(a))), (real(4), real(4))),
    "addcmul": (
        lambda a, b: tl.addcdiv(tl.addcmul(a, b, a, value=0.5), a, b, value=2),
        (real(4), positive(4)),
    ),
    # functions of numbers
    "exponentials": (lambda a: (a.exp(), a.exp2(), a.expm1(), a.sigmoid()), (real(6),)),
    "logarithms": (lambda a: (a.log(), a.log2(), a.log10(), a.log1p()), (positive(6),)),
    "trigonometry": (lambda a: (a.sin(), a.cos(), a.tan(), a.asin(), a.acos(), a.atan()), (unit(6),)),
    "hyperbolic": (lambda a: (a.sinh(), a.cosh(), a.tanh(), a.asinh(), a.atanh()), (unit(6),)),
    "atan2": (lambda a, b: tl.atan2(a, b), (real(9), real(9))),
    "roots": (lambda a: (a.sqrt(), a.rsqrt(), a.reciprocal()), (positive(6),)),
    "rounding": (lambda a: (a.round(), a.floor(), a.ceil(), a.trunc(), a.frac()), (real(6) * 5,)),
    "signs": (lambda a: (a.abs(), a.neg(), a.sign(), a.square()), (real(6),)),
    "error_functions": (lambda a: (a.erf(), a.erfc()), (real(6),)),
    "special": (lambda a: (tl.logit(a.abs() + 0.05), tl.xlogy(a, a.abs()), tl.sinc(a)), (unit(6),)),
    "logaddexp": (lambda a, b: (tl.logaddexp(a, b), tl.hypot(a, b)), (real(6), real(6))),
    "non_finite": (
        lambda a: (a.isnan(), a.isinf(), a.isfinite(), a.nan_to_num(1.0)),
        (tl.tensor([1.0, float("nan"), float("inf")]),),
    ),
    "nan_extremes": (
        lambda a, b: (tl.fmax(a, b), tl.fmin(a, b)),
        (tl.tensor([1.0, float("nan"), 3.0]), real(3)),
    ),
    "scaled_powers": (
        lambda a, b: (tl.ldexp(a, b), tl.float_power(a.abs(), 1.5), tl.special.ndtr(a)),
        (real(5), whole(5)),
    ),
    "inverses": (lambda a: (tl.erfinv(a), tl.copysign(a, -a), tl.isin(a, a[:2])), (unit(6),)),
    # reductions
    "sums": (lambda a: (a.sum(), a.sum(1), a.sum((0, 2), keepdim=True)), (real(2, 3, 4),)),
    "sum_dtypes": (lambda a: (a.sum(), a.sum(0, dtype=tl.float32), (a > 3).sum(1)), (whole(3, 4),)),
    "means": (lambda a: (a.mean(), a.mean(-1), a.mean((0, 1), keepdim=True)), (real(2, 3, 4),)),
    "products": (lambda a: (a.prod(), a.prod(1)), (real(3, 4),)),
    "extremes": (lambda a: (a.max(), a.min(), a.amax(1), a.amin((0, 1))), (real(3, 4),)),
    "max_dim": (lambda a: (*a.max(1), *a.min(0, keepdim=True)), (real(3, 4),)),
    "arg_extremes": (lambda a: (a.argmax(), a.argmin(1), a.argmax(0, keepdim=True)), (real(3, 4),)),
    "variances": (lambda a: (a.var(), a.std(1), a.var(0, unbiased=False), *tl.var_mean(a, 1)), (real(3, 4),)),
    "any_all": (lambda a: (a.any(), a.all(1), a.any(0, keepdim=True)), (real(3, 4) > 0,)),
    "norms": (lambda a: (a.norm(), a.norm(dim=1), tl.linalg.vector_norm(a, 1, 0)), (real(3, 4),)),
    "norm_inf": (
        lambda a: (tl.linalg.vector_norm(a, float("inf"), 1), tl.linalg.matrix_norm(a)),
        (real(3, 4),),
    ),
    "logsumexp": (lambda a: (tl.logsumexp(a, 1), F.softmax(a, 0), F.log_softmax(a, -1)), (real(3, 4),)),
    "cumulative": (lambda a: (a.cumsum(1), tl.logcumsumexp(a, 0)), (real(3, 4),)),
    "cumprod": (lambda a: (a.cumprod(1), a.cummax(1)[0]), (real(3, 4),)),
    "topk": (lambda a: (*a.topk(2), *a.sort(0, descending=True)), (real(3, 4),)),
    "argsort": (lambda a: (a.argsort(1), a.kthvalue(2, 1)[0], a.median(1)[0]), (real(3, 5),)),
    "count": (lambda a: (tl.count_nonzero(a), tl.bincount(a)), (whole(7),)),
    # shapes
    "reshape": (lambda a: (a.reshape(4, 3), a.view(-1), a.flatten(1), a.unflatten(1, (2, 2))), (real(3, 4),)),
    "permute": (lambda a: (a.permute(2, 0, 1), a.transpose(0, 1), a.mT, a.movedim(0, 2)), (real(2, 3, 4),)),
    "squeeze": (lambda a: (a.squeeze(), a.squeeze(1), a.unsqueeze(-1), a.squeeze((0, 1))), (real(1, 1, 4),)),
    "expand": (
        lambda a: (a.expand(3, 4), a.repeat(2, 3), a.tile((2, 2)), a.broadcast_to(2, 1, 4)),
        (real(1, 4),),
    ),
    "joins": (
        lambda a, b: (tl.cat([a, b], 1), tl.stack([a, b]), tl.hstack([a, b]), tl.vstack([a, b])),
        (real(2, 3), real(2, 3)),
    ),
    "splits": (
        lambda a: (*a.split(2, 1), *a.chunk(2, 1), *tl.split(a, [1, 4], 1), *a.unbind(0)),
        (real(2, 5),),
    ),
    "flips": (lambda a: (a.flip(1), a.roll(1, 0), a.rot90()), (real(3, 4),)),
    "triangles": (lambda a: (a.tril(), a.triu(1), a.diagonal(), tl.diag_embed(a)), (real(4, 4),)),
    "pads": (
        lambda a: (F.pad(a, (1, 2)), F.pad(a, (1, 1), "reflect"), F.pad(a, (2, 1), "replicate")),
        (real(1, 2, 5),),
    ),
    "pad_2d": (
        lambda a: (F.pad(a, (1, 1, 2, 2), "reflect"), F.pad(a, (1, 1, 1, 1), "circular")),
        (real(1, 2, 5, 5),),
    ),
    "unfold": (lambda a: a.unfold(1, 3, 2), (real(2, 9),)),
    "meshgrid": (lambda a, b: tl.meshgrid(a, b, indexing="ij"), (real(3), real(2))),
    "as_strided": (lambda a: tl.as_strided(a, (2, 3), (1, 2)), (real(8),)),
    "repeat_interleave": (lambda a: a.repeat_interleave(2, 1), (real(2, 3),)),
    "creation": (
        lambda a: (tl.zeros(2, 3), tl.full_like(a, 2), tl.arange(5), tl.linspace(0, 1, 4), tl.eye(3)),
        (real(2),),
    ),
    "new_tensors": (
        lambda a: (a.new_zeros(2), a.new_full((2,), 3), tl.ones_like(a, dtype=tl.int64)),
        (real(2),),
    ),
    "one_hot": (lambda a: F.one_hot(a, 9), (whole(4),)),
    # indices
    "index": (lambda a: (a[0], a[:, 1], a[..., -1], a[1:, ::2], a[None], a[-1:]), (real(3, 4),)),
    "index_tensor": (lambda a, i: (a[i], a[:, i], a[i, i]), (real(4, 4), whole(3, high=4))),
    "index_mask": (lambda a: a * (a > 0), (real(4, 4),)),
    "index_lists": (lambda a: (a[[0, 2]], a[:, [1, 0]]), (real(3, 4),)),
    "gather": (lambda a, i: (a.gather(1, i), tl.take_along_dim(a, i, 1)), (real(3, 4), whole(3, 2, high=4))),
    "scatter": (
        lambda a, i: (a.scatter(1, i, 2.0), a.scatter_add(1, i, a[:, :2])),
        (real(3, 4), tl.tensor([[0, 1], [2, 3], [1, 0]])),
    ),
    "scatter_reduce": (
        lambda a, i: a.scatter_reduce(1, i, a[:, :2], "amax"),
        (real(3, 4), tl.tensor([[0, 1], [2, 3], [1, 0]])),
    ),
    "index_select": (
        lambda a, i: (a.index_select(1, i), tl.narrow(a, 1, 1, 2)),
        (real(3, 4), whole(3, high=4)),
    ),
    "index_add": (lambda a, i: a.index_add(0, i, a[:2]), (real(3, 4), tl.tensor([2, 0]))),
    "index_put": (lambda a, i: a.index_put((i,), tl.zeros(4)), (real(3, 4), tl.tensor([2, 0]))),
    "masked_fill": (lambda a: a.masked_fill(a > 0, -1.0), (real(3, 4),)),
    "masked_select": (lambda a: tl.masked_select(a, a > 0), (real(3, 4),)),
    "nonzero": (lambda a: tl.nonzero(a > 0), (real(3, 4),)),
    "write_slice": (write_slice, (real(3, 4),)),
    "write_views": (write_views, (real(3, 4),)),
    "write_index": (write_index, (real(3, 4), tl.tensor([2, 0]))),
    "slice_scatter": (lambda a: tl.slice_scatter(a, tl.zeros(2, 4), 0, 1, 3), (real(3, 4),)),
    "searchsorted": (lambda a: tl.bucketize(a, tl.tensor([-0.5, 0.0, 0.5])), (real(6),)),
    "argwhere": (
        lambda a: (tl.argwhere(a > 0), a.scatter(1, tl.tensor([[0], [1]]), 2.0, reduce="add")),
        (real(2, 4),),
    ),
    "triangle_indices": (lambda a: (a[tl.tril_indices(3, 3)[0]], tl.logspace(0, 2, 4) + a[0]), (real(3, 4),)),
    "index_fill": (
        lambda a, i: (a.index_fill(1, i, 2.0), a.index_copy(1, i, a[:, :2]), a.take(i)),
        (real(3, 4), tl.tensor([2, 0])),
    ),
    # products
    "matmul": (lambda a, b: (a @ b, tl.mm(a, b), a.mv(b[:, 0])), (real(2, 3), real(3, 4))),
    "batched_matmul": (lambda a, b: (a @ b, tl.bmm(a, b)), (real(2, 3, 4), real(2, 4, 5))),
    "addmm": (
        lambda a, b, c: (tl.addmm(c, a, b, beta=0.5, alpha=2), tl.baddbmm(c, a[None], b[None])),
        (real(2, 3), real(3, 4), real(2, 4)),
    ),
    "einsum": (
        lambda a, b: (tl.einsum("bij,bjk->bik", a, b), tl.einsum("bij->b", a)),
        (real(2, 3, 4), real(2, 4, 5)),
    ),
    "outer": (lambda a, b: (tl.outer(a, b), a.dot(a), tl.kron(a[:2, None], b[None])), (real(3), real(4))),
    "cross": (lambda a, b: tl.linalg.cross(a, b), (real(2, 3), real(2, 3))),
    "cdist": (lambda a, b: tl.cdist(a, b), (real(3, 4), real(2, 4))),
    "bilinear": (module(tl_nn.Bilinear, 3, 4, 2), (real(2, 3), real(2, 4))),
    # layers
    "linear": (module(tl_nn.Linear, 4, 3), (real(2, 4),)),
    "conv1d": (module(tl_nn.Conv1d, 3, 4, 3, padding=1, dilation=2), (real(2, 3, 9),)),
    "conv2d": (module(tl_nn.Conv2d, 4, 6, 3, stride=2, groups=2), (real(2, 4, 9, 9),)),
    "conv2d_same": (module(tl_nn.Conv2d, 2, 3, 4, padding="same"), (real(2, 2, 6, 6),)),
    "conv3d": (module(tl_nn.Conv3d, 2, 3, 2), (real(1, 2, 4, 4, 4),)),
    "conv_transpose": (
        module(tl_nn.ConvTranspose2d, 3, 4, 3, stride=2, padding=1, output_padding=1),
        (real(2, 3, 4, 4),),
    ),
    "max_pool": (
        lambda a: (F.max_pool2d(a, 2), F.max_pool2d(a, 3, 2, 1), F.max_pool2d(a, 3, ceil_mode=True)),
        (real(1, 2, 7, 7),),
    ),
    "max_pool_indices": (lambda a: F.max_pool2d(a, 2, return_indices=True), (real(1, 2, 6, 6),)),
    "avg_pool": (
        lambda a: (F.avg_pool2d(a, 2), F.avg_pool2d(a, 3, 1, 1, count_include_pad=False)),
        (real(1, 2, 6, 6),),
    ),
    "pools_1d": (lambda a: (F.max_pool1d(a, 2), F.avg_pool1d(a, 3, 2)), (real(1, 2, 9),)),
    "adaptive_pool": (
        lambda a: (F.adaptive_avg_pool2d(a, 1), F.adaptive_avg_pool2d(a, 3), F.adaptive_max_pool2d(a, 2)),
        (real(1, 2, 6, 6),),
    ),
    "lp_pool": (lambda a: F.lp_pool2d(a, 2, 2), (positive(1, 2, 6, 6),)),
    "upsample": (
        lambda a: (F.interpolate(a, scale_factor=2), F.interpolate(a, size=(7, 5), mode="bilinear")),
        (real(1, 2, 4, 4),),
    ),
    "upsample_corners": (
        lambda a: (
            F.interpolate(a, size=(7, 7), mode="bilinear", align_corners=True),
            F.interpolate(a, size=(8, 8), mode="bicubic"),
        ),
        (real(1, 2, 4, 4),),
    ),
    "upsample_exact": (
        lambda a: (
            F.interpolate(a, size=(7, 5), mode="nearest-exact"),
            F.interpolate(a, scale_factor=1.5, mode="nearest-exact"),
        ),
        (real(1, 2, 4, 4),),
    ),
    "grid_sample": (
        lambda a, g: F.grid_sample(a, g, align_corners=False),
        (real(1, 2, 4, 4), unit(1, 3, 3, 2)),
    ),
    "pixel_shuffle": (lambda a: (F.pixel_shuffle(a, 2), F.pixel_unshuffle(a, 2)), (real(1, 4, 4, 4),)),
    "fold": (lambda a: F.unfold(a, 2), (real(1, 2, 4, 4),)),
    "batch_norm": (module(tl_nn.BatchNorm2d, 3), (real(2, 3, 4, 4),)),
    "layer_norm": (module(tl_nn.LayerNorm, 4), (real(2, 3, 4),)),
    "group_norm": (module(tl_nn.GroupNorm, 2, 4), (real(2, 4, 3, 3),)),
    "instance_norm": (module(tl_nn.InstanceNorm2d, 3, affine=True), (real(2, 3, 4, 4),)),
    "rms_norm": (module(tl_nn.RMSNorm, 4), (real(2, 3, 4),)),
    "local_norm": (module(tl_nn.LocalResponseNorm, 3), (real(2, 4, 3, 3),)),
    "activations": (
        lambda a: (F.relu(a), F.relu6(a), F.elu(a), F.selu(a), F.celu(a), F.leaky_relu(a), F.silu(a)),
        (real(9),),
    ),
    "more_activations": (
        lambda a: (F.gelu(a), F.gelu(a, approximate="tanh"), F.mish(a), F.softplus(a), F.hardswish(a)),
        (real(9),),
    ),
    "hard_activations": (
        lambda a: (F.hardtanh(a), F.hardsigmoid(a), F.hardshrink(a), F.softshrink(a), F.threshold(a, 0.1, 2)),
        (real(9),),
    ),
    "soft_activations": (
        lambda a: (F.softsign(a), F.tanhshrink(a), F.logsigmoid(a), F.glu(a, 0), F.softmin(a, 0)),
        (real(8),),
    ),
    "prelu": (module(tl_nn.PReLU, 3), (real(2, 3, 4),)),
    "embedding": (module(tl_nn.Embedding, 9, 4), (whole(2, 3),)),
    "embedding_bag": (module(tl_nn.EmbeddingBag, 9, 4, mode="sum"), (whole(2, 3),)),
    "dropout": (module(tl_nn.Dropout, 0.5), (real(2, 3),)),
    "cosine": (
        lambda a, b: (F.cosine_similarity(a, b), F.normalize(a), F.pairwise_distance(a, b)),
        (real(3, 4), real(3, 4)),
    ),
    "losses": (
        lambda a, b: (F.mse_loss(a, b), F.l1_loss(a, b), F.smooth_l1_loss(a, b), F.huber_loss(a, b)),
        (real(3, 4), real(3, 4)),
    ),
    "class_losses": (
        lambda a, t: (F.cross_entropy(a, t), F.nll_loss(F.log_softmax(a, 1), t)),
        (real(3, 4), whole(3, high=4)),
    ),
    "binary_losses": (
        lambda a, b: (
            F.binary_cross_entropy_with_logits(a, b),
            F.binary_cross_entropy(a.sigmoid(), b),
            F.kl_div(a, b, reduction="batchmean"),
        ),
        (real(3, 4), positive(3, 4) / 2),
    ),
    # recurrent layers, attention, transformers
    "lstm": (module(Recurrent, tl_nn.LSTM), (real(2, 6, 4),)),
    "lstm_deep": (module(Recurrent, tl_nn.LSTM, num_layers=2, bidirectional=True), (real(2, 6, 4),)),
    "gru": (module(Recurrent, tl_nn.GRU, bidirectional=True), (real(2, 6, 4),)),
    "rnn": (module(Recurrent, tl_nn.RNN), (real(2, 6, 4),)),
    "lstm_cell": (module(tl_nn.LSTMCell, 4, 5), (real(2, 4),)),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        (real(2, 2, 5, 4), real(2, 2, 5, 4), real(2, 2, 5, 4)),
    ),
    "causal_attention": (
        lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
        (real(2, 2, 5, 4),),
    ),
    "masked_attention": (
        lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m),
        (real(2, 2, 5, 4), tl.ones(5, 5, dtype=tl.bool).tril()),
    ),
    "multihead": (module(Attention), (real(2, 5, 8),)),
    "transformer": (module(tl_nn.TransformerEncoderLayer, 8, 2, 16, batch_first=True), (real(2, 5, 8),)),
    "diagonals": (lambda a: (tl.diag_embed(a), tl.diag_embed(a, 1)), (real(3, 4),)),
    # control flow, complex numbers, data
    "cond": (choose, (real(4),)),
    "cond_nested": (choose_in_choice, (real(4),)),
    "while_loop": (repeat, (real(3),)),
    "scan": (accumulate, (real(5, 3),)),
    "fft": (lambda a: (tl.fft.rfft(a).abs(), tl.view_as_real(tl.fft.fft(a))), (real(2, 8),)),
    "inverse_fft": (lambda a: tl.fft.irfft(tl.fft.rfft(a)), (real(2, 8),)),
    "rotary": (rotate, (real(2, 3, 4, 6),)),
    "complex_parts": (
        lambda a: (tl.fft.fft(a).real, tl.fft.fft(a).imag, tl.fft.fft(a).angle()),
        (real(2, 5).abs(),),  # the angle of a negative sum without imaginary part has two signs
    ),
    "complex_numbers": (lambda a: tl.view_as_real(tl.fft.fft(a) * (2 + 3j) + a - 1.5 + 2), (real(2, 5),)),
    "complex_shapes": (
        lambda a: tl.view_as_real(tl.complex(a, -a).reshape(3, 2).unsqueeze(-1).transpose(0, 1)[1].exp()),
        (real(2, 3),),
    ),
    "no_grad": (tl.no_grad()(lambda a: a.exp() * 2), (real(3),)),
    "tensor_constants": (lambda a: a + tl.tensor([1.0, 2.0, 3.0]), (real(2, 3),)),
    "nested_outputs": (lambda a: {"x": a + 1, "y": [a * 2, (a - 1,)]}, (real(2, 3),)),
    "input_as_output": (lambda a, b: (a, b, b, a + b), (real(2), real(2))),
    "zero_dim": (lambda a: (a + 1, a.expand(3), a.reshape(1)), (real(),)),
    "empty": (lambda a: (tl.cat([a, tl.ones(2, 3)]), a.sum(0), a * 2), (real(0, 3),)),
}


def lengths(
    name: str, *sizes: tuple[int, ...], high: int = 0
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """A program with inputs of 3 and of 7 rows: for each input the sizes of a row, and the limit of integers."""
    make = [
        tuple(real(n, *rest) if not high else whole(n, *rest, high=high) for rest in sizes) for n in (3, 7)
    ]
    return PROGRAMS[name][0], make[0], make[1]


# Programs whose first dimension is dynamic, with inputs of two sizes.
DYNAMIC: dict[str, tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = {
    "sums": lengths("sums", (3, 4)),
    "means": lengths("means", (3, 4)),
    "variances": lengths("variances", (4,)),
    "permute": lengths("permute", (3, 4)),
    "topk": lengths("topk", (4,)),
    "index": lengths("index", (4,)),
    "masked_select": lengths("masked_select", (4,)),
    "nonzero": lengths("nonzero", (4,)),
    "losses": lengths("losses", (4,), (4,)),
    "batched_matmul": lengths("batched_matmul", (3, 4), (4, 5)),
    "einsum": lengths("einsum", (3, 4), (4, 5)),
    "linear": lengths("linear", (4,)),
    "conv2d": lengths("conv2d", (4, 9, 9)),
    "max_pool": lengths("max_pool", (2, 7, 7)),
    "adaptive_pool": lengths("adaptive_pool", (2, 6, 6)),
    "upsample": lengths("upsample", (2, 4, 4)),
    "pads": lengths("pads", (2, 5)),
    "batch_norm": lengths("batch_norm", (3, 4, 4)),
    "layer_norm": lengths("layer_norm", (3, 4)),
    "group_norm": lengths("group_norm", (4, 3, 3)),
    "embedding": lengths("embedding", (3,), high=9),
    "lstm": lengths("lstm", (6, 4)),
    "gru": lengths("gru", (6, 4)),
    "rnn": lengths("rnn", (6, 4)),
    "attention": lengths("attention", (2, 5, 4), (2, 5, 4), (2, 5, 4)),
    "multihead": lengths("multihead", (5, 8)),
    "transformer": lengths("transformer", (5, 8)),
    "scan": lengths("scan", (3,)),
    "triangles": lengths("diagonals", (4,)),
    "split_rows": (
        lambda a: a.split(2, 1) + tl.split(a, [a.shape[0] - 2, 2], 0),
        (real(3, 4),),
        (real(7, 4),),
    ),
    "flat": (lambda a: a.reshape(a.shape[0] // 1 * 4), (real(3, 4),), (real(7, 4),)),
    "sizes": (lambda a: a.sum() * a.shape[0] + max(a.shape[0], 2), (real(3, 4),), (real(7, 4),)),
    "arange": (lambda a: a + tl.arange(a.shape[0])[:, None], (real(3, 4),), (real(7, 4),)),
    "new_size": (lambda a: tl.cat([a, a.new_zeros(a.shape[0], 2)], 1), (real(3, 4),), (real(7, 4),)),
}
