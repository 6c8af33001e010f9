"""One representative case for each operator, at about 1 K and 1 M elements: `nox -s bench -- --all-ops`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tools.bench.cases import Case, Group
from tools.bench.pair import Measured

MEAN, LARGEST = 0.5, 1.3  # of all together; of each, but where there is a reason
SMALL = Group("every operator, 1 K elements", mean=MEAN)
LARGE = Group("every operator, 1 M elements", mean=MEAN)
# N elements as S x S, as R rows of 64, as D x D x D; A square matrices in a batch.
_SHAPES = {SMALL: {"N": 1024, "S": 32, "R": 16, "D": 10, "B": 1, "A": 32}, LARGE: {
    "N": 1 << 20, "S": 1024, "R": 1 << 14, "D": 101, "B": 16, "A": 256}}  # fmt: skip

# x, y, z lie between 0.1 and 0.9, so that most functions are defined there; i, j, k are numbers, l are places.
_INPUTS = """\
torch.manual_seed(0)
F = torch.nn.functional
x, y, z = (torch.rand(N) * 0.8 + 0.1 for _ in range(3))
i, j, k = (torch.randint(1, 100, (N,)) for _ in range(3))
l = torch.randint(0, N, (N,))
b, d = x > 0.5, y > 0.5
c, e = torch.complex(x, y), torch.complex(y, z)
m, w = x.reshape(S, S), y.reshape(S, S)
o = torch.randint(0, S, (S, S))
r, q = x.reshape(R, 64), y.reshape(R, 64)
v = torch.rand(S)
u = torch.rand(D, D, D)
a = torch.rand(B, A, A) + A * torch.eye(A)
p = a @ a.mT
"""

# Called on one input.
_ONE = {
    "x": """abs acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh ceil cos cosh
        deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac i0 isfinite isinf isnan isneginf isposinf
        isreal lgamma log log10 log1p log2 logit nan_to_num neg negative positive rad2deg reciprocal round rsqrt
        sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc frexp relu selu celu rrelu sum mean
        prod amax amin aminmax max min argmax argmin all any nansum nanmean std var std_mean var_mean median
        nanmedian norm count_nonzero sort argsort msort unique unique_consecutive nonzero argwhere flatten ravel
        clone zeros_like ones_like empty_like rand_like randn_like bernoulli histc diff cov corrcoef atleast_1d
        atleast_2d atleast_3d isreal conj resolve_conj resolve_neg is_complex is_floating_point detach
        alias_copy""",
    "b": "logical_not",
    "i": "bitwise_not",
    "c": "real imag conj_physical view_as_real",
    "m": """t fliplr flipud tril triu diag trace atleast_1d argmax argmin t_copy diagonal diagonal_copy""",
}  # fmt: skip

# Called on two.
_TWO = {
    "x, y": """add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow atan2 arctan2 hypot
        maximum minimum fmax fmin copysign nextafter logaddexp logaddexp2 heaviside xlogy eq ne lt le gt ge
        equal greater greater_equal less less_equal not_equal isclose allclose dot inner vdot rsub float_power
        dist ldexp igamma igammac""",
    "i, j": "gcd lcm bitwise_and bitwise_or bitwise_xor",
    "b, d": "logical_and logical_or logical_xor",
    "m, w": "mm matmul",
    "m, v": "mv",
}

_SPECIAL = """airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1
    gammaln i0 i0e i1 i1e log1p log_ndtr logit modified_bessel_i0 modified_bessel_i1 modified_bessel_k0
    modified_bessel_k1 ndtr ndtri psi round scaled_modified_bessel_k0 scaled_modified_bessel_k1 sinc
    spherical_bessel_j0"""
_SPECIAL_OF_TWO = "gammainc gammaincc xlog1py xlogy zeta"
_POLYNOMIALS = """chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
    hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p
    shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
    shifted_chebyshev_polynomial_w"""
_ACTIVATIONS = """celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6
    rrelu selu sigmoid silu softplus softshrink softsign tanh tanhshrink normalize"""
_OF_ROWS = "softmax log_softmax softmin gumbel_softmax"
_LOSSES = """binary_cross_entropy binary_cross_entropy_with_logits huber_loss kl_div l1_loss mse_loss
    poisson_nll_loss smooth_l1_loss soft_margin_loss"""
_TRANSFORMS = "fft ifft rfft ihfft"
_TRANSFORMS_OF_GRIDS = "fft2 ifft2 rfft2 fftn ifftn rfftn ihfft2 ihfftn fftshift ifftshift"
_MATRICES = """cond det inv inv_ex matrix_exp matrix_norm slogdet svdvals qr lu lu_factor lu_factor_ex svd pinv
    vector_norm norm"""
_DEFINITE = "cholesky cholesky_ex eigh eigvalsh ldl_factor ldl_factor_ex matrix_rank"
_WINDOWS = "bartlett blackman cosine exponential gaussian general_hamming hamming hann kaiser nuttall"
_WRITING_OF_TWO = "add_ sub_ mul_ div_ copy_ atan2_ eq_ lt_"
_WRITING = """abs_ ceil_ cos_ erf_ exp_ floor_ neg_ reciprocal_ relu_ round_ rsqrt_ sigmoid_ sign_ sin_ sqrt_ tanh_
    zero_ uniform_ normal_ random_ exponential_ cauchy_ log_normal_ bernoulli_"""
_FOREACH = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg
    reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"""

