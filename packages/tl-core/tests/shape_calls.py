"""Calls of rows at a size: drawn from the schema, or spelled out where an operator takes no such arguments."""

from __future__ import annotations

import itertools
from typing import Any

from byte_calls import BYTE_CALLS
from row_samples import default

import tl_core as tl

# The shapes of the tensors of a call at a size; what the schema does not say is tried.
SHAPES: list[Any] = [
    lambda b: (b, 4),
    lambda b: (b,),
    lambda b: (b, b),
    lambda b: (2, b, b),
    lambda b: (2, 4, b),
    lambda b: (2, 4, b, 6),
    lambda b: (2, 4, b, 6, 6),
    lambda b: (b, 4, 4),
    lambda b: (b, 4, 6, 6),
    lambda b: (b, 4, 6, 6, 6),
    lambda b: (2, b, 2),
    lambda b: (),
]
DTYPES = (tl.float32, tl.int64, tl.bool, tl.complex64)
INTS: dict[str, tuple[Any, ...]] = {
    "dim": (0, -1),
    "dim0": (0,),
    "dim1": (0, 1, -2),
    "dim2": (1, -1),
    "dimension": (0,),
    "diagonal": (0, 1, -1),
    "offset": (0, 1, -2),
    "index": (0, 1, -1),
    "start": (0, 1, -2),
    "end": (None, 3, -1, 20),
    "step": (1, 2),
    "length": (2, 1),
    "n": (2, 3),
    "k": (1, 2),
    "r": (2,),
    "size": (2,),
    "repeats": (3,),
    "chunks": (2, 3),
    "sections": (2, 3),
    "start_dim": (0, 1),
    "split_size": (2, 3),
    "source": (0,),
    "destination": (-1,),
    "groups": (1, 2),
    "steps": (5,),
    "window_length": (6,),
    "num_samples": (3,),
    "upscale_factor": (2,),
    "downscale_factor": (2,),
    "row": (4, 2),
    "col": (3, 5),
    "m": (3,),
    "high": (5,),
    "low": (1,),
    "N": (None, 3),
    "bins": (5,),
    "p": (2,),
    "normalization": (0,),
    "last_dim_size": (5,),
    "reduction": (0, 1),
}
LISTS: dict[str, tuple[Any, ...]] = {
    "dims": ((0,), (0, 1), (1, 0), (0, 2, 1), (-1, 0)),
    "dim": ((0,), (0, -1), (-1,)),
    "size": ((3, 4), (-1, 2), (-1,)),
    "shape": ((-1, 2), (2, -1), (-1,)),
    "repeats": ((2, 3), (1, 2, 1)),
    "kernel_size": ((2,), (3,), (2, 2), (3, 2), (2, 2, 2)),
    "stride": ((2,), (1,), (2, 2), (1, 1), (2, 2, 2)),
    "padding": ((1,), (0,), (1, 1), (0, 0), (1, 1, 1), (1, 0, 1, 1)),
    "dilation": ((1,), (2,), (1, 1), (1, 1, 1)),
    "pad": ((1, 2), (1, 0, 2, 1), (-1, 0)),
    "output_size": ((3,), (3, 2), (3, 2, 4)),
    "sizes": ((2, -1), (-1,)),
    "split_sizes": ((1, 1), (2, 1), (2, 2)),
    "indices": ((1, 3),),
    "shifts": ((1,),),
    "source": ((0, 1),),
    "destination": ((-1, 0),),
    "normalized_shape": ((4,), (4, 6)),
    "physical_layout": ((1, 0),),
    "input_sizes": ((5, 4),),
    "input_size": ((2, 4, 5), (2, 4, 5, 6), (2, 4, 5, 6, 6)),
    "scale_factors": ((2.0,), (2.0, 1.5), (2.0, 1.0, 1.0)),
    "dims_self": ((-1,),),
    "dims_other": ((-1,),),
    "s": (None, (5,)),
    "output_padding": ((0,), (0, 0), (0, 0, 0)),
    "order": ((0, 0),),
}


WORDS = {"approximate": "none", "reduce": "amax", "mode": "reduced", "from": 0, "to": 5}
PLAIN = {
    "bool": False,
    "float": 0.5,
    "Scalar": 1,
    "str": "mean",
    "ScalarType": tl.float32,
    "Scalar[]": [1, 2],
}


def f(*shape: int) -> tl.Tensor:
    return tl.zeros(shape, device="meta")


def i(*shape: int) -> tl.Tensor:
    return tl.zeros(shape, dtype=tl.int64, device="meta")


UPSAMPLED = (
    ("upsample_linear1d", 1),
    ("upsample_bilinear2d", 2),
    ("upsample_trilinear3d", 3),
    ("upsample_bicubic2d", 2),
    ("_upsample_bilinear2d_aa", 2),
    ("_upsample_bicubic2d_aa", 2),
)


def offsets_of(rows: int) -> tl.Tensor:
    """The ends of two segments."""
    return tl.tensor([0, 1, rows])


def pivots_of(rows: int) -> tl.Tensor:
    """No exchanges of rows."""
    return tl.arange(1, rows + 1, dtype=tl.int32)


def number() -> tl.Tensor:
    return tl.tensor(0.5)


