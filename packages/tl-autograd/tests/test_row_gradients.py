"""The derivative of every row, and the derivative of that, against finite differences."""

import sys
import zlib
from pathlib import Path

import pytest

import tl_core as tl
from tl_autograd import gradcheck, gradgradcheck
from tl_core.operators import packets as ops

CORE = Path(__file__).parents[2] / "tl-core"
if not (CORE / "opgen").is_dir():
    pytest.skip(
        "the rows stand in tl-core's sources, which are not beside these tests", allow_module_level=True
    )
sys.path[:0] = [str(CORE), str(Path(__file__).parent)]
import grid_calls  # noqa: E402
from opgen import collect  # noqa: E402

ROWS = {row.name: row for row in collect.rows()}
# Without a loop of their own kind: how each is called. `t(3, 4)` is a leaf of that shape.
ROW, GRID = tl.tensor([2, 0, 1]), tl.tensor([[0, 2, 1, 0], [1, 0, 2, 2], [2, 1, 0, 1]])
ONE_ZERO = tl.tensor([1.0, 0.0, 2.0])
MASK = tl.tensor([[True, False, True, False], [False, False, True, True], [True, True, True, False]])
CALLS = {
    "copy_": lambda op, t: op(t(3, 4).clone(), t(4)),
    "clone": lambda op, t: op(t(3, 4)),
    "_to_copy": lambda op, t: op(t(3, 4)),
    "fill.Scalar": lambda op, t: op(t(3), 2.0) + t(3),
    "fill.Tensor": lambda op, t: op(t(3), t()),
    "fill_.Scalar": lambda op, t: op(t(3).clone(), 2.0) + t(3),
    "fill_.Tensor": lambda op, t: op(t(3).clone(), t()),
    "zero_": lambda op, t: op(t(3).clone()) + t(3),
    "div.Tensor_mode": lambda op, t: op(t(3, 4), t(4), rounding_mode=None),
    "clamp": lambda op, t: op(t(3, 4), 0.8, 1.2) + op(t(4), min=1.1) + op(t(3, 1), max=1.1),
    "clamp.Tensor": lambda op, t: op(t(3, 4), t(4), t(3, 1)) + op(t(4), min=t(4)) + op(t(4), max=t(4)),
    "round.decimals": lambda op, t: op(t(3, 4), decimals=1),
    "nan_to_num": lambda op, t: op(t(3, 4), 0.0),
    "rsub.Tensor": lambda op, t: op(t(3, 4), t(4), alpha=2),
    "deg2rad": lambda op, t: op(t(3, 4)),
    "rad2deg": lambda op, t: op(t(3, 4)),
    "nextafter": lambda op, t: op(t(3, 4), t(4)),
    "softshrink": lambda op, t: op(t(3, 4), 0.7),
    "ldexp.Tensor": lambda op, t: op(t(3, 4), t(4)),
    "float_power.Tensor_Tensor": lambda op, t: op(t(3, 4), t(4)),
    "float_power.Scalar": lambda op, t: op(1.5, t(4)),
    "float_power.Tensor_Scalar": lambda op, t: op(t(4), 2.5),
    "logit": lambda op, t: op(t(3, 4) * 0.5) + op(t(4) * 0.5, 0.4),
    "polygamma": lambda op, t: op(1, t(4)),
    "frexp.Tensor": lambda op, t: op(t(3, 4))[0],
    "complex": lambda op, t: op(t(3, 4), t(4)),
    "polar": lambda op, t: op(t(3, 4), t(4)),
    "segment_reduce": lambda op, t: sum(
        op(t(5), name, lengths=tl.tensor([2, 3]), initial=1.0)
        for name in ("sum", "mean", "max", "min", "prod")
    ),
    "celu": lambda op, t: op(t(3, 4) - 1, 0.5),
    "selu": lambda op, t: op(t(3, 4) - 1),
    "elu_backward": lambda op, t: (
        op(t(4), 2.0, 1.5, 0.5, False, t(4) - 1) + op(t(4), 2.0, 1.5, 0.5, True, t(4) - 1)
    ),
    "_prelu_kernel": lambda op, t: op(t(3, 4) - 1, t(4)),
    "gelu": lambda op, t: op(t(3, 4)) + op(t(4), approximate="tanh"),
    "gelu_backward": lambda op, t: op(t(3, 4), t(4)) + op(t(4), t(4), approximate="tanh"),
    "index.Tensor": lambda op, t: op(t(3, 4), [None, ROW]),
    "index_put_": lambda op, t: (
        op(t(3, 4).clone(), [ROW, ROW], t(3)) + op(t(3, 4).clone(), [ROW], t(3, 4), True)
    ),
    "_distances": lambda op, t: (
        op(t(3, 2), t(2, 4, 2) + 2.0, 2.0, True, False) + op(t(3, 2), t(2, 4, 2) + 2.0, 3.0, False, False)
    ),
    "gather": lambda op, t: op(t(3, 4), 0, GRID),
    "scatter.src": lambda op, t: op(t(3, 4), 1, GRID[:, :1], t(3, 1)),
    "scatter.value": lambda op, t: op(t(3, 4), 0, GRID, 2.0),
    "scatter_add": lambda op, t: op(t(3, 4), 0, GRID, t(3, 4)),
    "index_select": lambda op, t: op(t(3, 4), 0, tl.tensor([0, 2, 2, 1])),
    "index_select_backward": lambda op, t: op(t(3, 4), (5, 4), 0, tl.tensor([0, 2, 2])),
    "scatter_reduce.two": lambda op, t: (
        op(t(3, 4), 0, GRID, t(3, 4), "sum")
        + op(t(3, 4), 1, GRID % 2, t(3, 4), "mean", include_self=False)
        + op(t(3, 4), 0, GRID, t(3, 4), "prod")
        + op(t(3, 4), 0, GRID, t(3, 4), "prod", include_self=False)
    ),
    "masked_select": lambda op, t: op(t(4), MASK) + op(t(3, 4), MASK),
    "masked_scatter": lambda op, t: op(t(3, 4), MASK, t(9)),
    "prod": lambda op, t: op(t(3, 2)) + op(t(3) * ONE_ZERO) + op(t(3) * 0),
    "prod.dim_int": lambda op, t: op(t(3, 4) * MASK, 1) + op(t(2, 3), 0, True).sum(),
    "linalg_vector_norm": lambda op, t: sum(
        op(t(2, 3), p, (1,)) for p in (2, 1, 3, 1.5, 0.5, 0, float("inf"), -float("inf"))
    ),
    "logcumsumexp": lambda op, t: op(t(3, 4), 1),
    "cummax": lambda op, t: op(t(3, 4), 1)[0],
    "cummin": lambda op, t: op(t(3, 4), 0)[0],
    "kthvalue": lambda op, t: op(t(3, 4), 2, 1)[0] + op(t(3, 4), 1, 0, True)[0].sum(),
    "median": lambda op, t: op(t(5)),
    "median.dim": lambda op, t: op(t(3, 4), 1)[0],
    "nanmedian": lambda op, t: op(t(5)),
    "nanmedian.dim": lambda op, t: op(t(3, 4), 1, True)[0],
    "mode": lambda op, t: op(t(3, 4), 1)[0],
    "masked_fill.Scalar": lambda op, t: op(t(3, 4), MASK, 2.0),
    "masked_fill.Tensor": lambda op, t: op(t(3, 4), MASK, t()),
    "mm": lambda op, t: op(t(3, 4), t(4, 2)),
    "bmm": lambda op, t: op(t(2, 3, 4), t(2, 4, 2)),
    "addmm": lambda op, t: op(t(2), t(3, 4), t(4, 2), beta=2, alpha=3),
    "linear": lambda op, t: (
        op(t(2, 3, 4), t(5, 4), t(5)).sum() + op(t(2, 4), t(4)).sum() + op(t(4), t(4), t())
    ),
    "baddbmm": lambda op, t: op(t(2), t(2, 3, 4), t(2, 4, 2), beta=2, alpha=3),
    "addmv": lambda op, t: op(t(3), t(3, 4), t(4), beta=2, alpha=3),
    "mv": lambda op, t: op(t(3, 4), t(4)),
    "dot": lambda op, t: op(t(5), t(5)),
    "tril": lambda op, t: op(t(2, 3, 4), 1),
    "convolution": lambda op, t: (
        op(t(2, 2, 4, 5), t(4, 1, 2, 3), t(4), (2, 1), (0, 1), (1, 2), False, (0, 0), 2)
        + op(t(2, 2, 3), t(2, 4, 2), t(4), (2,), (1,), (1,), True, (1,), 1).sum()
    ),
    "_convolve": lambda op, t: op(t(1, 2, 5), t(2, 2, 2), t(2), (1, 2, 5), (1,), (0,), (1,), 1),
    "_convolve_input": lambda op, t: op(t(1, 2, 4), t(2, 2, 2), t(2), (1, 2, 5), (1,), (0,), (1,), 1),
    "_convolve_weight": lambda op, t: op(t(2, 2, 4), t(2, 2, 5), (2, 2, 2), (1,), (0,), (1,), 1),
    "im2col": lambda op, t: op(t(1, 2, 4, 5), (2, 3), (1, 1), (1, 0), (2, 1)),
    "col2im": lambda op, t: op(t(1, 12, 9), (4, 5), (2, 3), (1, 1), (1, 0), (2, 1)),
    "triu": lambda op, t: op(t(3, 4), -1),
    "_softmax": lambda op, t: op(t(3, 4), 1, False),
    "_log_softmax": lambda op, t: op(t(3, 4), 0, False),
    "_softmax_backward_data": lambda op, t: op(t(3, 4), t(3, 4), 1, tl.float64),
    "_log_softmax_backward_data": lambda op, t: op(t(3, 4), t(3, 4), 1, tl.float64),
    "native_dropout_backward": lambda op, t: op(t(3, 4), MASK, 2.0),
    "sum": lambda op, t: op(t(3, 4)),
    "sum.dim_IntList": lambda op, t: op(t(2, 3, 4), (0, 2)) + op(t(3, 2), 1, True).sum(),
    "mean": lambda op, t: op(t(3, 4)),
    "mean.dim": lambda op, t: op(t(2, 3, 4), (0, -1)),
    "amax": lambda op, t: op(t(2, 3, 4), (0, 2)),
    "amin": lambda op, t: op(t(3, 4), 1, True),
    "max": lambda op, t: op(t(3, 4)),
    "max.dim": lambda op, t: op(t(3, 4), 1)[0],
    "min": lambda op, t: op(t(3, 4)),
    "min.dim": lambda op, t: op(t(3, 4), 0, True)[0],
    "logsumexp": lambda op, t: op(t(3, 4), (1,)),
    "var.correction": lambda op, t: op(t(3, 4), 1, correction=0),
    "std.correction": lambda op, t: op(t(3, 4), None, correction=2, keepdim=True),
    "var_mean.correction": lambda op, t: op(t(3, 4), 1),
    "std_mean.correction": lambda op, t: op(t(3, 4), None, correction=0, keepdim=True),
    "cumsum": lambda op, t: op(t(3, 4), 0),
    "cumprod": lambda op, t: op(t(3, 4) * MASK, 1) + op(t(3, 4), 0),
    "cumsum_backward": lambda op, t: op(t(3, 4), 1),
    "sort": lambda op, t: op(t(3, 4), 0, True)[0],
    "sort.stable": lambda op, t: op(t(3, 4), stable=True)[0],
    "topk": lambda op, t: op(t(3, 4), 2)[0],
    "cat": lambda op, t: op([t(3, 1), t(3, 0), t(3, 2)], 1),
    "stack": lambda op, t: op([t(3), t(3)], 1),
    "flip": lambda op, t: op(t(2, 3, 4), (0, -1)),
    "diag_embed": lambda op, t: op(t(2, 3), -1, 0, 2),
    "linalg_cross": lambda op, t: op(t(3, 2), t(3, 2), dim=0) + op(t(2, 3), t(1, 3)).sum(),
    "as_strided_scatter": lambda op, t: op(t(3, 4), t(2, 2), (2, 2), (5, 1), 2),
    "unsafe_split.Tensor": lambda op, t: op(t(5, 2), 2)[1] + op(t(3, 2), 2, 1)[0].sum(),
    "unsafe_split_with_sizes": lambda op, t: op(t(5, 2), (1, 4))[1],
    "permute_backward": lambda op, t: op(t(2, 3, 4), (2, 0, 1)),
    "slice_backward": lambda op, t: op(t(3, 2), (3, 5), 1, 0, 4, 2),
    "select_backward": lambda op, t: op(t(3), (3, 4), 1, 2),
    "diagonal_backward": lambda op, t: op(t(3), (3, 4), 1, 0, 1),
    "unfold_backward": lambda op, t: op(t(3, 2), (4,), 0, 2, 1),
    "as_strided_backward": lambda op, t: op(t(2, 2), (5,), (1,), 0, (2, 2), (1, 1), 1),
    "slice_scatter": lambda op, t: op(t(3, 4), t(3, 2), 1, 0, 4, 2),
    "select_scatter": lambda op, t: op(t(3, 4), t(3), 1, 2),
    "diagonal_scatter": lambda op, t: op(t(3, 4), t(3), 1),
    "split_backward": lambda op, t: op([t(2, 3), t(2, 3), t(1, 3)], (5, 3), 2, 0),
    "split_with_sizes_backward": lambda op, t: op([t(2, 3), t(3, 3)], (5, 3), (2, 3), 0),
    "unbind_backward": lambda op, t: op([t(3), t(3)], (3, 2), 1),
    "unsum": lambda op, t: op(t(3), (3, 4), (1,), False),
    "index_backward": lambda op, t: op(t(3, 4), (5, 4), [ROW]),
    "view": lambda op, t: op(t(3, 4), (2, 6)),
    "transpose.int": lambda op, t: op(t(2, 3, 4), 0, 2),
    "t": lambda op, t: op(t(3, 4)),
    "permute": lambda op, t: op(t(2, 3, 4), (2, 0, 1)),
    "expand": lambda op, t: op(t(3, 1), (2, 3, 4)),
    "as_strided": lambda op, t: op(t(3, 4), (3, 3), (2, 1), 1),
    "slice.Tensor": lambda op, t: op(t(3, 4), 1, 1, None, 2),
    "select.int": lambda op, t: op(t(3, 4), 1, -1),
    "squeeze": lambda op, t: op(t(1, 3, 1)),
    "squeeze.dim": lambda op, t: op(t(1, 3, 1), 2),
    "squeeze.dims": lambda op, t: op(t(1, 3, 1), (0, 2)),
    "unsqueeze": lambda op, t: op(t(3, 4), 1),
    "unfold": lambda op, t: op(t(5), 0, 3, 1),
    "diagonal": lambda op, t: op(t(3, 4), 1),
    "view_as_complex": lambda op, t: op(t(3, 2)).real,
    "alias": lambda op, t: op(t(2, 3)),
    "lift_fresh": lambda op, t: op(t(2, 3)),
    "split.Tensor": lambda op, t: op(t(5, 3), 2),
    "split_with_sizes": lambda op, t: op(t(5, 3), (2, 3)),
    "unbind.int": lambda op, t: op(t(3, 2), 1),
    "transpose_": lambda op, t: op(t(3, 4).clone(), 0, 1),
    "t_": lambda op, t: op(t(3, 4).clone()),
    "squeeze_": lambda op, t: op(t(1, 3, 1).clone()),
    "squeeze_.dim": lambda op, t: op(t(1, 3, 1).clone(), 0),
    "squeeze_.dims": lambda op, t: op(t(1, 3, 1).clone(), (0, 2)),
    "unsqueeze_": lambda op, t: op(t(3, 4).clone(), 1),
    "as_strided_": lambda op, t: op(t(3, 4).clone(), (3, 3), (2, 1), 1),
}
CALLS |= grid_calls.CALLS
COMPLEX_CALLS = {"view_as_real": lambda op, t: op(t(3, 4))}
ORDERED = {
    "clamp",
    "clamp.Tensor",
    "amax",
    "amin",
    "max",
    "max.dim",
    "min",
    "min.dim",
    "sort",
    "sort.stable",
    "topk",
    "cummax",
    "cummin",
    "kthvalue",
    "median",
    "median.dim",
    "nanmedian",
    "nanmedian.dim",
    "mode",
}
SOFTMAX = {"_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data"}
# Copies of views have the derivative of the view.
COPIES = {
    row.name: row.name.replace("_copy", "", 1)
    for row in ROWS.values()
    if row.family == "view_copy" and isinstance(row.grad, dict)
}
CALLS |= {copy: CALLS[view] for copy, view in COPIES.items() if view in CALLS}
COMPLEX_CALLS |= {copy: COMPLEX_CALLS[view] for copy, view in COPIES.items() if view in COMPLEX_CALLS}

