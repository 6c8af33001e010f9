"""Functions of two tensors, of which one is masked or both have the same mask."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.masked.maskedtensor.core import HANDLERS, MaskedTensor, _masks_match, as_masked, with_values

__all__: list[str] = []

BINARY_NAMES = """
    add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide
    floor_divide fmod logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge
    greater greater_equal gt less_equal lt less maximum minimum fmax fmin not_equal
""".split()  # noqa: SIM905
_NOT_INPLACE = ("logaddexp", "logaddexp2", "fmin", "minimum", "fmax", "maximum", "equal")
INPLACE_BINARY_NAMES = [f"{name}_" for name in BINARY_NAMES if name not in _NOT_INPLACE]
_MORE = """
    rsub pow lerp copysign hypot logical_and logical_or logical_xor xlogy masked_fill
    __add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __rtruediv__
    __itruediv__ __floordiv__ __rfloordiv__ __mod__ __and__ __or__ __xor__ __rand__ __ror__ __rxor__ __eq__ __ne__
    __lt__ __le__ __gt__ __ge__ __lshift__ __rshift__
""".split()  # noqa: SIM905


def _function(name: str) -> Any:
    return getattr(_C, name, None) or getattr(Tensor, name)


NATIVE_BINARY_FNS = [_function(name) for name in BINARY_NAMES]
NATIVE_INPLACE_BINARY_FNS = [_function(name) for name in INPLACE_BINARY_NAMES]


@HANDLERS.rule(*BINARY_NAMES, *INPLACE_BINARY_NAMES, *_MORE)
def binary(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The operator on the elements; ValueError if two masks differ."""
    if kwargs.get("out") is not None:
        raise TypeError(f"{operator.__name__}(): MaskedTensor takes no out=")
    masked = [a for a in (*args, *kwargs.values()) if isinstance(a, MaskedTensor)]
    first = masked[0]
    for other in masked[1:]:
        if not _masks_match(first, other):
            raise ValueError(
                "Input masks must match. If you need support for this, please open an issue on Github."
            )
    if first.layout is not _C.strided:
        return _of_sparse(operator, first, args, kwargs)
    result = operator(
        *(_guard_gradient(a, first) for a in args),
        **{k: _guard_gradient(a, first) for k, a in kwargs.items()},
    )
    if isinstance(result, MaskedTensor) or type(result) is not Tensor:
        return result
    mask = first._masked_mask
    return as_masked(result, mask if mask.shape == result.shape else mask.expand(result.shape))


def _guard_gradient(a: Any, masked: MaskedTensor) -> Any:
    """A tensor without a mask, of which elements that do not count get no gradient."""
    if not isinstance(a, Tensor) or isinstance(a, MaskedTensor) or not a.requires_grad:
        return a
    return _C.where(masked._masked_mask, a, a.detach())


def _of_sparse(operator: Any, first: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> MaskedTensor:
    def values(a: Any) -> Any:
        if not isinstance(a, Tensor) or a.dim() == 0:
            return a
        if a.layout != first.layout:
            raise TypeError(f"{operator.__name__}(): operands of the layouts {first.layout} and {a.layout}")
        return (a.coalesce() if a.layout is _C.sparse_coo else a).values()

    like = first.coalesce() if first.layout is _C.sparse_coo else first
    return as_masked(with_values(like, operator(*map(values, args), **kwargs)), first._masked_mask)
