"""Products of 8-bit floating-point matrices with scales: one for a matrix, or one for each row and column."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.overrides import overridable

from .grouped_products import product_of_groups

__all__ = ["ScalingType", "SwizzleType", "scaled_grouped_mm", "scaled_mm"]


class ScalingType(enum.Enum):
    """The sets of elements of a matrix that share a scale."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.Enum):
    """The order in which the scales of blocks lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


_FLOAT8 = (tl_core.float8_e4m3fn, tl_core.float8_e5m2, tl_core.float8_e4m3fnuz, tl_core.float8_e5m2fnuz)
_BY_HAND = (ScalingType.TensorWise, ScalingType.RowWise)


@overridable
def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: ScalingType | list[ScalingType],
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: ScalingType | list[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None,
    swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None,
    output_dtype: tl_core.dtype | None = tl_core.bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of two float8 matrices, each multiplied by its scales: (mat_a · scale_a) (mat_b · scale_b) + bias.

    The CPU supports a scale for the whole matrix, and a scale for each row of mat_a and column of mat_b. Sums are of
    float32.

    Args:
        mat_a (Tensor): (M, K).
        mat_b (Tensor): (K, N).
        scale_a, scale_b (Tensor): the scales, float32. Recipes of two levels need several.
        scale_recipe_a, scale_recipe_b (ScalingType): which elements share a scale.
        swizzle_a, swizzle_b (SwizzleType): the order of the scales of blocks.
        bias (Tensor): N numbers that are added.
        output_dtype (dtype): the type of the result. None selects mat_a's type.
        contraction_dim (tuple of int): the dimensions of mat_a and mat_b that are summed over; by default the last
            of mat_a and the first of mat_b.
        use_fast_accum (bool): ignored: sums have full precision.

    Returns:
        Tensor: (M, N).

    Raises:
        ValueError: the scales do not fit the matrices, or are of blocks, which only accelerators support.
        RuntimeError: the matrices do not fit each other.

    Example:
        >>> x = tl_core.ones(16, 16).to(tl_core.float8_e4m3fn)
        >>> half, whole = tl_core.tensor(0.5), ScalingType.TensorWise
        >>> scaled_mm(x, x, half, whole, half, whole)[0, 0]
        tensor(4., dtype=torch.bfloat16)
    """
    recipes = _single(scale_recipe_a, "scale_recipe_a"), _single(scale_recipe_b, "scale_recipe_b")
    scales = _single(scale_a, "scale_a"), _single(scale_b, "scale_b")
    if contraction_dim:
        mat_a = mat_a if contraction_dim[0] in (1, -1) else mat_a.t()
        mat_b = mat_b if contraction_dim[1] in (0, -2) else mat_b.t()
    if recipes[0] is not recipes[1] or recipes[0] not in _BY_HAND:
        raise ValueError(_refusal(mat_a, mat_b, *scales))
    if recipes[0] is ScalingType.RowWise and scales[1].dim() == 2 and scales[1].shape[1] == 1:
        scales = scales[0], scales[1].t()
    return product_with_scales(mat_a, mat_b, *scales, bias=bias, out_dtype=output_dtype)


