"""Products of many pairs of matrices in one call, whose sizes differ in one dimension: groups by their ends."""

from __future__ import annotations

import tl_core
from tl_core import Tensor
from tl_core.overrides import overridable

__all__ = ["grouped_mm"]

_ELEMENTS = (tl_core.float32, tl_core.bfloat16, tl_core.float16)


@overridable
def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: tl_core.dtype | None = None,
) -> Tensor:
    """The products of groups of matrices, as layers of experts compute them.

    A matrix of two dimensions holds all groups, one after another; one of three has a group each in its first
    dimension. `offs[i]` is where group i ends. Rows or columns of the result behind the last end are zero.

    Args:
        mat_a (Tensor): (rows, K), (groups, M, K), or (M, K of all groups).
        mat_b (Tensor): (groups, K, N), (K, columns), or (K of all groups, N).
        offs (Tensor): the end of each group in the dimension that the groups share, int32. None where both matrices
            have three dimensions.
        bias (Tensor): not supported.
        out_dtype (dtype): the type of mat_a.

    Returns:
        (rows, N), (M, columns), or (groups, M, N).

    Raises:
        RuntimeError: dimensions, types, groups or offsets do not fit.

    Example:
        >>> tokens, experts = tl_core.ones(4, 8), tl_core.ones(2, 8, 4)
        >>> grouped_mm(tokens, experts, offs=tl_core.tensor([1, 4], dtype=tl_core.int32)).shape
        torch.Size([4, 4])
    """
    _check_matrices(mat_a, mat_b)
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype not in (None, mat_a.dtype):
        raise RuntimeError(
            f"Grouped gemm output dtype must match `mat_a` dtype {mat_a.dtype}, got {out_dtype}"
        )
    return product_of_groups(mat_a, mat_b, offs)


def product_of_groups(a: Tensor, b: Tensor, offs: Tensor | None) -> Tensor:
    """The products of groups, of any element type.

    Args:
        a, b: the matrices, of two or three dimensions.
        offs: the end of each group. None where both have three.
    """
    check_groups(a, b, offs)
    if offs is None:
        return a @ b
    ends = offs.tolist()
    sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    if min(sizes, default=0) < 0:
        raise RuntimeError(f"offs must not decrease, got {ends}")
    if a.dim() == 3:
        return _along(-1, [m @ part for m, part in zip(a, _parts(b, sizes, 1), strict=True)], b.shape[1])
    if b.dim() == 3:
        return _along(0, [part @ m for part, m in zip(_parts(a, sizes, 0), b, strict=True)], a.shape[0])
    pairs = zip(_parts(a, sizes, 1), _parts(b, sizes, 0), strict=True)
    products = [left @ right for left, right in pairs]
    return tl_core.stack(products) if products else a.new_zeros(0, a.shape[0], b.shape[1])


def check_groups(a: Tensor, b: Tensor, offs: Tensor | None) -> None:
    """Raises RuntimeError unless the matrices and the ends of groups fit each other.

    Args:
        a, b: the matrices.
        offs: where each group ends.
    """
    for name, m in (("mat_a", a), ("mat_b", b)):
        if m.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d, got {m.dim()}d")
    if (a.dim() == 2 or b.dim() == 2) != (offs is not None):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"contraction dimension of mat_a and mat_b must match, got {a.shape[-1]} and {b.shape[-2]}"
        )
    groups = {m.shape[0] for m in (a, b) if m.dim() == 3}
    if offs is not None:
        if offs.dim() != 1:
            raise RuntimeError(f"offs has to be 1D, got {offs.dim()}D")
        if offs.dtype is not tl_core.int32:
            raise RuntimeError(f"Offsets have to be int32, got {offs.dtype}")
        groups.add(offs.shape[0])
    if len(groups) > 1:
        raise RuntimeError(f"matrix batch sizes have to match, got {sorted(groups)}")


def _check_matrices(a: Tensor, b: Tensor) -> None:
    for name, m in (("mat_a", a), ("mat_b", b)):
        if m.dtype not in _ELEMENTS:
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {m.dtype}")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"mat_a and mat_b must have the same dtype, got {a.dtype} and {b.dtype}")


def _parts(m: Tensor, sizes: list[int], dim: int) -> tuple[Tensor, ...]:
    """The groups of a matrix of two dimensions."""
    rest = m.shape[dim] - sum(sizes)
    if rest < 0:
        raise RuntimeError(
            f"the last offset, {sum(sizes)}, is behind the end of dimension {dim}, {m.shape[dim]}"
        )
    return tuple(m.split_with_sizes([*sizes, rest], dim)[:-1])


def _along(dim: int, products: list[Tensor], size: int) -> Tensor:
    """The products one after another, then zeros."""
    result = tl_core.cat(products, dim)
    rest = size - result.shape[dim]
    if rest == 0:
        return result
    shape = list(result.shape)
    shape[dim] = rest
    return tl_core.cat([result, result.new_zeros(shape)], dim)