# Statements of their own, by the operator's name.
_OWN = {
    "addcdiv": "torch.addcdiv(x, y, z)",
    "addcmul": "torch.addcmul(x, y, z)",
    "lerp": "torch.lerp(x, y, z)",
    "where": "torch.where(b, x, y)",
    "clamp": "torch.clamp(x, 0.3, 0.6)",
    "clip": "torch.clip(x, 0.3, 0.6)",
    "clamp_max": "torch.clamp_max(x, 0.6)",
    "clamp_min": "torch.clamp_min(x, 0.3)",
    "threshold": "F.threshold(x, 0.5, 0.0)",
    "polygamma": "torch.polygamma(1, x)",
    "mvlgamma": "torch.mvlgamma(x + 1, 2)",
    "bitwise_left_shift": "torch.bitwise_left_shift(i, 2)",
    "bitwise_right_shift": "torch.bitwise_right_shift(i, 2)",
    "complex": "torch.complex(x, y)",
    "polar": "torch.polar(x, y)",
    "view_as_complex": "torch.view_as_complex(r.reshape(-1, 2))",
    "cumsum": "torch.cumsum(x, 0)",
    "cumprod": "torch.cumprod(x, 0)",
    "cummax": "torch.cummax(x, 0)",
    "cummin": "torch.cummin(x, 0)",
    "logcumsumexp": "torch.logcumsumexp(x, 0)",
    "cumulative_trapezoid": "torch.cumulative_trapezoid(x)",
    "trapezoid": "torch.trapezoid(x)",
    "trapz": "torch.trapz(x)",
    "logsumexp": "torch.logsumexp(r, 1)",
    "sum(1)": "torch.sum(r, 1)",
    "sum(0)": "torch.sum(r, 0)",
    "mode": "torch.mode(o, 1)",
    "kthvalue": "torch.kthvalue(x, N // 2)",
    "topk": "torch.topk(x, 10)",
    "quantile": "torch.quantile(x, 0.3)",
    "nanquantile": "torch.nanquantile(x, 0.3)",
    "searchsorted": "torch.searchsorted(sorted_x, y)",
    "bucketize": "torch.bucketize(y, sorted_x)",
    "bincount": "torch.bincount(i)",
    "histogram": "torch.histogram(x, 64)",
    "histogramdd": "torch.histogramdd(x.reshape(-1, 2), [8, 8])",
    "isin": "torch.isin(i, j[:20])",
    "renorm": "torch.renorm(m, 2, 0, 1.0)",
    "cat": "torch.cat([x, y])",
    "concat": "torch.concat([x, y])",
    "stack": "torch.stack([x, y])",
    "hstack": "torch.hstack([x, y])",
    "vstack": "torch.vstack([x, y])",
    "dstack": "torch.dstack([x, y])",
    "column_stack": "torch.column_stack([x, y])",
    "row_stack": "torch.row_stack([x, y])",
    "block_diag": "torch.block_diag(v, v)",
    "cartesian_prod": "torch.cartesian_prod(v, v)",
    "combinations": "torch.combinations(v)",
    "meshgrid": "torch.meshgrid(v, v, indexing='ij')",
    "split": "torch.split(m, 4)",
    "chunk": "torch.chunk(m, 4)",
    "tensor_split": "torch.tensor_split(m, 4)",
    "hsplit": "torch.hsplit(m, 4)",
    "vsplit": "torch.vsplit(m, 4)",
    "unbind": "torch.unbind(m)",
    "split_with_sizes": "torch.split_with_sizes(m, [S // 2, S // 2])",
    "split_copy": "torch.split_copy(m, 4)",
    "unbind_copy": "torch.unbind_copy(m)",
    "transpose": "torch.transpose(m, 0, 1)",
    "swapaxes": "torch.swapaxes(m, 0, 1)",
    "swapdims": "torch.swapdims(m, 0, 1)",
    "movedim": "torch.movedim(u, 0, 2)",
    "moveaxis": "torch.moveaxis(u, 0, 2)",
    "permute": "torch.permute(u, (2, 0, 1))",
    "permute_copy": "torch.permute_copy(u, (2, 0, 1))",
    "transpose_copy": "torch.transpose_copy(m, 0, 1)",
    "expand_copy": "torch.expand_copy(v, (S, S))",
    "squeeze_copy": "torch.squeeze_copy(m)",
    "unsqueeze_copy": "torch.unsqueeze_copy(m, 0)",
    "select_copy": "torch.select_copy(m, 0, 1)",
    "narrow_copy": "torch.narrow_copy(m, 0, 1, S // 2)",
    "slice_copy": "torch.slice_copy(m, 0, 1, S // 2)",
    "view_copy": "torch.view_copy(x, (S, S))",
    "unfold_copy": "torch.unfold_copy(x, 0, 8, 8)",
    "squeeze": "torch.squeeze(m)",
    "unsqueeze": "torch.unsqueeze(m, 0)",
    "select": "torch.select(m, 0, 1)",
    "narrow": "torch.narrow(m, 0, 1, 5)",
    "reshape": "torch.reshape(m, (-1,))",
    "unflatten": "torch.unflatten(x, 0, (S, S))",
    "as_strided": "torch.as_strided(x, (S, S), (1, S))",
    "as_strided_copy": "torch.as_strided_copy(x, (S, S), (1, S))",
    "broadcast_to": "torch.broadcast_to(v, (S, S))",
    "broadcast_tensors": "torch.broadcast_tensors(m, v)",
    "expand": "v.expand(S, S)",
    "expand_as": "v.expand_as(m)",
    "view": "x.view(S, S)",
    "view_as": "x.view_as(m)",
    "reshape_as": "x.reshape_as(m)",
    "unfold": "x.unfold(0, 8, 4)",
    "contiguous": "m.t().contiguous()",
    "repeat": "v.repeat(S)",
    "tile": "torch.tile(v, (S,))",
    "repeat_interleave": "torch.repeat_interleave(v, S)",
    "roll": "torch.roll(x, 7)",
    "rot90": "torch.rot90(m)",
    "flip": "torch.flip(x, (0,))",
    "pixel_shuffle": "torch.pixel_shuffle(u[:8, :8, :8].reshape(1, 8, 8, 8).repeat(B, 1, A // 8, A // 32 + 1), 2)",
    "pixel_unshuffle": "torch.pixel_unshuffle(x.reshape(1, 1, S, S), 2)",
    "channel_shuffle": "torch.channel_shuffle(x.reshape(1, 8, -1, 4), 2)",
    "native_channel_shuffle": "torch.native_channel_shuffle(x.reshape(1, 8, -1, 4), 2)",
    "diag_embed": "torch.diag_embed(v)",
    "diagflat": "torch.diagflat(v)",
    "tril_indices": "torch.tril_indices(S, S)",
    "triu_indices": "torch.triu_indices(S, S)",
    "numel": "x.numel()",
    "vander": "torch.vander(v, S)",
    "index": "x[l]",
    "index with a mask": "x[b]",
    "index_put_": "y[l] = x",
    "index_select": "torch.index_select(x, 0, l)",
    "index_add": "torch.index_add(x, 0, l, y)",
    "index_copy": "torch.index_copy(x, 0, l, y)",
    "index_fill": "torch.index_fill(x, 0, l, 0.0)",
    "index_put": "torch.index_put(x, (l,), y)",
    "index_reduce": "torch.index_reduce(x, 0, l, y, 'amax')",
    "gather": "torch.gather(m, 1, o)",
    "scatter": "torch.scatter(m, 1, o, w)",
    "scatter_add": "torch.scatter_add(m, 1, o, w)",
    "scatter_reduce": "torch.scatter_reduce(m, 1, o, w, 'amax')",
    "select_scatter": "torch.select_scatter(m, v, 0, 1)",
    "slice_scatter": "torch.slice_scatter(m, w[:4], 0, 0, 4)",
    "diagonal_scatter": "torch.diagonal_scatter(m, v)",
    "as_strided_scatter": "torch.as_strided_scatter(x, v, (S,), (1,))",
    "take": "torch.take(x, l)",
    "take_along_dim": "torch.take_along_dim(m, o, 1)",
    "put": "torch.put(x, l, y)",
    "masked_fill": "torch.masked_fill(x, b, 0.0)",
    "masked_select": "torch.masked_select(x, b)",
    "masked_scatter": "torch.masked_scatter(x, b, y)",
    "zeros": "torch.zeros(N)",
    "ones": "torch.ones(N)",
    "empty": "torch.empty(N)",
    "full": "torch.full((N,), 2.0)",
    "full_like": "torch.full_like(x, 2.0)",
    "empty_strided": "torch.empty_strided((S, S), (1, S))",
    "new_zeros": "x.new_zeros(N)",
    "arange": "torch.arange(N)",
    "linspace": "torch.linspace(0, 1, N)",
    "logspace": "torch.logspace(0, 1, N)",
    "range": "torch.arange(0.0, N)",
    "eye": "torch.eye(S)",
    "rand": "torch.rand(N)",
    "randn": "torch.randn(N)",
    "randint": "torch.randint(0, 100, (N,))",
    "randperm": "torch.randperm(N)",
    "normal": "torch.normal(x, y)",
    "poisson": "torch.poisson(x)",
    "binomial": "torch.binomial(x.new_full((N,), 10.0), x)",
    "multinomial": "torch.multinomial(x, 10, replacement=True)",
    "tensor": "torch.tensor(listed)",
    "as_tensor": "torch.as_tensor(x)",
    "to": "x.to(torch.float64)",
    "item": "x[0].item()",
    "tolist": "x.tolist()",
    "addmm": "torch.addmm(m, m, w)",
    "addmv": "torch.addmv(v, m, v)",
    "addr": "torch.addr(m, v, v)",
    "ger": "torch.ger(v, v)",
    "outer": "torch.outer(v, v)",
    "kron": "torch.kron(v, v)",
    "bmm": "torch.bmm(a, p)",
    "baddbmm": "torch.baddbmm(a, a, p)",
    "addbmm": "torch.addbmm(a[0], a, p)",
    "chain_matmul": "torch.chain_matmul(m, w)",
    "einsum": "torch.einsum('bij,bjk->bik', a, p)",
    "tensordot": "torch.tensordot(m, w, 1)",
    "cross": "torch.cross(x[:N // 3 * 3].reshape(-1, 3), y[:N // 3 * 3].reshape(-1, 3), dim=1)",
    "cdist": "torch.cdist(r[:S], q[:S])",
    "pdist": "F.pdist(r[:S])",
    "cosine_similarity": "F.cosine_similarity(r, q)",
    "pairwise_distance": "F.pairwise_distance(r, q)",
    "cholesky_inverse": "torch.cholesky_inverse(torch.linalg.cholesky(p))",
    "cholesky_solve": "torch.cholesky_solve(a, torch.linalg.cholesky(p))",
    "geqrf": "torch.geqrf(a)",
    "orgqr": "torch.orgqr(a, a[..., 0])",
    "ormqr": "torch.ormqr(a, a[..., 0], p)",
    "lu_solve": "torch.lu_solve(a, *factored)",
    "lu_unpack": "torch.lu_unpack(*factored)",
    "triangular_solve": "torch.triangular_solve(a, p)",
    "linalg.solve": "torch.linalg.solve(a, p)",
    "linalg.solve_ex": "torch.linalg.solve_ex(a, p)",
    "linalg.solve_triangular": "torch.linalg.solve_triangular(a.triu(), p, upper=True)",
    "linalg.lu_solve": "torch.linalg.lu_solve(*factored, a)",
    "linalg.lstsq": "torch.linalg.lstsq(a, p)",
    "linalg.eig": "torch.linalg.eig(a[:1])",
    "linalg.eigvals": "torch.linalg.eigvals(a[:1])",
    "linalg.matrix_power": "torch.linalg.matrix_power(a, 3)",
    "linalg.multi_dot": "torch.linalg.multi_dot([m, w, m])",
    "linalg.householder_product": "torch.linalg.householder_product(a, a[..., 0])",
    "linalg.cross": "torch.linalg.cross(x[:N // 3 * 3].reshape(-1, 3), y[:N // 3 * 3].reshape(-1, 3))",
    "linalg.vecdot": "torch.linalg.vecdot(r, q)",
    "linalg.vander": "torch.linalg.vander(v, N=S)",
    "linalg.diagonal": "torch.linalg.diagonal(a)",
    "linalg.tensorsolve": "torch.linalg.tensorsolve(a[0], v[:A])",
    "linalg.tensorinv": "torch.linalg.tensorinv(a[0], ind=1)",
    "irfft": "torch.fft.irfft(torch.view_as_complex(r.reshape(R, 32, 2)))",
    "hfft": "torch.fft.hfft(torch.view_as_complex(r.reshape(R, 32, 2)))",
    "irfft2": "torch.fft.irfft2(c.reshape(S, S))",
    "irfftn": "torch.fft.irfftn(c.reshape(S, S))",
    "hfft2": "torch.fft.hfft2(c.reshape(S, S))",
    "hfftn": "torch.fft.hfftn(c.reshape(S, S))",
    "fftfreq": "torch.fft.fftfreq(N)",
    "rfftfreq": "torch.fft.rfftfreq(N)",
    "stft": "torch.stft(x, 64, window=v[:32].repeat(2), return_complex=True)",
    "istft": "torch.istft(torch.view_as_complex(x[:33 * 30].reshape(33, 15, 2)), 64, window=torch.hann_window(64))",
    "cross_entropy": "F.cross_entropy(r, i[:R] % 64)",
    "nll_loss": "F.nll_loss(r, i[:R] % 64)",
    "ctc_loss": "F.ctc_loss(scores, i[:20].reshape(1, 20) % 30 + 1, [64], [20])",
    "cosine_embedding_loss": "F.cosine_embedding_loss(r, q, ones)",
    "hinge_embedding_loss": "F.hinge_embedding_loss(x, torch.sign(y - 0.5))",
    "margin_ranking_loss": "F.margin_ranking_loss(x, y, torch.sign(z - 0.5))",
    "multi_margin_loss": "F.multi_margin_loss(r, i[:R] % 64)",
    "multilabel_margin_loss": "F.multilabel_margin_loss(r, o.reshape(R, 64) % 64)",
    "multilabel_soft_margin_loss": "F.multilabel_soft_margin_loss(r, q)",
    "triplet_margin_loss": "F.triplet_margin_loss(r, q, r + 0.1)",
    "gaussian_nll_loss": "F.gaussian_nll_loss(x, y, z)",
    "dropout": "F.dropout(x, 0.5)",
    "alpha_dropout": "F.alpha_dropout(x, 0.5)",
    "feature_dropout": "F.dropout1d(r, 0.5)",
    "prelu": "F.prelu(r, v[:1])",
    "layer_norm": "F.layer_norm(r, (64,))",
    "rms_norm": "F.rms_norm(r, (64,))",
    "group_norm": "F.group_norm(r.reshape(-1, 16, 64), 4)",
    "batch_norm": "F.batch_norm(r, None, None, training=True)",
    "instance_norm": "F.instance_norm(r.reshape(-1, 16, 64))",
    "local_response_norm": "F.local_response_norm(r.reshape(-1, 16, 64), 5)",
    "linear": "F.linear(r, q[:16])",
    "bilinear": "F.bilinear(r, q, q[:16].reshape(4, 4, 64)[:, :1].expand(4, 64, 64).contiguous())",
    "embedding": "F.embedding(i, table)",
    "embedding_bag": "F.embedding_bag(i.reshape(-1, 16), table)",
    "one_hot": "F.one_hot(i, 100)",
    "conv1d": "F.conv1d(x.reshape(1, 4, -1), torch.ones(4, 4, 3))",
    "conv2d": "F.conv2d(x.reshape(1, 4, S, -1), torch.ones(4, 4, 3, 3))",
    "conv3d": "F.conv3d(u.reshape(1, 1, D, D, D), torch.ones(2, 1, 3, 3, 3))",
    "conv_transpose1d": "F.conv_transpose1d(x.reshape(1, 4, -1), torch.ones(4, 4, 3))",
    "conv_transpose2d": "F.conv_transpose2d(x.reshape(1, 4, S, -1), torch.ones(4, 4, 3, 3))",
    "conv_transpose3d": "F.conv_transpose3d(u.reshape(1, 1, D, D, D), torch.ones(1, 2, 3, 3, 3))",
    "im2col": "F.unfold(x.reshape(1, 1, S, S), 3)",
    "col2im": "F.fold(columns, (S, S), 4, stride=4)",
    "avg_pool1d": "F.avg_pool1d(x.reshape(1, 4, -1), 3)",
    "avg_pool2d": "F.avg_pool2d(x.reshape(1, 4, S, -1), 3)",
    "avg_pool3d": "F.avg_pool3d(u.reshape(1, 1, D, D, D), 3)",
    "max_pool1d": "F.max_pool1d(x.reshape(1, 4, -1), 3)",
    "max_pool2d": "F.max_pool2d(x.reshape(1, 4, S, -1), 3)",
    "max_pool3d": "F.max_pool3d(u.reshape(1, 1, D, D, D), 3)",
    "lp_pool1d": "F.lp_pool1d(x.reshape(1, 4, -1), 2, 3)",
    "lp_pool2d": "F.lp_pool2d(x.reshape(1, 4, S, -1), 2, 3)",
    "fractional_max_pool2d": "F.fractional_max_pool2d(x.reshape(1, 4, S, -1), 2, output_ratio=(0.5, 0.5))",
    "adaptive_avg_pool1d": "F.adaptive_avg_pool1d(x.reshape(1, 4, -1), 5)",
    "adaptive_avg_pool2d": "F.adaptive_avg_pool2d(x.reshape(1, 4, S, -1), 5)",
    "adaptive_avg_pool3d": "F.adaptive_avg_pool3d(u.reshape(1, 1, D, D, D), 5)",
    "adaptive_max_pool1d": "F.adaptive_max_pool1d(x.reshape(1, 4, -1), 5)",
    "adaptive_max_pool2d": "F.adaptive_max_pool2d(x.reshape(1, 4, S, -1), 5)",
    "adaptive_max_pool3d": "F.adaptive_max_pool3d(u.reshape(1, 1, D, D, D), 5)",
    "max_unpool2d": "F.max_unpool2d(*pooled, 2)",
    "interpolate nearest": "F.interpolate(x.reshape(1, 4, S, -1), scale_factor=2)",
    "interpolate nearest-exact": "F.interpolate(x.reshape(1, 4, S, -1), scale_factor=2, mode='nearest-exact')",
    "interpolate linear": "F.interpolate(x.reshape(1, 4, -1), scale_factor=2, mode='linear')",
    "interpolate bilinear": "F.interpolate(x.reshape(1, 4, S, -1), scale_factor=2, mode='bilinear')",
    "interpolate bicubic": "F.interpolate(x.reshape(1, 4, S, -1), scale_factor=2, mode='bicubic')",
    "interpolate trilinear": "F.interpolate(u.reshape(1, 1, D, D, D), scale_factor=1.5, mode='trilinear')",
    "interpolate area": "F.interpolate(x.reshape(1, 4, S, -1), scale_factor=0.5, mode='area')",
    "interpolate antialiased": (
        "F.interpolate(x.reshape(1, 4, S, -1), scale_factor=0.5, mode='bilinear', antialias=True)"
    ),
    "grid_sample": "F.grid_sample(x.reshape(1, 1, S, S), grid, align_corners=False)",
    "affine_grid": "F.affine_grid(torch.eye(2, 3)[None], (1, 1, S, S), align_corners=False)",
    "pad constant": "F.pad(x.reshape(1, 1, S, S), (1, 1, 1, 1))",
    "pad reflect": "F.pad(x.reshape(1, 1, S, S), (1, 1, 1, 1), 'reflect')",
    "pad replicate": "F.pad(x.reshape(1, 1, S, S), (1, 1, 1, 1), 'replicate')",
    "pad circular": "F.pad(x.reshape(1, 1, S, S), (1, 1, 1, 1), 'circular')",
    "scaled_dot_product_attention": "F.scaled_dot_product_attention(heads, heads, heads)",
    "to_sparse": "(x * b).reshape(S, S).to_sparse()",
    "to_dense": "sparse.to_dense()",
    "coalesce": "doubled.coalesce()",
    "sparse.mm": "torch.sparse.mm(sparse, w)",
    "sparse.sum": "torch.sparse.sum(sparse)",
    "complex add": "c + e",
    "complex mul": "c * e",
    "complex exp": "torch.exp(c)",
    "int add": "i + j",
    "int sum": "i.sum()",
    "int64 to float32": "i.float()",
    "half add": "x.half() + y.half()",
    "bfloat16 add": "x.bfloat16() + y.bfloat16()",
    "double exp": "torch.exp(x.double())",
    "gradient": "torch.gradient(x)",
    "logdet": "torch.logdet(p)",
    "corrcoef": "torch.corrcoef(r.t())",
    "cov": "torch.cov(r.t())",
    "nuclear_norm": "torch.linalg.matrix_norm(a, 'nuc')",
    "softmax over all": "torch.softmax(x, 0)",
    "addcmul_": "y.addcmul_(x, z, value=0.0)",
    "lerp_": "y.lerp_(x, 0.1)",
    "clamp_": "y.clamp_(0.2, 0.8)",
    "geometric_": "z.geometric_(0.5)",
    "fill_": "y.fill_(0.5)",
    "masked_fill_": "y.masked_fill_(b, 0.5)",
    "index_add_": "z.index_add_(0, l, x)",
    "scatter_add_": "w.scatter_add_(1, o, m)",
    "foreach add": "torch._foreach_add([x, y, z], 1.0)",
    "foreach mul": "torch._foreach_mul([x, y], [y, z])",
    "foreach addcmul": "torch._foreach_addcmul([x], [y], [z])",
    "foreach addcdiv": "torch._foreach_addcdiv([x], [y], [z])",
    "foreach pow": "torch._foreach_pow([x, y], 2.0)",
    "foreach lerp": "torch._foreach_lerp([x], [y], 0.1)",
    "foreach norm": "torch._foreach_norm([x, y, z])",
    "foreach maximum": "torch._foreach_maximum([x], [y])",
    "foreach minimum": "torch._foreach_minimum([x], [y])",
    "foreach zero_": "torch._foreach_zero_([z])",
}