NOT_COMPLEX = (
    ORDERED
    | SOFTMAX
    | (grid_calls.CALLS.keys() - grid_calls.COMPLEX)
    | {"logcumsumexp", "linalg_vector_norm", "_distances"}
    | {
        "segment_reduce",
        "round.decimals",
        "nan_to_num",
        "deg2rad",
        "rad2deg",
        "logit",
        "polygamma",
        "frexp.Tensor",
        "complex",
        "polar",
        "celu",
        "selu",
    }
    | {"nextafter", "softshrink", "elu_backward", "_prelu_kernel", "gelu", "gelu_backward"}
    | {"logcumsumexp", "linalg_vector_norm", "_distances"}
    | {
        "logsumexp",
        "view_as_complex",
        "view_as_complex_copy",
        "std.correction",
        "var.correction",
        "native_dropout_backward",
    }
)
COMPOSITES = {
    "max_pool2d": lambda op, t: op(t(2, 4, 5), 2),
    "max_pool1d": lambda op, t: op(t(2, 5), 2, 1),
    "avg_pool3d": lambda op, t: op(t(1, 3, 4, 2), 2, 1),
    "adaptive_avg_pool1d": lambda op, t: op(t(2, 5), 3),
    "max_unpool2d": lambda op, t: op(t(1, 2, 2), grid_calls.INDICES[:1], (3, 4)),
    "pad": lambda op, t: op(t(2, 3, 4), (1, 2), "circular"),
    "grid_sampler": lambda op, t: op(t(1, 2, 3, 4), t(1, 2, 3, 2) * 0.3 - 0.2, 2, 0, False),
    "affine_grid_generator": lambda op, t: op(t(2, 2, 3), (2, 1, 3, 4), True),
    "pixel_shuffle": lambda op, t: op(t(1, 8, 2, 3), 2),
    "pixel_unshuffle": lambda op, t: op(t(1, 2, 4, 6), 2),
    "channel_shuffle": lambda op, t: op(t(1, 6, 2), 3),
    "isclose": lambda op, t: op(t(3), t(3)) * t(3),
    "mvlgamma": lambda op, t: op(t(3, 4) + 1, 3),
    "glu": lambda op, t: op(t(3, 4), 1),
    "prelu": lambda op, t: op(t(2, 3, 4) - 1, t(3)) + op(t(4) - 1, t(1)),
    "leaky_relu_backward": lambda op, t: op(t(3), t(3), 0.1, False),
    "index_put": lambda op, t: op(t(3, 4), [ROW], t(3, 4), True),
    "index_add": lambda op, t: op(t(3, 4), 1, ROW, t(3, 3), alpha=2) + op(t(3), 0, ROW[0], t()).sum(),
    "index_copy": lambda op, t: op(t(3, 4), 1, ROW, t(3, 3)),
    "index_fill.int_Tensor": lambda op, t: op(t(3, 4), 0, ROW[:2], t()),
    "index_reduce": lambda op, t: (
        op(t(3, 4), 0, ROW, t(3, 4), "amax") + op(t(3, 4), 0, ROW % 2, t(3, 4), "amin", include_self=False)
    ),
    "take": lambda op, t: op(t(3, 4), GRID * 3),
    "take_along_dim": lambda op, t: op(t(3, 1), ROW[:2].reshape(1, 2), 0),
    "put": lambda op, t: op(t(3, 4), ROW, t(3)) + op(t(4, 3).t(), ROW.reshape(3, 1), t(3), True).t().sum(),
    "repeat_interleave.self_Tensor": lambda op, t: op(t(3, 4), ROW, 0),
    "repeat_interleave.self_int": lambda op, t: op(t(3, 4), 2, 1),
    "quantile.scalar": lambda op, t: op(t(3, 4), 0.3, 1) + op(t(4), 0.6, interpolation="midpoint"),
    "nanquantile": lambda op, t: op(t(3, 4), tl.tensor([0.25, 0.7], dtype=tl.float64), 0),
    "diff": lambda op, t: op(t(3, 5), 2, 1, t(3, 1)),
    "trapezoid.x": lambda op, t: op(t(3, 4), t(4)),
    "cumulative_trapezoid.x": lambda op, t: op(t(3, 4), t(3, 4), dim=0),
    "nansum": lambda op, t: op(t(3, 4), 1),
    "nanmean": lambda op, t: op(t(3, 4), (0, 1)),
    "aminmax": lambda op, t: sum(op(t(3, 4), dim=1)),
    "dist": lambda op, t: op(t(3, 4), t(4), 3),
    "matmul": lambda op, t: op(t(2, 1, 3, 4), t(3, 4, 2)),
    "softmax.int": lambda op, t: op(t(3, 4), 0),
    "log_softmax.int": lambda op, t: op(t(3, 4), -1),
    "linear": lambda op, t: (
        op(t(2, 3, 4), t(5, 4), t(5)).sum() + op(t(2, 4), t(4)).sum() + op(t(4), t(4), t())
    ),
    "addbmm": lambda op, t: op(t(3, 2), t(2, 3, 4), t(2, 4, 2), beta=2, alpha=3),
    "addr": lambda op, t: op(t(3, 4), t(3), t(4), beta=2, alpha=3),
    "vdot": lambda op, t: op(t(4), t(4)),
    "inner": lambda op, t: op(t(2, 3), t(4, 3)),
    "tensordot": lambda op, t: op(t(2, 3, 4), t(4, 3, 2), [1, 2], [1, 0]),
    "einsum": lambda op, t: op("bij,bjk,kl->bli", [t(2, 2, 3), t(2, 3, 2), t(2, 3)]),
    "chain_matmul": lambda op, t: op([t(2, 3), t(3, 4), t(4, 2)]),
    "conv1d.padding": lambda op, t: op(t(2, 5), t(3, 2, 2), t(3), padding="same"),
    "conv2d": lambda op, t: op(t(2, 4, 5), t(2, 2, 2, 2), t(2)),
    "conv_transpose2d.input": lambda op, t: op(t(2, 3, 3), t(2, 1, 2, 2), t(1)),
    "max.other": lambda op, t: op(t(3, 4), t(4)),
    "var": lambda op, t: op(t(3, 4), False),
    "std.dim": lambda op, t: op(t(3, 4), 1),
    "var_mean.dim": lambda op, t: op(t(3, 4), 1),
    "msort": lambda op, t: op(t(4, 3)),
    "split.sizes": lambda op, t: op(t(5, 3), (1, 4)),
    "chunk": lambda op, t: op(t(5, 3), 2),
    "reshape": lambda op, t: op(t(3, 4).t(), (2, 6)),
    "flatten.using_ints": lambda op, t: op(t(2, 3, 4), 1),
    "narrow": lambda op, t: op(t(3, 4), 1, 1, 2),
    "sum_to_size": lambda op, t: op(t(2, 3, 4), (3, 1)),
    "_foreach_mul.List": lambda op, t: op([t(3), t(2)], [t(3), t(2)]),
}


