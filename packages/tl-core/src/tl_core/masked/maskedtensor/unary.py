"""Functions of one masked tensor, element by element; the mask stays."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.masked.maskedtensor.core import HANDLERS, MaskedTensor, as_masked, with_values
from tl_core.operators.elementwise import elementwise_functions

__all__: list[str] = []

# The elementwise functions of one tensor that PyTorch's masked tensors lack.
_ABSENT = """
    bitwise_left_shift bitwise_right_shift celu elu fill frexp hardshrink hardsigmoid hardswish hardtanh isneginf
    isposinf leaky_relu log_sigmoid mish polygamma remainder selu softshrink threshold xlogy
""".split()  # noqa: SIM905
# Functions and methods that masked tensors take besides PyTorch's list.
_MORE = """
    float_power relu gelu silu softplus logical_not isfinite isinf
    ones_like zeros_like rand_like randn_like full_like empty_like clone detach half float double bfloat16 int long
    short char byte bool requires_grad_ detach_ __neg__ __pos__ __abs__ __invert__ __pow__ __rpow__ cpu
""".split()  # noqa: SIM905
UNARY_NAMES = sorted(
    elementwise_functions(tensors=1).difference(_ABSENT, _MORE) | {"conj_physical", "positive"}
)
_NOT_INPLACE = ("angle", "positive", "signbit", "isnan")
INPLACE_UNARY_NAMES = [f"{name}_" for name in UNARY_NAMES if name not in _NOT_INPLACE]


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


@HANDLERS.rule(*UNARY_NAMES, *INPLACE_UNARY_NAMES, *_MORE)
def _unary(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if any(isinstance(a, Tensor) for a in (*args[1:], *kwargs.values())):
        from tl_core.masked.maskedtensor.binary import binary

        return binary(operator, args, kwargs)
    self = args[0]
    mask = self._masked_mask
    result = on_values(operator, self, *args[1:], **kwargs)
    return result if isinstance(result, MaskedTensor) else as_masked(result, mask)
