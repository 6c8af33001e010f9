"""Distances of all pairs of vectors."""

from tl_core import _C
from tl_core._C import Tensor
from tl_core.dispatch.autocast_inputs import in_float32
from tl_core.overrides import overridable

__all__ = ["cdist", "pdist"]

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
    return _C._call_operator(("cdist",), x1, x2, p, _MODES.index(mode))


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
    return _C._call_operator(("pdist",), input, p)