# Calls whose tensors have different shapes: the arguments at a size.
CALLS: dict[str, list[Any]] = {
    **BYTE_CALLS,
    "mm": [lambda b: (f(b, 4), f(4, 3)), lambda b: (f(3, b), f(b, b))],
    "_int_mm": [lambda b: (f(32, 8 * b).to(tl.int8), f(8 * b, 8).to(tl.int8))],
    "bmm": [lambda b: (f(b, 2, 4), f(b, 4, 3))],
    "addmm": [lambda b: (f(3), f(b, 4), f(4, 3))],
    "baddbmm": [lambda b: (f(3), f(b, 2, 4), f(b, 4, 3))],
    "addbmm": [lambda b: (f(3), f(b, 2, 4), f(b, 4, 3))],
    "mv": [lambda b: (f(b, 4), f(4))],
    "addmv": [lambda b: (f(b), f(b, 4), f(4))],
    "addr": [lambda b: (f(b, 3), f(b), f(3))],
    "matmul": [
        lambda b: (f(b), f(b)),
        lambda b: (f(b, 3), f(3)),
        lambda b: (f(3), f(3, b)),
        lambda b: (f(b, 1, 2, 3), f(5, 3, b)),
    ],
    "outer": [lambda b: (f(b), f(3))],
    "inner": [lambda b: (f(b, 4), f(3, 4))],
    "linear": [lambda b: (f(b, 2, 4), f(3, 4), f(3)), lambda b: (f(4), f(b, 4)), lambda b: (f(b, 4), f(4))],
    "tensordot": [lambda b: (f(b, 3, 4), f(4, 3, 2), (1, 2), (1, 0))],
    "einsum": [
        lambda b: ("ij,jk->ik", [f(b, 3), f(3, b)]),
        lambda b: ("...ij,...j", [f(2, b, 3), f(b, 3)]),
        lambda b: ("ii->i", [f(b, b)]),
        lambda b: ("ij,kl", [f(b, 3), f(2, b)]),
        lambda b: ("b...->...b", [f(b, 2, 3)]),
    ],
    "linalg_vecdot": [lambda b: (f(b, 4), f(4))],
    "convolution": [
        lambda b: (f(1, 4, b, 6), f(3, 2, 2, 3), None, (1, 2), (0, 1), (1, 1), False, (0, 0), 2),
        lambda b: (f(1, 4, b, 6), f(4, 3, 2, 3), None, (2, 2), (0, 1), (1, 1), True, (1, 0), 1),
    ],
    "conv1d": [
        lambda b: (f(2, 4, b), f(3, 2, 2), None, (2,), (1,), (1,), 2),
        lambda b: (f(4, b), f(3, 4, 2)),
    ],
    "conv1d.padding": [lambda b: (f(2, 4, b), f(3, 4, 2), None, (1,), "same")],
    "conv2d": [lambda b: (f(b, 3, 9, b), f(2, 3, 2, 3), None, (2, 1), (0, 1), (2, 1))],
    "conv2d.padding": [lambda b: (f(b, 3, 9, b), f(2, 3, 2, 2), None, (2, 1), "valid")],
    "conv3d": [lambda b: (f(b, 3, 9, 9, b), f(2, 3, 2, 2, 2))],
    "conv3d.padding": [lambda b: (f(b, 3, 9, 9, b), f(2, 3, 2, 2, 2), None, (1, 1, 1), "same")],
    "conv_transpose1d": [lambda b: (f(b, 3, 5), f(3, 2, 3), None, (2,), (1,), (1,))],
    "conv_transpose2d.input": [lambda b: (f(b, 4, 5, b), f(4, 2, 3, 2), None, (2, 1), (1, 0), (1, 0), 2)],
    "conv_transpose3d.input": [lambda b: (f(b, 3, 5, 5, b), f(3, 2, 3, 2, 2))],
    "im2col": [lambda b: (f(b, 3, b, 7), (2, 3), (1, 1), (0, 1), (1, 2))],
    "col2im": [lambda b: (f(b, 12, 30), (6, 7), (2, 2), (1, 1), (0, 0), (1, 1))],
    "embedding": [lambda b: (f(b, 3), i(2, b))],
    "embedding_dense_backward": [lambda b: (f(b, 2, 3), i(b, 2), 7, -1, False)],
    "index.Tensor": [
        lambda b: (f(b, 3, 4), [i(5)]),
        lambda b: (f(b, 3, 4), [None, i(b, 1), i(2)]),
        lambda b: (f(b, 3, 4), [i(b), None, i(b)]),
    ],
    "gather": [lambda b: (f(b, 4), 0, i(3, 2)), lambda b: (f(4, b), -1, i(2, b))],
    "take": [lambda b: (f(b, 4), i(3, b))],
    "put": [lambda b: (f(b, 4), i(3), f(3))],
    "index_select": [lambda b: (f(b, 4), 0, i(3)), lambda b: (f(3, 4), 1, i(b)), lambda b: (f(), 0, i(1))],
    "index_add": [lambda b: (f(b, 4), 0, i(3), f(3, 4))],
    "index_copy": [lambda b: (f(b, 4), 0, i(3), f(3, 4))],
    "index_reduce": [lambda b: (f(b, 4), 0, i(3), f(3, 4), "amax")],
    "index_fill.int_Tensor": [lambda b: (f(b, 4), 0, i(3), f())],
    "index_fill.int_Scalar": [lambda b: (f(b, 4), 0, i(3), 1.0)],
    "index_select_backward": [lambda b: (f(3, 4), (b, 4), 0, i(3))],
    "index_put": [lambda b: (f(b, 4), [i(3)], f(3, 4))],
    "index_put_": [lambda b: (f(b, 4), [i(3)], f(3, 4))],
    "index_backward": [lambda b: (f(3, 4), (b, 4), [i(3)])],
    "scatter.src": [lambda b: (f(b, 4), 0, i(2, 3), f(2, 3))],
    "scatter.value": [lambda b: (f(b, 4), 0, i(2, 3), 1.0)],
    "scatter.reduce": [lambda b: (f(b, 4), 0, i(2, 3), f(2, 3), {"reduce": "add"})],
    "scatter.value_reduce": [lambda b: (f(b, 4), 0, i(2, 3), 1.0, {"reduce": "add"})],
    **{
        f"{name}.{kind}": [lambda b, s=start, e=end: (s(), e(), b)]
        for name in ("linspace", "logspace")
        for kind, start, end in (
            ("Tensor_Tensor", number, number),
            ("Tensor_Scalar", number, lambda: 1.0),
            ("Scalar_Tensor", lambda: 1.0, number),
        )
    },
    **{
        f"{name}_backward": [
            lambda b, n=n, c=corners: (f(2, b, *[2 * b] * n), [2 * b] * n, [2, b, *[b] * n], *c)
        ]
        for name, n, corners in (
            *(
                (f"{kind}{n}d", n, ())
                for kind in ("upsample_nearest", "_upsample_nearest_exact")
                for n in (1, 2, 3)
            ),
            *((f"{kind}", n, (False,)) for kind, n in UPSAMPLED),
        )
    },
    **{
        f"{name}.vec": [
            lambda b, n=n, c=corners: (f(2, b, *[b] * n), None, *c, [1.5] * n),
            lambda b, n=n, c=corners: (f(2, b, *[b] * n), [b] * n, *c, None),
            lambda b, n=n, c=corners: (f(2, b, *[b] * n), None, *c, [2.0] * n),
        ]
        for name, n, corners in (
            *(
                (f"{kind}{n}d", n, ())
                for kind in ("upsample_nearest", "_upsample_nearest_exact")
                for n in (1, 2, 3)
            ),
            *((f"{kind}", n, (False,)) for kind, n in UPSAMPLED),
        )
    },
    "embedding_renorm_": [lambda b: (tl.ones(b, 4), tl.tensor([0, 1]), 1.0, 2.0)],
    "_segment_softmax": [lambda b: (f(b, 3), i(4))],
    "_segment_log_softmax": [lambda b: (f(b, 3), i(4))],
    "_fractional_max_pool": [lambda b: (f(2, b, 9, 9), (2, 2), (3, 4), f(2, b, 2))],
    "max_pool3d_with_indices_backward": [
        lambda b: (f(b, 2, 3, 3, 3), f(b, 2, 6, 6, 6), (2,), (2,), (0,), (1,), False, i(b, 2, 3, 3, 3))
    ],
    "adaptive_max_pool3d_backward": [lambda b: (f(b, 2, 3, 3, 3), f(b, 2, 6, 6, 6), i(b, 2, 3, 3, 3))],
    "randint_like.Tensor": [lambda b: (f(b, 2), tl.tensor(5))],
    "randint_like.Tensor_generator": [lambda b: (f(b, 2), tl.tensor(5), {"generator": None})],
    "value_selecting_backward": [
        lambda b: (f(4), 0, i(4), (b, 4), False),
        lambda b: (f(b, 1), 1, i(b, 1), (b, 4), True),
    ],
    "prod_dim_backward": [lambda b: (f(4), f(b, 4), f(4), 0, False)],
    "logsumexp_backward": [lambda b: (f(4), f(b, 4), f(4), (0,), False)],
    "amax_backward": [lambda b: (f(4), f(b, 4), f(4), (0,), False)],
    "var_backward": [lambda b: (f(4), f(b, 4), (0,), 1, False)],
    "std_backward": [lambda b: (f(4), f(4), f(b, 4), (0,), 1, False)],
    "_moments_backward": [lambda b: (f(4), f(4), None, f(b, 4), (0,), 1, False)],
    "linalg_vector_norm_backward": [lambda b: (f(4), f(b, 4), 2, f(4), (0,), False)],
    "norm.ScalarOpt_dim_dtype": [lambda b: (f(b, 4), 2, (0,), True, {"dtype": tl.float32})],
    "norm.ScalarOpt_dtype": [lambda b: (f(b, 4), 2, {"dtype": tl.float32})],
    "clamp": [lambda b: (f(b, 4), 0, 1)],
    "clamp.Tensor": [lambda b: (f(b, 1), f(4), f(b, 4)), lambda b: (f(b, 4), None, f(3, b, 4))],
    "round.decimals": [lambda b: (f(b, 4), {"decimals": 1})],
    "_nan_to_num": [lambda b: (f(b, 4), {"nan": 0, "posinf": 1, "neginf": 0})],
    "argsort.stable": [lambda b: (f(b, 4), {"stable": True})],
    "quantile": [lambda b: (f(b, 4), f(3), 0), lambda b: (f(b, 4), f(), 1, True), lambda b: (f(b, 4), f(b))],
    "nanquantile": [lambda b: (f(b, 4), f(3), 0), lambda b: (f(b, 4), f(), 1, True)],
    "_nextafter_bits": [lambda b: (f(b, 4).to(tl.int16), f(4).to(tl.int16), 1)],
    "_as_strided_gather": [lambda b: (f(b, 2), (b, 9), (9, 1), 0, (b, 2), (4, 1), 0)],
    "_window": [lambda b: ("cosines", b, True, [0.5, 0.5])],
    "prelu": [lambda b: (f(b, 4), f(4)), lambda b: (f(b, 4), f(1))],
    "fill.Tensor": [lambda b: (f(b, 4), f())],
    "fill_.Tensor": [lambda b: (f(b, 4), f())],
    "random_.from": [lambda b: (f(b, 4), 0, 5)],
    "scatter_add": [lambda b: (f(b, 4), 0, i(2, 3), f(2, 3))],
    "scatter_reduce.two": [lambda b: (f(b, 4), 0, i(2, 3), f(2, 3), "sum")],
    "take_along_dim": [
        lambda b: (f(b, 4), i(3, 1), 0),
        lambda b: (f(1, b), i(4, 2), 1),
        lambda b: (f(b), i(3), None),
    ],
    "elu_double_backward": [lambda b: (f(b, 4), 1.0, 1.0, 1.0, False, f(b, 4))],
    "sum_to_size": [lambda b: (f(b, 4), (b, 1)), lambda b: (f(b, 4), (1, 4)), lambda b: (f(3, b), (b,))],
    "svd": [lambda b: (f(b, 4),), lambda b: (f(4, b), False), lambda b: (f(2, b, 4), True, False)],
    "lu_unpack": [
        lambda b, data=data, pivots=pivots: (tl.ones(b + 2, b), pivots_of(b), data, pivots)
        for data in (True, False)
        for pivots in (True, False)
    ],
    "_embedding_double_backward": [lambda b: (f(7, 3), i(b, 2), -1, False)],
    **{
        name: [
            lambda b, mode=mode, last=last, rest=rest: (
                tl.ones(7, b),
                tl.ones(2 * b).long(),
                tl.arange(b),
                False,
                mode,
                False,
                None,
                last,
                *rest,
            )
            for mode in (0, 1, 2)
            for last in (False, True)
        ]
        for name, rest in (
            ("_embedding_bag", (-1,)),
            ("embedding_bag", ()),
            ("embedding_bag.padding_idx", (None,)),
        )
    },
    "stft.center": [
        lambda b: (tl.ones(2, 8 + b), 8, None, None, tl.ones(8), True, "constant", False, None, True),
        lambda b: (tl.ones(4 * b), 5, 2, None, tl.ones(5), False, "reflect", False, False, False),
        lambda b: (tl.ones(9 + b), 4, 1, None, tl.ones(4) + 0j, True, "reflect", False, None, True),
    ],
    "istft": [
        lambda b: (tl.ones(2, 5, b) + 0j, 8, 4, None, tl.ones(8), True),
        lambda b: (tl.ones(5, b) + 0j, 8, None, None, tl.ones(8), False),
        lambda b: (tl.ones(5, 9) + 0j, 8, None, None, tl.ones(8), True, False, None, b),
    ],
    "scatter_src_backward": [lambda b: (f(b, 4), 0, i(2, 3), (2, 3))],
    "_scaled_mm": [
        lambda b: (
            tl.ones(16 * b, 16).to(tl.float8_e4m3fn),
            tl.ones(16, 16).to(tl.float8_e4m3fn).t(),
            tl.ones(1),
            tl.ones(1),
        )
    ],
    "linalg_tensorsolve": [
        lambda b: (tl.eye(2 * b).reshape(2, b, 2 * b), tl.ones(2, b)),
        lambda b: (tl.eye(2 * b).reshape(2 * b, 2, b), tl.ones(2, b), (0,)),
    ],
    "matrix_rows": [lambda b: (f(b, 4),), lambda b: (f(2, b, 4),), lambda b: (f(b),)],
    "_cross_entropy": [
        lambda b, reduction=reduction: (f(b, 4), i(b), None, reduction, -100) for reduction in (0, 1, 2)
    ],
    "_cross_entropy_backward": [lambda b: (f(), f(b, 4), f(b), f(), i(b), None, 1, -100)],
    "conv_tbc": [lambda b: (f(b + 2, b, 3), f(2, 3, b), f(b), 1)],
    "conv_tbc_backward": [lambda b: (f(b, b, 4), f(b + 1, b, 3), f(2, 3, 4), f(4), 0)],
    "_segment_sum": [lambda b: (tl.ones(b, 3), offsets_of(b))],
    "segment_reduce": [
        lambda b: (tl.ones(b, 3), "sum", {"lengths": tl.ones(b, dtype=tl.int64)}),
        lambda b: (tl.ones(2, b), "max", {"offsets": tl.arange(b + 1).expand(2, -1), "axis": -1}),
    ],
    "_segment_reduce_backward": [
        lambda b: (tl.ones(b), tl.ones(b), tl.ones(b), "sum", {"lengths": tl.ones(b, dtype=tl.int64)})
    ],
    "_segment_amax": [lambda b: (tl.ones(b, 3), offsets_of(b))],
    "_segment_amin": [lambda b: (tl.ones(b, 3), offsets_of(b))],
    "_segment_expand": [lambda b: (tl.ones(2, 3), offsets_of(b), None, b)],
    "_segment_extreme_backward": [
        lambda b: (tl.ones(2, 3), tl.ones(b, 3), tl.ones(2, 3), offsets_of(b), None)
    ],
    "_segment_softmax_backward": [lambda b: (tl.ones(b, 3), tl.ones(b, 3), offsets_of(b), None)],
    "_segment_log_softmax_backward": [lambda b: (tl.ones(b, 3), tl.ones(b, 3), offsets_of(b), None)],
    "_segment_matmul": [lambda b: (tl.ones(b, 3), tl.ones(2, 3, 4), offsets_of(b))],
    "_segment_products": [lambda b: (tl.ones(b, 3), tl.ones(b, 4), offsets_of(b))],
    "_jagged_to_padded": [lambda b: (tl.ones(b, 3), offsets_of(b), None, b, 0.0)],
    "_padded_to_jagged": [lambda b: (tl.ones(2, b, 3), offsets_of(b), None, b)],
    "_sample_norm": [lambda b: (f(b, 4, 5), None, None, b, 4, 5, 2, 1e-5, True)],
    "_sample_norm_backward": [
        lambda b: (
            f(b, 4, 5),
            f(b, 4, 5),
            f(b, 2),
            f(b, 2),
            f(4),
            f(4),
            b,
            4,
            5,
            2,
            1e-5,
            True,
            True,
            True,
            False,
        )
    ],
    "_batch_norm": [lambda b: (f(b, 4, 5), None, None, None, None, True, 0.1, 1e-5)],
    "_batch_norm_backward": [
        lambda b: (f(b, 4, 5), f(b, 4, 5), f(4), f(4), f(4), True, 1e-5, True, False, True)
    ],
    "native_batch_norm": [
        lambda b, training=training: (f(b, 4, 5), None, None, f(4), f(4), training, 0.1, 1e-5)
        for training in (True, False)
    ],
    "_take_by_index": [lambda b: (f(2, 3, b), i(2, 3, 5), 1)],
    "lstm.data": [
        lambda b: (
            tl.ones(b, 3),
            tl.ones(b).long(),
            [tl.ones(1, 1, 2)] * 2,
            [tl.ones(8, 3), tl.ones(8, 2)],
            False,
            1,
            0.0,
            False,
            False,
        )
    ],
    **{
        f"{name}.data": [
            lambda b, n=n: (
                tl.ones(b, 3),
                tl.ones(b).long(),
                tl.ones(2, 1, 2),
                [tl.ones(n, 3), tl.ones(n, 2)] * 2,
                False,
                1,
                0.0,
                False,
                True,
            )
        ]
        for name, n in (("gru", 6), ("rnn_tanh", 2), ("rnn_relu", 2))
    },
    "clamp_backward": [lambda b: (f(b, 4), f(b, 4), 0, None), lambda b: (f(b, 4), f(4), f(b, 1), None)],
    "clamp_backward_bound": [lambda b: (f(b, 4), f(b, 4), f(4), None, False)],
    "pow_backward": [lambda b: (f(b, 4), f(b, 4), 2), lambda b: (f(b, 4), f(4), f(b, 1))],
    "pow_backward_exponent": [
        lambda b: (f(b, 4), f(b, 4), f(4), f(b, 4)),
        lambda b: (f(b, 4), 2, f(b, 4), f(b, 4)),
    ],
    "cumulative_trapezoid.x": [
        lambda b: (f(b, 4), f(4)),
        lambda b: (f(b, 4), f(b, 4), {"dim": 0}),
        lambda b: (f(1, 4), f(b, 4)),
    ],
    "_lstsq_backward_a": [lambda b: (tl.ones(3, 2), None, tl.ones(b, 3), tl.ones(b, 2), tl.ones(3, 2))],
    "_lstsq_backward_b": [lambda b: (tl.ones(3, 2), None, tl.ones(b, 3), tl.ones(b, 2), tl.ones(3, 2))],
    "_cholesky_solve_backward": [lambda b: (f(b, 2, 3), f(2, 2), f(b, 2, 3), True)],
    "view.dtype": [
        lambda b: (f(b, 4), tl.int32),
        lambda b: (f(b, 4), tl.int16),
        lambda b: (f(3, 2 * b), tl.float64),
    ],
    "view_copy.dtype": [lambda b: (f(b, 4), tl.int32), lambda b: (f(b, 4), tl.int16)],
    "_attention": [lambda b: (f(b, 2, 5, 4), f(b, 2, 3, 4), f(b, 2, 3, 7), None, False, 1.0, False)],
    "_attention_backward": [
        lambda b: (
            f(b, 2, 5, 7),
            f(b, 2, 5, 4),
            f(b, 2, 3, 4),
            f(b, 2, 3, 7),
            None,
            f(b, 2, 5, 7),
            f(b, 2, 5),
            False,
            1.0,
            None,
            0.0,
            True,
            False,
            True,
            False,
        )
    ],
    "_convolve": [lambda b: (f(b, 4, 7), f(6, 2, 3), None, (b, 6, 5), (1,), (0,), (1,), 2)],
    "_convolve_input": [lambda b: (f(b, 6, 5), f(6, 2, 3), None, (b, 4, 7), (1,), (0,), (1,), 2)],
    "_convolve_weight": [lambda b: (f(b, 6, 5), f(b, 4, 7), (6, 2, 3), (1,), (0,), (1,), 2)],
    "_singular_norm_double_backward": [
        lambda b: (
            tl.ones(b, 3),
            tl.ones(()),
            tl.ones(b, 3),
            tl.ones(2),
            tl.ones(b, 2),
            tl.ones(2),
            tl.ones(2, 3),
        )
    ],
    "_distances_backward": [lambda b: (tl.ones(b, 5), tl.ones(b, 3), tl.ones(5, 3), tl.ones(b, 5), 2.0)],
    "_distances_gradient": [
        lambda b, second=second: (
            tl.ones(b, 5),
            tl.ones(b, 3),
            tl.ones(5, 3),
            tl.ones(b, 5),
            2.0,
            True,
            False,
            second,
        )
        for second in (False, True)
    ],
    "masked_fill.Scalar": [lambda b: (f(b, 4), f(4).bool(), 1.0)],
    "masked_fill.Tensor": [lambda b: (f(b, 4), f(4).bool(), f())],
    "masked_scatter": [lambda b: (f(b, 4), f(b, 4).bool(), f(400))],
    "masked_scatter_backward": [lambda b: (tl.ones(b, 4), tl.ones(b, 4).bool(), (4 * b,))],
    "masked_select_backward": [lambda b: (f(3), (b, 4), f(b, 4).bool())],
    "slice_scatter": [lambda b: (f(b, 4), f(b - 1, 4), 0, 1)],
    "select_scatter": [lambda b: (f(b, 4), f(4), 0, 1)],
    "diagonal_scatter": [lambda b: (f(b, b), f(b))],
    "cat": [lambda b: ([f(b, 4), f(2, 4)], 0), lambda b: ([f(b, 4), f(0), f(b, 1)], -1)],
    "stack": [lambda b: ([f(b, 4), f(b, 4)], 1), lambda b: ([f(b)], -1)],
    "cat_backward": [lambda b: (f(b + 2, 4), (2, b), 0)],
    "block_diag": [lambda b: ([f(b, 4), f(2, b)],)],
    "meshgrid": [lambda b: ([f(b), f(3)],)],
    "meshgrid.indexing": [
        lambda b: ([f(b), f(3), f()], {"indexing": "xy"}),
        lambda b: ([f(b), f(3)], {"indexing": "ij"}),
    ],
    "column_stack": [lambda b: ([f(b), f(b, 2)],)],
    "cartesian_prod": [lambda b: ([f(b), f(3)],), lambda b: ([f(b)],)],
    "kron": [lambda b: (f(b, 2), f(3)), lambda b: (f(3), f(2, b, 2))],
    "expand_as": [lambda b: (f(1, 4), f(b, 4))],
    "view_as": [lambda b: (f(b, 4), f(4, b))],
    "reshape_as": [lambda b: (f(b, 4), f(4, b))],
    "expand": [lambda b: (f(b, 1), (b, 3)), lambda b: (f(b, 1), (2, -1, 5))],
    "broadcast_to": [lambda b: (f(b, 1), (b, 3))],
    "as_strided": [lambda b: (f(b, 9), (b, 2), (4, 1))],
    "as_strided_": [lambda b: (f(b, 9), (b, 2), (4, 1))],
    "as_strided_copy": [lambda b: (f(b, 9), (b, 2), (4, 1))],
    "as_strided_scatter": [lambda b: (f(b, 9), f(b, 2), (b, 2), (4, 1))],
    "as_strided_backward": [lambda b: (f(b, 2), (b, 9), (9, 1), 0, (b, 2), (4, 1), 0)],
    "empty_strided": [lambda b: ((b, 2), (4, 1))],
    "new_empty_strided": [lambda b: (f(2), (b, 2), (4, 1))],
    "select_backward": [lambda b: (f(4), (b, 4), 0, 1)],
    "slice_backward": [lambda b: (f(b - 1, 4), (b, 4), 0, 1, None, 1)],
    "diagonal_backward": [lambda b: (f(b), (b, b), 0, 0, 1)],
    "unfold_backward": [lambda b: (f(b - 1, 2), (b,), 0, 2, 1)],
    "unsum": [lambda b: (f(4), (b, 4), (0,), False)],
    "split_backward": [lambda b: ([f(2, 4), f(2, 4)], (4, 4), 2, 0)],
    "split_with_sizes_backward": [lambda b: ([f(2, 4), f(b, 4)], (b + 2, 4), (2, b), 0)],
    "unbind_backward": [lambda b: ([f(4) for _ in range(b)], (b, 4), 0)],
    "split.sizes": [lambda b: (f(b + 2, 4), (2, b), 0)],
    "split_with_sizes": [lambda b: (f(b + 2, 4), (2, b), 0)],
    "unsafe_split_with_sizes": [lambda b: (f(b + 2, 4), (2, b), 0)],
    "split_with_sizes_copy": [lambda b: (f(b + 2, 4), (2, b), 0)],
    "unflatten.int": [lambda b: (f(2 * b, 4), 0, (2, -1)), lambda b: (f(3, 4), 1, (2, 2))],
    "view_as_complex": [lambda b: (f(b, 2),)],
    "view_as_complex_copy": [lambda b: (f(b, 2),)],
    "narrow.Tensor": [lambda b: (f(b, 4), 0, tl.tensor(0), 2)],
    "scaled_dot_product_attention": [
        lambda b: (f(b, 2, 5, 4), f(b, 2, 3, 4), f(b, 2, 3, 7)),
        lambda b: (f(5, 4), f(b, 4), f(b, 7)),
        lambda b: (f(1, 4, 5, 4), f(1, 2, b, 4), f(1, 2, b, 7), None, 0.0, False),
    ],
    "searchsorted.Tensor": [lambda b: (f(b), f(3, b))],
    "searchsorted.Scalar": [lambda b: (f(b), 1.0)],
    "bucketize.Tensor": [lambda b: (f(3, b), f(b))],
    "bucketize.Scalar": [lambda b: (1.0, f(b))],
    "histogram.bin_ct": [lambda b: (tl.ones(b), b)],
    "histogram.bins_tensor": [lambda b: (tl.ones(9), tl.arange(float(b)))],
    "_histogramdd_bin_edges": [lambda b: (tl.ones(5, 2), (b, 3))],
    "_histogramdd_from_bin_cts": [lambda b: (tl.ones(b, 2), (b, 3))],
    "_histogramdd_from_bin_tensors": [lambda b: (tl.ones(5, 2), [tl.arange(float(b)), tl.arange(3.0)])],
    "multinomial": [lambda b: (f(b, 4), 3, True), lambda b: (f(b), 2)],
    "nonzero_static": [lambda b: (tl.ones(b, 4), {"size": b})],
    "affine_grid_generator": [
        lambda b: (f(b, 2, 3), (b, 3, 4, b), False),
        lambda b: (f(b, 3, 4), (b, 1, 2, 3, b), True),
    ],
    "_grid_sample": [lambda b: (f(2, 3, b, 4), f(2, b, 5, 2), 0, 0, False, (0, 0))],
    "_grid_sample_adjoint": [lambda b: (f(2, 3, b, 5), f(2, b, 5, 2), (2, 3, 6, 6), 0, 0, False, (0, 0))],
    "grid_sampler": [lambda b: (f(2, 3, b, 4), f(2, b, 5, 2), 0, 0, False)],
    "grid_sampler_2d": [lambda b: (f(2, 3, b, 4), f(2, b, 5, 2), 0, 0, False)],
    "grid_sampler_3d": [lambda b: (f(2, 3, b, 4, 4), f(2, b, 5, 6, 3), 0, 0, False)],
    "lstm_cell": [lambda b: (f(b, 3), [f(b, 2), f(b, 2)], f(8, 3), f(8, 2))],
    "gru_cell": [lambda b: (f(b, 3), f(b, 2), f(6, 3), f(6, 2))],
    "rnn_tanh_cell": [lambda b: (f(b, 3), f(b, 2), f(2, 3), f(2, 2))],
    "rnn_relu_cell": [lambda b: (f(b, 3), f(b, 2), f(2, 3), f(2, 2))],
    "lstm.input": [
        lambda b: (
            f(5, b, 3),
            [f(1, b, 2), f(1, b, 2)],
            [f(8, 3), f(8, 2)],
            False,
            1,
            0.0,
            False,
            False,
            False,
        ),
        lambda b: (
            f(b, 5, 3),
            [f(2, b, 2), f(2, b, 2)],
            [f(8, 3), f(8, 2)] * 2,
            False,
            1,
            0.0,
            False,
            True,
            True,
        ),
    ],
    "gru.input": [lambda b: (f(5, b, 3), f(1, b, 2), [f(6, 3), f(6, 2)], False, 1, 0.0, False, False, False)],
    "rnn_tanh.input": [
        lambda b: (f(5, b, 3), f(1, b, 2), [f(2, 3), f(2, 2)], False, 1, 0.0, False, False, False)
    ],
    "rnn_relu.input": [
        lambda b: (f(5, b, 3), f(1, b, 2), [f(2, 3), f(2, 2)], False, 1, 0.0, False, False, False)
    ],
    "nll_loss_nd": [lambda b: (f(b, 4), i(b), None, 0), lambda b: (f(b, 4, 5), i(b, 5), None, 1)],
    "nll_loss": [lambda b: (f(b, 4), i(b), None, 0), lambda b: (f(b, 4), i(b), None, 2)],
    "nll_loss2d": [lambda b: (f(b, 4, 5, 2), i(b, 5, 2), None, 0)],
    "ctc_loss.IntList": [lambda b: (f(b, 2, 4), i(2, 1), [b, b], [1, 1], 3, 0)],
    "ctc_loss.Tensor": [lambda b: (f(5, b, 4), i(b, 1), i(b) + 1, i(b) * 0 + 1, 3, 0)],
    "cosine_embedding_loss": [lambda b: (f(b, 4), f(b, 4), f(b), 0.0, 0)],
    "multi_margin_loss": [lambda b: (f(b, 4), i(b), 1, 1, None, 0), lambda b: (f(b, 4), i(b))],
    "glu_backward": [lambda b: (f(b, 2), f(b, 4), 1)],
    "cross_entropy_loss": [lambda b: (f(b, 4), i(b), None, 0), lambda b: (f(b, 4), i(b), None, 2)],
    "_nll_loss_backward": [lambda b: (f(), i(b), None, (b, 4), 1, -100, f())],
    "batch_norm": [lambda b: (f(b, 4, 5), None, None, None, None, True, 0.1, 1e-5, False)],
    "instance_norm": [lambda b: (f(b, 4, 5), None, None, None, None, True, 0.1, 1e-5, False)],
    "native_group_norm": [lambda b: (f(b, 4, 5), None, None, b, 4, 5, 2, 1e-5)],
    "native_layer_norm": [lambda b: (f(b, 4), (4,), None, None, 1e-5)],
    "group_norm": [lambda b: (f(b, 4, 5), 2)],
    "linalg_householder_product": [lambda b: (f(b + 2, b), f(b))],
    "orgqr": [lambda b: (f(b + 2, b), f(b))],
    "ormqr": [lambda b: (f(b, 3), f(3), f(b, 4))],
    "_householder_product_backward": [lambda b: (tl.ones(b + 2, b), tl.ones(b + 2, b), tl.ones(b))],
    "_linalg_svd_backward": [
        lambda b: (f(b + 2, b), f(b), f(b, b), f(b + 2, b), f(b), f(b, b)),
        lambda b: (f(2, b), f(2), f(2, b), f(2, 2), f(2), f(2, b)),
    ],
    "_lu_backward": [lambda b: (tl.ones(b, b), tl.eye(b), tl.arange(1, b + 1, dtype=tl.int32))],
    "_linalg_eigh_backward": [lambda b: (f(b), f(b, b), f(b), f(b, b))],
    "_linalg_eig_backward": [lambda b: (None, tl.eye(b) + 0j, tl.arange(b) + 0j, tl.eye(b) + 0j)],
    "_linalg_det_backward": [
        lambda b: (f(2), f(2), f(2, b, b), f(2, b, b), f(2, b).to(tl.int32)),
    ],
    "_linalg_slogdet_backward": [lambda b: (None, f(2), f(2, b, b), f(2))],
    "linalg_solve": [
        lambda b: (f(b, b), f(b, 3)),
        lambda b: (f(b, b), f(b)),
        lambda b: (f(4, b, b), f(4, b)),
        lambda b: (f(4, b, b), f(2, 4, b, 3)),
        lambda b: (f(b, b), f(3, b), {"left": False}),
    ],
    "linalg_norm.ord_str": [lambda b: (f(b, 4), "fro"), lambda b: (f(2, b, 4), "nuc", (1, 2), True)],
    "linalg_cond.p_str": [lambda b: (tl.eye(b).expand(2, b, b), "fro")],
    "linalg_solve_triangular": [
        lambda b: (f(b, b), f(b, 3), {"upper": True}),
        lambda b: (f(2, b, b), f(3, b), {"upper": True, "left": False}),
    ],
    "triangular_solve": [lambda b: (f(b, 3), f(2, b, b))],
    "linalg_lu_solve": [lambda b: (f(2, b, b), f(2, b).to(tl.int32), f(b, 3))],
    "lu_solve": [lambda b: (f(2, b, 3), f(2, b, b), f(2, b).to(tl.int32))],
    "linalg_ldl_solve": [lambda b: (f(2, b, b), f(2, b).to(tl.int32), f(2, b, 3))],
    "linalg_multi_dot": [lambda b: ([f(b), f(b, 3), f(3, b)],), lambda b: ([f(2, b), f(b, b), f(b)],)],
    "linalg_tensorinv": [lambda b: (tl.eye(2 * b).reshape(2, b, 2 * b), 2)],
    "_fft_r2c_backward": [lambda b: (f(b, 5).to(tl.complex64), (1,), 0, True, 8)],
    "_fft_c2r_backward": [lambda b: (f(b, 8), (1,), 0, 8)],
    "convolution_backward": [
        lambda b: (
            f(b, 3, 4, b),
            f(b, 4, 5, b + 2),
            f(3, 4, 2, 3),
            [3],
            (1, 1),
            (0, 0),
            (1, 1),
            False,
            (0, 0),
            1,
            (True, True, True),
        )
    ],
    "nll_loss_forward": [
        lambda b: (f(b, 4), i(b), None, 0, -100),
        lambda b: (f(b, 4), i(b), None, 1, -100),
    ],
    "ctc_losses": [lambda b: (f(4, b, 5), i(b, 3), i(b), i(b), 0)],
    "_ctc_backward": [lambda b: (f(b), f(4, b, 5), i(b, 3), i(b), i(b), f(b), f(b, 4, 7), 0)],
    "_ctc_gradient": [lambda b: (f(b), f(4, b, 5), i(b, 3), i(b), i(b), f(b), f(b, 4, 7), 0)],
    "_unpool": [lambda b: (f(2, b, 3, 3), i(2, b, 3, 3), (6, 6))],
    "diag": [lambda b: (f(b), 2), lambda b: (f(b, 5), -1)],
    "combinations": [lambda b: (f(b), 2), lambda b: (f(b), 3, True), lambda b: (f(b), 0)],
    "cholesky_solve": [lambda b: (f(b, 3), f(b, b))],
    "linalg_cross": [lambda b: (f(b, 3), f(b, 3))],
    "cross": [lambda b: (f(b, 3), f(1, 3))],
    "tril_indices": [lambda b, c=c, o=o: (b, c, o) for c in (1, 2, 5, 9) for o in (-9, -3, -1, 0, 1, 4, 9)],
    "triu_indices": [lambda b, c=c, o=o: (b, c, o) for c in (1, 2, 5, 9) for o in (-9, -3, -1, 0, 1, 4, 9)],
    "arange": [lambda b: (b,), lambda b: (b + 0.5,)],
    "arange.start": [lambda b: (1, b), lambda b: (0.5, b)],
    "arange.start_step": [
        lambda b: (1, b, 2),
        lambda b: (b, 0, -1),
        lambda b: (b, 0, -3),
        lambda b: (0, b, 0.3),
    ],
    "resize_": [lambda b: (f(3), (b, 2))],
    "resize_as_": [lambda b: (f(3), f(b, 2))],
    "_put_by_index": [lambda b: (f(2, b), i(2, b), (2, 9), 1)],
    "_border_adjoint": [lambda b: (f(2, b + 2), (2, b), (1, 1), "reflect")],
    "_avg_pool_adjoint": [lambda b: (f(2, 4, b), (2, 4, 2 * b), (2,), (2,), (0,), False, True, None)],
    "_avg_pool": [
        lambda b: (f(2, b, 8), (2,), (2,), (1,), False, False, None),
        lambda b: (f(2, b, b), (2, 2), (2, 1), (1, 0), False, False, 3),
    ],
    "_adaptive_avg_pool_adjoint": [lambda b: (f(2, 4, 3), (2, 4, b), 1)],
    "max_unpool2d": [lambda b: (f(2, b, 3, 3), i(2, b, 3, 3), (6, 6))],
    "max_unpool3d": [lambda b: (f(2, b, 3, 3, 3), i(2, b, 3, 3, 3), (6, 6, 6), (2, 2, 2), (0, 0, 0))],
    "fractional_max_pool2d": [lambda b: (f(2, b, 9, 9), (2, 2), (3, 4), f(2, b, 2))],
    "fractional_max_pool3d": [lambda b: (f(2, b, 9, 9, 9), (2, 2, 2), (3, 4, 2), f(2, b, 3))],
    "adaptive_max_pool2d_backward": [lambda b: (f(b, 2, 3, 3), f(b, 2, 6, 6), i(b, 2, 3, 3))],
    "max_pool2d_with_indices_backward": [
        lambda b: (f(b, 2, 3, 3), f(b, 2, 6, 6), (2, 2), (2, 2), (0, 0), (1, 1), False, i(b, 2, 3, 3))
    ],
    "avg_pool2d_backward": [
        lambda b: (f(b, 2, 3, 3), f(b, 2, 6, 6), (2, 2), (2, 2), (0, 0), False, True, None)
    ],
    "repeat_interleave.self_int": [lambda b: (f(b, 4), 3, 0), lambda b: (f(b, 4), 2, None)],
    "histc": [lambda b: (tl.zeros(4), b)],
    "pixel_shuffle": [lambda b: (f(2, 8, b, 3), 2)],
    "pixel_unshuffle": [lambda b: (f(2, 8, 2 * b, 6), 2)],
}