def operator(name):
    base, _, overload = name.partition(".")
    return getattr(getattr(ops.aten, base), overload or "default")


class Leaves:
    """Hands out leaves: fresh random ones at first, then given ones in the same order."""

    def __init__(self, name, dtype, low=0.5, high=1.5):
        self.generator = tl.Generator().manual_seed(zlib.crc32(name.encode()))
        self.dtype, self.low, self.high, self.made, self.given = dtype, low, high, [], None

    def __call__(self, *shape):
        if self.given is not None:
            return next(self.given)
        real = (
            tl.rand(*shape, 2, dtype=tl.float64, generator=self.generator) * (self.high - self.low) + self.low
        )
        leaf = tl.view_as_complex(real) if self.dtype is tl.complex128 else real[..., 0].clone()
        self.made.append(leaf.requires_grad_())
        return self.made[-1]


def is_constant(row, dtype):
    """Whether the derivative is zero everywhere: then it has none itself."""
    zero = isinstance(row.grad, dict) and set(row.grad.values()) == {"zeros_like(g)"}
    return zero or (row.name in ("sgn", "angle", "nextafter") and dtype is tl.float64)


def check(name, call, dtype, low=0.5, high=1.5):
    """First and second derivative; results without one do not count. What is piecewise constant has no second one."""
    leaves, op = Leaves(name, dtype, low, high), operator(name)
    call(op, leaves)

    def function(*tensors):
        leaves.given = iter(tensors)
        result = call(op, leaves)
        return tuple(r for r in result if r.requires_grad) if isinstance(result, (tuple, list)) else result

    assert leaves.made, "the call makes no leaf"
    assert gradcheck(function, leaves.made)
    if not is_constant(ROWS[name], dtype):
        assert gradgradcheck(function, leaves.made)


