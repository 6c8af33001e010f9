"""How the operators on grids are called: pooling, padding, interpolation, sampling. See test_row_gradients.py."""

import tl_core as tl

POINTS = tl.tensor([[[0.13, -0.62], [0.71, 0.34]], [[-0.91, 0.22], [1.4, -0.3]]], dtype=tl.float64)
INDICES = tl.tensor([[[1, 4], [9, 11]], [[0, 2], [5, 2]]])
SAMPLES = tl.tensor([[[0.3, 0.6], [0.8, 0.1]]], dtype=tl.float64)
# (name, number of axes, whether corners may be aligned)
UPSAMPLING = [
    *((f"upsample_nearest{n}d", n, False) for n in (1, 2, 3)),
    *((f"_upsample_nearest_exact{n}d", n, False) for n in (1, 2, 3)),
    ("upsample_linear1d", 1, True),
    ("upsample_bilinear2d", 2, True),
    ("upsample_trilinear3d", 3, True),
    ("upsample_bicubic2d", 2, True),
    ("_upsample_bilinear2d_aa", 2, True),
    ("_upsample_bicubic2d_aa", 2, True),
]
IN, OUT = (2, 3, 4), (3, 2, 7)


def _upsampling(name, n, aligned):
    choices = [(False,), (True,)] if aligned else [()]

    def forward(op, t):
        return sum(op(t(1, 2, *IN[:n]), OUT[:n], *choice) for choice in choices)

    def backward(op, t):
        return sum(op(t(1, 2, *OUT[:n]), OUT[:n], (1, 2, *IN[:n]), *choice) for choice in choices)

    return {name: forward, f"{name}_backward": backward}


def _points(t, scale=1.0):
    """Points as leaves near the fixed ones, away from the kinks of the interpolation."""
    return (POINTS + (t(2, 2, 2) - 1.0) * 0.01 * scale).unsqueeze(0)


CALLS = {
    "_max_pool": lambda op, t: op(t(2, 5, 6), (3, 2), (2, 1), (1, 0), (1, 2), True)[0],
    "_adaptive_max_pool": lambda op, t: op(t(2, 5, 6), (3, 4))[0],
    "_fractional_max_pool": lambda op, t: op(t(1, 2, 5, 6), (2, 2), (3, 3), SAMPLES)[0],
    "_put_by_index": lambda op, t: op(t(2, 2, 2), INDICES, (2, 3, 4), 2),
    "_unpool": lambda op, t: op(t(1, 2, 2), INDICES[:1], (3, 4)),
    "_avg_pool": lambda op, t: (
        op(t(2, 5, 6), (3, 2), (2, 1), (1, 0), True, False, None)
        + op(t(2, 6, 6), (3, 2), (2, 1), (1, 0), False, True, 7)
    ),
    "_avg_pool_adjoint": lambda op, t: op(t(2, 3, 5), (2, 5, 6), (3, 2), (2, 1), (1, 0), True, True, None),
    "_adaptive_avg_pool": lambda op, t: op(t(2, 5, 6), (3, 4)),
    "_adaptive_avg_pool_adjoint": lambda op, t: op(t(2, 3, 4), (2, 5, 6), 2),
    "constant_pad_nd": lambda op, t: op(t(3, 4), (1, -2, 2, 0), 2.5),
    "reflection_pad1d": lambda op, t: op(t(2, 4), (3, -1)),
    "reflection_pad2d": lambda op, t: op(t(2, 3, 4), (1, 2, 2, 1)),
    "reflection_pad3d": lambda op, t: op(t(1, 2, 3, 2), (1, 1, 0, 2, 1, 0)),
    "replication_pad1d": lambda op, t: op(t(2, 4), (3, -1)),
    "replication_pad2d": lambda op, t: op(t(2, 3, 4), (1, 2, 0, 5)),
    "replication_pad3d": lambda op, t: op(t(1, 2, 3, 2), (1, 1, 0, 2, 1, 0)),
    "_pad_circular": lambda op, t: op(t(2, 3, 4), (1, 2, 3, 0)),
    "_border_adjoint": lambda op, t: op(t(2, 6, 7), (2, 3, 4), (1, 2, 2, 1), "reflect"),
    "_grid_sample": lambda op, t: (
        op(t(1, 2, 3, 5), _points(t), 0, 1, True, (0, 0)) + op(t(1, 2, 4, 4), _points(t), 2, 2, False, (0, 1))
    ),
    "_grid_sample_adjoint": lambda op, t: op(t(1, 2, 2, 2), _points(t), (1, 2, 3, 5), 0, 0, False, (0, 0)),
    **{name: call for kind in UPSAMPLING for name, call in _upsampling(*kind).items()},
}  # fmt: skip
# Padding and linear maps of complex numbers: only these.
COMPLEX = {name for name in CALLS if "pad" in name or name == "_border_adjoint"}
