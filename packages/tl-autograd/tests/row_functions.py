"""Functions that reach the rows which no call of their own has: each takes tensors of the shapes, in [0.5, 1.5)."""

import tl_core as tl
from tl_core import linalg
from tl_core.operators.packets import aten


def positive(a):
    """A matrix of the kind that Cholesky takes, well-conditioned."""
    return a @ a.mH + 3 * tl.eye(a.shape[-1], dtype=a.dtype)


def regular(a):
    """A matrix whose values lie apart."""
    n = a.shape[-1]
    return a + tl.diag(tl.arange(2.0, 2.0 + 2 * n, 2, dtype=tl.float64)).to(a.dtype)


FUNCTIONS = {
    "norm 2": (lambda x: x.norm(2), [(2, 3)]),
    "norm 3": (lambda x: x.norm(3, dim=1), [(2, 3)]),
    "std": (lambda x: x.std(1), [(2, 3)]),
    "var": (lambda x: x.var(), [(2, 3)]),
    "log_softmax": (lambda x: tl.log_softmax(x, 1), [(2, 3)]),
    "softmax": (lambda x: tl.softmax(x, 1), [(2, 3)]),
    "logsumexp": (lambda x: tl.logsumexp(x, 1), [(2, 3)]),
    "logcumsumexp": (lambda x: tl.logcumsumexp(x, 1), [(2, 3)]),
    "prod": (lambda x: x.prod(1), [(2, 3)]),
    "cumprod": (lambda x: x.cumprod(1), [(2, 3)]),
    "hypot": (lambda x, y: tl.hypot(x, y), [(3,), (3,)]),
    "normalize": (lambda x: x / x.norm(2, 1, keepdim=True).clamp_min(1e-12), [(2, 3)]),
    "cdist": (lambda x, y: tl.cdist(x, y + 2), [(2, 3), (2, 3)]),
    "pdist": (lambda x: tl.pdist(x), [(3, 2)]),
    "tanh network": (lambda x, w, v: tl.tanh(x @ w) @ v, [(2, 3), (3, 3), (3,)]),
    "sigmoid network": (lambda x, w: ((tl.sigmoid(x @ w) - x) ** 2).mean(), [(2, 2), (2, 2)]),
    "inv": (lambda a: linalg.inv(regular(a)), [(3, 3)]),
    "det": (lambda a: linalg.det(regular(a)), [(3, 3)]),
    "slogdet": (lambda a: linalg.slogdet(regular(a))[1], [(3, 3)]),
    "cholesky": (lambda a: linalg.cholesky(positive(a)), [(3, 3)]),
    "cholesky_solve": (lambda b, a: tl.cholesky_solve(b, linalg.cholesky(positive(a))), [(3, 2), (3, 3)]),
    "cholesky_inverse": (lambda a: tl.cholesky_inverse(linalg.cholesky(positive(a))), [(3, 3)]),
    "solve": (lambda a, b: linalg.solve(regular(a), b), [(3, 3), (3, 2)]),
    "solve_triangular": (
        lambda a, b: linalg.solve_triangular(regular(a).triu(), b, upper=True), [(3, 3), (3, 2)],
    ),
    "lu_factor": (lambda a: linalg.lu_factor(regular(a))[0], [(3, 3)]),
    "lstsq": (lambda a, b: linalg.lstsq(regular(a), b)[0], [(3, 3), (3, 2)]),
    "pinv": (lambda a: linalg.pinv(a), [(3, 2)]),
    "matrix_exp": (lambda a: linalg.matrix_exp(a / 2), [(3, 3)]),
    "qr": (lambda a: linalg.qr(regular(a))[1].abs(), [(3, 3)]),
    "eigvalsh": (lambda a: linalg.eigvalsh(regular(a) + regular(a).mH), [(3, 3)]),
    "svdvals": (lambda a: linalg.svdvals(regular(a)), [(3, 3)]),
    "svdvals of a tall matrix": (lambda a: linalg.svdvals(a), [(3, 2)]),
    "nuclear norm": (lambda a: linalg.matrix_norm(regular(a), "nuc"), [(3, 3)]),
    "spectral norm": (lambda a: linalg.matrix_norm(regular(a), 2), [(3, 3)]),
    "householder_product": (lambda a, t: linalg.householder_product(a, t), [(3, 2), (2,)]),
    "fft": (lambda x: aten.fft_fft(x + 0j).abs(), [(4,)]),
    "rfft": (lambda x: aten.fft_rfft(x).abs(), [(5,)]),
    "irfft": (lambda x: aten.fft_irfft(x + 0j, 5).exp(), [(3,)]),
    "lstm_cell": (
        lambda x, h, c, w, u: tl.lstm_cell(x, (h, c), w, u),
        [(2, 2), (2, 2), (2, 2), (8, 2), (8, 2)],
    ),
    "gru_cell": (lambda x, h, w, u: tl.gru_cell(x, h, w, u), [(2, 2), (2, 2), (6, 2), (6, 2)]),
    "rnn_tanh_cell": (lambda x, h, w, u: tl.rnn_tanh_cell(x, h, w, u), [(2, 2), (2, 2), (2, 2), (2, 2)]),
    "attention": (
        lambda q, k, v: aten.scaled_dot_product_attention(q, k, v), [(1, 3, 2), (1, 4, 2), (1, 4, 2)],
    ),
    "causal attention": (
        lambda q, k, v: aten.scaled_dot_product_attention(q, k, v, is_causal=True), [(3, 2), (3, 2), (3, 2)],
    ),
    "layer_norm": (lambda x, w, b: aten.layer_norm(x, (3,), w, b), [(2, 3), (3,), (3,)]),
    "rms_norm": (lambda x, w: aten.rms_norm(x, (3,), w), [(2, 3), (3,)]),
    "group_norm": (lambda x, w, b: aten.group_norm(x, 2, w, b), [(2, 4, 2), (4,), (4,)]),
    "batch_norm": (lambda x, w, b: aten.batch_norm(x, w, b, None, None, True, 0.1, 1e-5, False), [(4, 2), (2,), (2,)]),
    "instance_norm": (lambda x: aten.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False), [(2, 2, 4)]),
    "nll_loss": (lambda x: aten.nll_loss_nd(tl.log_softmax(x, 1), tl.tensor([1, 0])), [(2, 3)]),
    "embedding": (lambda w: aten.embedding(w, tl.tensor([0, 2, 2])).exp(), [(3, 2)]),
    "embedding_bag": (
        lambda w: aten.embedding_bag(w, tl.tensor([0, 2, 2]), tl.tensor([0, 1]))[0].exp(), [(3, 2)],
    ),
    "conv2d": (lambda x, w, b: aten.conv2d.padding(x, w, b, padding="same").tanh(), [(1, 2, 3, 3), (2, 2, 2, 2), (2,)]),
    "gelu": (lambda x: aten.gelu(x), [(4,)]),
    "softplus": (lambda x: aten.softplus(x), [(4,)]),
    "erfinv": (lambda x: tl.erfinv(x / 2), [(4,)]),
    "expm1": (lambda x: tl.expm1(x), [(4,)]),
    "renorm": (lambda x: tl.renorm(x, 2, 0, 1.0), [(2, 3)]),
    "trapezoid": (lambda y, x: tl.trapezoid(y.exp(), x), [(4,), (4,)]),
}  # fmt: skip

# Without complex inputs, or not a function of them that has a derivative.
REAL_FUNCTIONS = {
    "norm 2", "norm 3", "std", "var", "log_softmax", "softmax", "logsumexp", "hypot", "normalize",
    "cdist", "pdist", "sigmoid network", "qr", "svdvals of a tall matrix", "rfft", "lstm_cell",
    "gru_cell", "rnn_tanh_cell", "attention", "causal attention", "layer_norm", "rms_norm", "group_norm",
    "batch_norm", "instance_norm", "nll_loss", "gelu", "softplus", "erfinv", "renorm",
    "embedding", "embedding_bag", "lu_factor", "householder_product", "trapezoid", "slogdet", "lstsq",
}  # fmt: skip