def elementwise(row):
    """All inputs as leaves of shapes that broadcast; parameters with a value that is not neutral."""
    parameters = {"alpha": 2, "value": 3, "threshold": 1, "scale": 1.5, "input_scale": 0.5, "negative_slope": 0.1,
                  "lambd": 0.5, "beta": 2, "delta": 1.5, "min_val": -1, "max_val": 1.2}  # fmt: skip

    def call(op, t):
        n = row.elementwise.inputs
        shapes = [(3, 1), (4,), (3, 4)][:n]
        inputs = [
            2.5 if a.type == "Scalar" or "_derivative_not_implemented" in row.grad.get(a.name, "") else t(*s)
            for a, s in zip(row.args[:n], shapes, strict=True)
        ]
        if row.elementwise.condition:
            inputs[0] = MASK
        positional = [parameters[a.name] for a in row.args[n:] if not a.keyword_only]
        inputs = [
            tl.tensor(x) if type(x) is float and a.type == "Tensor" else x for a, x in zip(row.args, inputs)
        ]
        return op(
            *inputs, *positional, **{a.name: parameters[a.name] for a in row.args[n:] if a.keyword_only}
        )

    return call


DERIVED = [row for row in ROWS.values() if isinstance(row.grad, dict) and not row.random]
LOOPS = [row for row in DERIVED if row.elementwise]


