"""`Adagrad` that is handed gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_core import Tensor
from tl_nn.optim import Adagrad

from .functional_optimizer import FunctionalOptimizer

__all__: list[str] = []


class _FunctionalAdagrad(FunctionalOptimizer):
    def __init__(self, params: Sequence[Tensor], **settings: Any):
        super().__init__(Adagrad, params, **settings)