@overridable
def scaled_grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: ScalingType | list[ScalingType],
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: ScalingType | list[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None,
    swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None,
    offs: Tensor | None = None,
    output_dtype: tl_core.dtype | None = tl_core.bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """The products of groups of float8 matrices with a scale for each row and column. See `grouped_mm`, `scaled_mm`.

    Args:
        mat_a (Tensor): the left matrices.
        mat_b (Tensor): the right matrices.
        scale_a (Tensor): a scale for each row of mat_a, float32: (rows,), or (groups, M).
        scale_recipe_a, scale_recipe_b (ScalingType): `RowWise`.
        scale_b (Tensor): a scale for each column of mat_b: (columns,), or (groups, N).
        swizzle_a, swizzle_b (SwizzleType): the order of the scales of blocks.
        bias (Tensor): not supported.
        offs (Tensor): where each group ends, int32.
        output_dtype (dtype): the type of the result.
        contraction_dim (tuple of int): not supported: the last of mat_a and the next to last of mat_b.
        use_fast_accum (bool): ignored: sums have full precision.

    Returns:
        Tensor: see `grouped_mm`.

    Raises:
        ValueError: a recipe is another one.
        RuntimeError: matrices, offsets or scales do not fit each other.

    Example:
        >>> x, w = tl_core.ones(4, 16).to(tl_core.float8_e4m3fn), tl_core.ones(2, 16, 8).to(tl_core.float8_e4m3fn)
        >>> rows, ends = ScalingType.RowWise, tl_core.tensor([1, 4], dtype=tl_core.int32)
        >>> scaled_grouped_mm(x, w, tl_core.ones(4), rows, tl_core.ones(2, 8), rows, offs=ends).shape
        torch.Size([4, 8])
    """
    recipes = _single(scale_recipe_a, "scale_recipe_a"), _single(scale_recipe_b, "scale_recipe_b")
    if recipes != (ScalingType.RowWise, ScalingType.RowWise):
        raise ValueError(
            f"scaled_grouped_mm: the CPU knows RowWise scales only, got {recipes[0]} and {recipes[1]}"
        )
    if bias is not None or contraction_dim:
        raise RuntimeError(
            "Bias not supported yet" if bias is not None else "contraction_dim not supported yet"
        )
    a, b = _single(scale_a, "scale_a"), _single(scale_b, "scale_b")
    return grouped_product_with_scales(mat_a, mat_b, a, b, offs, out_dtype=output_dtype)


def product_by_recipes(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: list[Tensor],
    recipe_a: list[int],
    swizzle_a: list[int],
    scale_b: list[Tensor],
    recipe_b: list[int],
    swizzle_b: list[int],
    bias: Tensor | None,
    out_dtype: tl_core.dtype | None,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """`torch._scaled_mm_v2`: `scaled_mm` with recipes and orders by their numbers.

    Args:
        mat_a, mat_b: the matrices.
        scale_a, scale_b: the scales.
        recipe_a, recipe_b: which elements share a scale.
        swizzle_a, swizzle_b: the order of the scales of blocks.
        bias: N numbers that are added.
        out_dtype: the type of the result.
        contraction_dim: the dimensions that are summed over.
        use_fast_accum: ignored.
    """
    recipes = ([ScalingType(r) for r in recipe] for recipe in (recipe_a, recipe_b))
    a, b = recipes
    return scaled_mm(
        mat_a,
        mat_b,
        scale_a,
        a,
        scale_b,
        b,
        bias=bias,
        output_dtype=out_dtype,
        contraction_dim=contraction_dim,
    )


def product_with_scales(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: tl_core.dtype | None = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """`torch._scaled_mm`: the scales' shapes say which elements share one.

    Args:
        mat_a, mat_b: the matrices, of float8.
        scale_a, scale_b: one number each, or (M, 1) and (1, N).
        bias: N numbers that are added.
        scale_result: not used by float32 sums.
        out_dtype: the type of the result. None selects mat_a's type.
        use_fast_accum: ignored.
    """
    for name, m in (("mat1", mat_a), ("mat2", mat_b)):
        if m.dim() != 2:
            raise RuntimeError(f"{name} must be a matrix, got {m.dim()} dimensions")
    rows, columns = mat_a.shape[0], mat_b.shape[1]
    if mat_a.shape[1] != mat_b.shape[0]:
        raise RuntimeError(
            f"mat_a and mat_b shapes cannot be multiplied ({rows}x{mat_a.shape[1]} and {mat_b.shape[0]}x{columns})"
        )
    one = scale_a.numel() == scale_b.numel() == 1
    by_row = scale_a.shape == (rows, 1) and scale_b.shape == (1, columns)
    floats = all(m.dtype in _FLOAT8 for m in (mat_a, mat_b))
    if not floats or not (one or by_row) or {scale_a.dtype, scale_b.dtype} != {tl_core.float32}:
        raise ValueError(_refusal(mat_a, mat_b, scale_a, scale_b))
    if bias is not None and bias.numel() != columns:
        raise RuntimeError(f"Bias must be size {columns} but got {bias.numel()}")
    product = (mat_a.float() * scale_a) @ (mat_b.float() * scale_b)
    product = product if bias is None else product + bias.float()
    return product.to(out_dtype or mat_a.dtype)


def grouped_product_with_scales(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: tl_core.dtype | None = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """`torch._scaled_grouped_mm`: groups of matrices with a scale for each row and column.

    Args:
        mat_a, mat_b: the matrices, of float8.
        scale_a, scale_b: the scales.
        offs: where each group ends.
        bias: not supported.
        scale_result: not used by float32 sums.
        out_dtype: the type of the result. None selects bfloat16.
        use_fast_accum: ignored.
    """
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    for name, m in (("mat_a", mat_a), ("mat_b", mat_b)):
        if m.dtype not in _FLOAT8:
            raise RuntimeError(f"Expected {name} to be Float8 matrix, got {m.dtype}")
    if mat_a.dim() == mat_b.dim() == 2:
        return _summed_groups(mat_a, mat_b, scale_a, scale_b, offs).to(out_dtype or tl_core.bfloat16)
    a = mat_a.float() * _fitting(scale_a, mat_a, -2, "scale_a")
    b = mat_b.float() * _fitting(scale_b, mat_b, -1, "scale_b")
    return product_of_groups(a, b, offs).to(out_dtype or tl_core.bfloat16)


def _summed_groups(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, offs: Tensor | None) -> Tensor:
    """Groups that share the dimension which is summed over have scales of their own, one group's after another's."""
    products = product_of_groups(a.float(), b.float(), offs)
    groups, rows, columns = products.shape
    for name, scale, size in (("scale_a", scale_a, rows), ("scale_b", scale_b, columns)):
        if scale.numel() != groups * size:
            raise RuntimeError(f"{name} must have {groups} x {size} numbers, got {tuple(scale.shape)}")
    return products * scale_a.reshape(groups, rows, 1) * scale_b.reshape(groups, 1, columns)


def _fitting(scale: Tensor, m: Tensor, dim: int, name: str) -> Tensor:
    """A scale for each row or column, as a tensor that multiplies the matrices."""
    shape = [*m.shape[:-2], m.shape[dim]]
    if list(scale.shape) != shape:
        raise RuntimeError(f"{name} must have shape {shape}, got {list(scale.shape)}")
    return scale.unsqueeze(-1 if dim == -2 else -2)


def _single(value: Any, name: str) -> Any:
    """The only one of a list, as recipes of one level have."""
    if not isinstance(value, (list, tuple)):
        return value
    if len(value) != 1:
        raise ValueError(f"{name}: scales of {len(value)} levels are of blocks, which the CPU doesn't know")
    return value[0]


def _refusal(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> str:
    rows, columns = a.shape[0], b.shape[-1]
    facts = ", ".join(
        f"{name}.dtype()={t.dtype}, {name}.size()={list(t.shape)}"
        for name, t in (("mat_a", a), ("scale_a", scale_a), ("mat_b", b), ("scale_b", scale_b))
    )
    return (
        "Invalid scaling configuration.\n"
        "- For TensorWise scaling, a and b should be float8, scales should be float and singletons.\n"
        "- For RowWise scaling, a and b should be float8, scales should be float, scale_a should be "
        f"({rows}, 1) and scale_b should be (1, {columns}), and both should be contiguous.\n"
        f"Got {facts}"
    )
