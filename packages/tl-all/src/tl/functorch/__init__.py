"""`functorch`, which PyTorch's distribution contains beside `torch`: the older place of `tl.func`."""

import sys
from importlib import import_module

from tl_core.base.public_names import listed_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OF_FUNC = "functionalize grad hessian jacfwd jacrev jvp vjp vmap"
_OF_MODULES = (
    "FunctionalModule FunctionalModuleWithBuffers combine_state_for_ensemble make_functional "
    "make_functional_with_buffers"
)
_MODULES = {
    **dict.fromkeys(_OF_FUNC.split(), "tl_autograd.func"),
    "grad_and_value": "tl_autograd.func",
    **dict.fromkeys(_OF_MODULES.split(), "tl_nn.make_functional"),
    "make_fx": "tl_compiler.tracer.make_fx",
}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> "Any":
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return listed_names(sys.modules[__name__])
