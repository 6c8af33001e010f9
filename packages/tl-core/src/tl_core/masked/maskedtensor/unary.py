"""Functions of one masked tensor, element by element; the mask stays."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.masked.maskedtensor.core import HANDLERS, MaskedTensor, as_masked, with_values

__all__: list[str] = []

UNARY_NAMES = """
    abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil
    clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log log10
    log1p log2 logit i0 isnan nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn
    signbit sin sinc sinh sqrt square tan tanh trunc
""".split()  # noqa: SIM905
_NOT_INPLACE = ("angle", "positive", "signbit", "isnan")
INPLACE_UNARY_NAMES = [f"{name}_" for name in UNARY_NAMES if name not in _NOT_INPLACE]
# Not on the list, but of the same kind.
_MORE = """
    float_power relu gelu silu softplus logical_not isfinite isinf
    ones_like zeros_like rand_like randn_like full_like empty_like clone detach half float double bfloat16 int long
    short char byte bool requires_grad_ detach_ __neg__ __pos__ __abs__ __invert__ __pow__ __rpow__ cpu
""".split()  # noqa: SIM905


def _function(name: str) -> Any:
    return getattr(_C, name, None) or getattr(Tensor, name)


NATIVE_UNARY_FNS = [_function(name) for name in UNARY_NAMES]
NATIVE_INPLACE_UNARY_FNS = [_function(name) for name in INPLACE_UNARY_NAMES]


def on_values(operator: Any, t: Any, *args: Any, **kwargs: Any) -> Any:
    """The operator on the elements of a tensor of any layout."""
    if t.layout is _C.strided:
        return operator(t, *args, **kwargs)
    t = t.coalesce() if t.layout is _C.sparse_coo else t
    return with_values(t, operator(t.values(), *args, **kwargs))


def _unary(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if any(isinstance(a, Tensor) for a in (*args[1:], *kwargs.values())):
        from tl_core.masked.maskedtensor.binary import binary

        return binary(operator, args, kwargs)
    self = args[0]
    mask = self._masked_mask
    result = on_values(operator, self, *args[1:], **kwargs)
    return result if isinstance(result, MaskedTensor) else as_masked(result, mask)


for _name in (*UNARY_NAMES, *INPLACE_UNARY_NAMES, *_MORE):
    HANDLERS[_name] = _unary