# What only some statements need.
_FURTHER = {
    "sorted_x": "sorted_x = x.sort().values",
    "listed": "listed = x.tolist()",
    "factored": "factored = torch.linalg.lu_factor(a)",
    "scores": "scores = torch.rand(64, 1, 32).log_softmax(2)",
    "ones": "ones = torch.ones(R)",
    "table": "table = torch.rand(100, 16)",
    "columns": "columns = F.unfold(x.reshape(1, 1, S, S), 4, stride=4)",
    "pooled": "pooled = F.max_pool2d(x.reshape(1, 1, S, S), 2, return_indices=True)",
    "grid": "grid = torch.rand(1, S, S, 2) * 2 - 1",
    "heads": "heads = x.reshape(1, 4, -1, 64) if N < 5000 else x[:1 << 18].reshape(1, 8, 512, 64)",
    "sparse": "sparse = (m * (w > 0.85)).to_sparse()",
    "doubled": "doubled = torch.sparse_coo_tensor(torch.stack([o[0], o[1]]), v, (S, S))",
}


def _statements() -> dict[str, str]:
    found: dict[str, str] = {}

    def add(names: str, statement: str, title: str = "{}") -> None:
        for name in names.split():
            found.setdefault(title.format(name), statement.format(name))

    for tables in (_ONE, _TWO):
        for inputs, names in tables.items():
            add(names, f"torch.{{}}({inputs})")
    add(_SPECIAL, "torch.special.{}(x)", "special.{}")
    add(_SPECIAL_OF_TWO, "torch.special.{}(x, y)", "special.{}")
    add(_POLYNOMIALS, "torch.special.{}(x, 5)", "special.{}")
    add(_ACTIVATIONS, "F.{}(r)", "nn.functional.{}")
    add(_OF_ROWS, "F.{}(r, dim=1)", "nn.functional.{}")
    add(_LOSSES, "F.{}(x, y)", "nn.functional.{}")
    add(_TRANSFORMS, "torch.fft.{}(r)", "fft.{}")
    add(_TRANSFORMS_OF_GRIDS, "torch.fft.{}(m)", "fft.{}")
    add(_MATRICES, "torch.linalg.{}(a)", "linalg.{}")
    add(_DEFINITE, "torch.linalg.{}(p)", "linalg.{}")
    add(_WINDOWS, "torch.signal.windows.{}(N)", "windows.{}")
    add(_WRITING_OF_TWO, "y.{}(x)", "Tensor.{}")
    add(_WRITING, "z.{}()", "Tensor.{}")
    add(_FOREACH, "torch._foreach_{}([x, y])", "foreach {}")
    found.update(_OWN)
    return found


def _setup(group: Group, statement: str) -> str:
    sizes = "".join(f"{name} = {value}\n" for name, value in _SHAPES[group].items())
    further = "".join(f"{line}\n" for name, line in _FURTHER.items() if name in statement)
    return sizes + _INPUTS + further


def cases() -> list[Case]:
    """All cases: the small ones first."""
    first = Case(SMALL, "", "", "", rounds=1, builds=1)
    return [
        replace(first, group=group, name=name, setup=_setup(group, statement), run=statement)
        for group in (SMALL, LARGE)
        for name, statement in _statements().items()
    ]


def slower(measured: Iterable[Measured]) -> list[Measured]:
    """Those above what is asked of each, the slowest first."""
    return sorted((m for m in measured if not m.error and m.ratio > LARGEST), key=lambda m: -m.ratio)
