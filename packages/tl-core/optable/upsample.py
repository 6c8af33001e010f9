"""Interpolation on grids."""

from opgen.row import Composite, Op

SCALES = {1: "scales", 2: "scales_h, scales_w", 3: "scales_d, scales_h, scales_w"}
# The name before the number of dimensions, that number, and whether corners may be aligned.
KINDS = [
    *((f"upsample_nearest{n}d", n, False) for n in (1, 2, 3)),
    *((f"_upsample_nearest_exact{n}d", n, False) for n in (1, 2, 3)),
    ("upsample_linear1d", 1, True),
    ("upsample_bilinear2d", 2, True),
    ("upsample_trilinear3d", 3, True),
    ("upsample_bicubic2d", 2, True),
    ("_upsample_bilinear2d_aa", 2, True),
    ("_upsample_bicubic2d_aa", 2, True),
]


def _rows(name, n, corners):
    align, passed = ("bool align_corners, ", "align_corners, ") if corners else ("", "")
    scales = ", ".join(f"float? {s}=None" for s in SCALES[n].split(", "))
    common = {"method": False, "namespace": "_nn", "out": True, "jvp": "linear", "batch": "fold"}
    yield Op(
        f"{name}(Tensor self, int[{n}] output_size, {align}{scales}) -> Tensor",
        **common,
        grad={"self": f"{name}_backward(g, output_size, self.shape, {passed}{SCALES[n]})"},
        shape=f"[*self.shape[:2], *each(output_size, {n})]",
        doc="The grid read at other points, between its own.",
    )
    yield Op(
        (
            f"{name}_backward(Tensor grad_output, int[{n}] output_size, int[{n + 2}] input_size, "
            f"{align}{scales}) -> Tensor"
        ),
        **common,
        out_name=f"{name}_backward.grad_input(grad_input)",
        grad={"grad_output": f"{name}(g, output_size, {passed}{SCALES[n]})"},
        shape="list(input_size)",
        doc=f"The adjoint of {name}.",
    )
    tail = f"bool align_corners, float[{n}]? scale_factors" if corners else f"float[{n}]? scale_factors"
    yield Composite(
        f"{name}.vec(Tensor input, int[]? output_size, {tail.replace(f'[{n}]', '[]')}) -> Tensor",
        method=False,
        namespace="_nn",
        shape="upsample(input.shape, output_size, scale_factors)",
        core=name in ("upsample_bilinear2d", "upsample_nearest2d"),
        doc="The same with the size or the factors of the result.",
    )


ROWS = [row for kind in KINDS for row in _rows(*kind)]