def drawn(row: Any) -> list[Any]:
    """Functions from a size to arguments; those of a group differ in the element type only."""
    choices: list[list[Any]] = []
    for a in row.args:
        if a.keyword_only:
            break
        if a.type in ("Tensor", "Operand"):
            choices.append([f] if not a.optional or a.default is None else [None])
        elif a.type == "Tensor[]":
            choices.append([[f]])
        elif a.type.endswith("[]") and a.type[:-2] in ("int", "float"):
            choices.append(list(LISTS.get(a.name, ((1,),))))
        elif a.type == "int":
            choices.append(list(INTS.get(a.name, (1,))))
        elif a.default is not None:
            choices.append([default(a)])
        elif a.optional:
            choices.append([None])
        else:
            choices.append([WORDS.get(a.name, PLAIN.get(a.type))])
    return [
        [lambda b, v=values, s=shape, d=dtype: _call(v, s(b), d) for dtype in DTYPES]
        for values in itertools.islice(itertools.product(*choices), 200)
        for shape in SHAPES
        if shape(5) != shape(6) or not any(a.is_tensor or a.is_tensor_list for a in row.args)
    ]


def _call(values: Any, shape: Any, dtype: Any) -> tuple[Any, ...]:
    def tensor() -> Any:
        return tl.zeros(shape, dtype=dtype, device="meta")

    return tuple(
        tensor() if v is f else [tensor(), tensor()] if isinstance(v, list) and v == [f] else v
        for v in values
    )
