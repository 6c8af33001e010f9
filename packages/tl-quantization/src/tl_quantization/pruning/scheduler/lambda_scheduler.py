"""Levels by a function of the epoch."""

from __future__ import annotations

import warnings
from typing import Any

from .base_scheduler import BaseScheduler

__all__ = ["LambdaSL"]


class LambdaSL(BaseScheduler):
    """Multiplies each level with a function of the epoch.

    Args:
        sparsifier (BaseSparsifier): The sparsifier.
        sl_lambda (callable or list of callable): From the epoch to the factor, one for all or one each.
        last_epoch (int): The number of the last epoch. -1 begins.
        verbose (bool): Whether each level is printed.

    Raises:
        ValueError: If a list has another length.

    Example:
        >>> import tl_nn
        >>> from tl_quantization.pruning import WeightNormSparsifier
        >>> sparsifier = WeightNormSparsifier(0.8)
        >>> sparsifier.prepare(tl_nn.Sequential(tl_nn.Linear(8, 4)), None)
        >>> LambdaSL(sparsifier, lambda epoch: (epoch + 1) / 4).get_last_sl()
        [0.2]
    """

    def __init__(self, sparsifier: Any, sl_lambda: Any, last_epoch: int = -1, verbose: bool = False) -> None:
        count = len(sparsifier.groups)
        if isinstance(sl_lambda, (list, tuple)):
            if len(sl_lambda) != count:
                raise ValueError(f"Expected {count} lr_lambdas, but got {len(sl_lambda)}")
            self.sl_lambdas = list(sl_lambda)
        else:
            self.sl_lambdas = [sl_lambda] * count
        super().__init__(sparsifier, last_epoch, verbose)

    def get_sl(self) -> list[float]:
        """The levels of this epoch."""
        if not self._get_sl_called_within_step:
            warnings.warn(
                "To get the last sparsity level computed by the scheduler, please use `get_last_sl()`.",
                stacklevel=2,
            )
        return [
            base * make(self.last_epoch) for make, base in zip(self.sl_lambdas, self.base_sl, strict=True)
        ]