@pytest.mark.parametrize("row", LOOPS, ids=lambda row: row.name)
@pytest.mark.parametrize("dtype", [tl.float64, tl.complex128], ids=str)
def test_elementwise(row, dtype):
    if str(dtype).removeprefix("torch.") not in row.elementwise.dtypes:
        with pytest.raises((NotImplementedError, RuntimeError)):
            elementwise(row)(operator(row.name), Leaves(row.name, dtype))
        return
    check(row.name, elementwise(row), dtype, max(row.samples.low, -1.5), min(row.samples.high, 1.5))


@pytest.mark.parametrize("name", CALLS)
def test_real(name):
    check(name, CALLS[name], tl.float64)


@pytest.mark.parametrize("name", [*COMPLEX_CALLS, *(name for name in CALLS if name not in NOT_COMPLEX)])
def test_complex(name):
    check(name, {**CALLS, **COMPLEX_CALLS}[name], tl.complex128)


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites(name):
    check(name, COMPOSITES[name], tl.float64)


# Rows that the functions which users call are made of: their gradients are checked through these, in other files.
INSIDE = {
    "test_conj_gradients.py": {"_conj", "_neg_view"},
    "test_decomposition_gradients.py": {
        "linalg_qr", "linalg_householder_product", "_linalg_svd", "_linalg_solve", "linalg_matrix_exp",
        "_singular_norm", "_singular_norm_backward",
    },
    "test_linalg_gradients.py": {
        "linalg_inv_ex", "lu_unpack", "_linalg_det", "_linalg_slogdet", "linalg_eig", "_linalg_eigh", "_linalg_pinv",
        "linalg_cholesky_ex", "cholesky_inverse", "cholesky_solve", "linalg_ldl_solve", "linalg_lu_factor_ex",
        "linalg_solve_triangular", "_linalg_lstsq",
    },
    "test_attention_gradients.py": {
        "_attention", "_recurrent_layer", "_embedding_bag", "embedding", "embedding_dense_backward",
    },
    "test_sequence_loss_gradients.py": {"ctc_losses"},
    "test_fft_gradients.py": {"_fft_c2c", "_fft_r2c", "_fft_c2r"},
    "test_nested_gradients.py": {
        "_segment_sum", "_segment_expand", "_segment_amax", "_segment_amin", "_segment_softmax",
        "_segment_log_softmax", "_segment_matmul", "_segment_products", "_jagged_to_padded", "_padded_to_jagged",
        "_attention_ragged",
    },
    "test_sparse_gradcheck.py": {"_all_elements"},
    "test_sparse_gradients.py": {"_sparse_coo_tensor", "values", "_coalesce", "_to_dense", "sparse_mask"},
    "test_sparse_layout_gradients.py": {
        "_csr_mm", "_csr_mm_transposed", "_csr_sampled_mm", "_sparse_compressed_tensor", "_sparse_like", "_values_at",
        "_with_values",
    },
    "test_norm_gradients.py": {
        "_batch_norm", "_batch_norm_backward", "_sample_norm", "_sample_norm_backward", "_cross_entropy",
        "_cross_entropy_backward", "nll_loss_forward", "_nll_loss_backward", "_as_strided_gather",
    },
}  # fmt: skip


