"""Distances of all pairs of vectors."""

from tl_core import _C
from tl_core._C import Tensor
from tl_core.dispatch.autocast_inputs import in_float32
from tl_core.overrides import overridable
from tl_core.symbolic.numbers import SymInt

__all__ = ["cdist", "pdist"]

# Up to which number of vectors the reference compares them one by one unless told otherwise.
_FEW = 25
_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@overridable
@in_float32
def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """The distance of each vector of one collection to each of another.

    Parameters:
        x1, x2 : Tensor, shapes (*, P, M) and (*, R, M)
            The vectors, of a floating-point type; dimensions before the last two are broadcast.
        p : float
            The exponent of the norm, at least 0.
        compute_mode : str
            For p = 2: whether distances come from a matrix product, which is quicker and loses digits where they are
            small: always, with more than 25 vectors (`"use_mm_for_euclid_dist_if_necessary"`), or never.

    Returns:
        Tensor, shape (*, P, R)

    Raises:
        RuntimeError
            If the shapes don't fit, the types aren't floating-point, or `p` is negative.

    Examples:
        >>> import tl_core as tl
        >>> tl.cdist(tl.tensor([[0.0, 0.0], [3.0, 0.0]]), tl.tensor([[3.0, 4.0]]))
        tensor([[5.],
                [4.]])
    """
    mode = compute_mode or _MODES[0]
    if mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    _check(x1, x2, p)
    if x1.dtype != x2.dtype:
        x1, x2 = x1.to(_C.result_type(x1, x2)), x2.to(_C.result_type(x1, x2))
    rows = x1.shape[-2], x2.shape[-2]
    # A trace holds for all sizes: it takes the exact formula.
    many = not any(isinstance(n, SymInt) for n in rows) and max(rows) > _FEW
    product = p == 2 and x1.shape[-1] > 0 and (mode == _MODES[1] or (mode == _MODES[0] and many))
    return _C._distances(x1, x2, p, product, False)


def _check(x1: Tensor, x2: Tensor, p: float) -> None:
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype}")
        if x.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.dim()}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")


@overridable
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The distance of each pair of rows, in the order (0, 1), (0, 2), …, (1, 2), ….

    Parameters:
        input : Tensor, shape (N, M)
            The vectors, of a floating-point type.
        p : float
            The exponent of the norm, at least 0.

    Returns:
        Tensor, shape (N * (N - 1) / 2,)

    Raises:
        RuntimeError
            If the input isn't a matrix of a floating-point type, or `p` is negative.

    Examples:
        >>> import tl_core as tl
        >>> tl.pdist(tl.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]))
        tensor([5., 3., 4.])
    """
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return _C._distances(input, input, p, False, True)
