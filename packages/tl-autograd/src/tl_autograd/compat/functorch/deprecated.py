"""The transforms under names that warn."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from tl_autograd import func

__all__ = [
    "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap",
]  # fmt: skip


def _warning(name: str) -> Callable[..., Any]:
    real = getattr(func, name)

    @functools.wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"functorch.{name} is deprecated: it is torch.func.{name}, which replaces it.",
            FutureWarning,
            stacklevel=2,
        )
        return real(*args, **kwargs)

    return call


functionalize = _warning("functionalize")
grad = _warning("grad")
grad_and_value = _warning("grad_and_value")
hessian = _warning("hessian")
jacfwd = _warning("jacfwd")
jacrev = _warning("jacrev")
jvp = _warning("jvp")
vjp = _warning("vjp")
vmap = _warning("vmap")