def test_every_row_with_a_derivative_is_called():
    called = {*CALLS, *COMPLEX_CALLS}
    assert called | set.union(*INSIDE.values()) >= {row.name for row in DERIVED if not row.elementwise}
    assert called <= ROWS.keys()
    assert COMPOSITES.keys() <= ROWS.keys()


def test_rows_without_a_derivative_say_so():
    x = tl.rand(3, 4, requires_grad=True)
    for name in ("argmax", "isnan", "bitwise_not", "floor_divide"):
        assert ROWS[name].grad.startswith("none:")
    assert not tl.argmax(x).requires_grad
    assert not tl.isnan(x).requires_grad
    assert not tl.gt(x, 0.5).requires_grad


REFUSED_WRITES = (
    "modified by an inplace operation",
    "output of a function that returns multiple views",
    "more than one element of the written-to tensor refers to a single memory location",
)


def doubled(op):
    """The operator, whose differentiable results are doubled through views of them."""

    def call(*args, **kwargs):
        result = op(*args, **kwargs)
        for tensor in result if isinstance(result, (tuple, list)) else [result]:
            if tensor.requires_grad:
                tensor.unsqueeze(0)[0].mul_(2)
        return result

    return call


@pytest.mark.parametrize("name", CALLS)
def test_writes_through_views_of_results(name):
    """A kernel may return a view of a temporary tensor. Where the derivative reads the result, the backward refuses."""
    leaves = Leaves(name, tl.float64)
    CALLS[name](operator(name), leaves)

    def function(*tensors):
        leaves.given = iter(tensor * 1 for tensor in tensors)
        result = CALLS[name](doubled(operator(name)), leaves)
        return tuple(r for r in result if r.requires_grad) if isinstance(result, (tuple, list)) else result

    try:
        assert gradcheck(function, leaves.made)
    except RuntimeError as error:
        if not any(reason in str(error) for reason in REFUSED_WRITES):
            raise
