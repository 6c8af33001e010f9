"""Levels that rise fast at first: Zhu and Gupta, To Prune or Not to Prune, 2017."""

from __future__ import annotations

import warnings
from typing import Any

from .base_scheduler import BaseScheduler

__all__ = ["CubicSL"]


class CubicSL(BaseScheduler):
    """Levels from `init_sl` to those of the configurations, by a cubic function of time.

    Args:
        sparsifier (BaseSparsifier): The sparsifier.
        init_sl (float or list of float): The first level.
        init_t (int or list of int): The first epoch.
        delta_t (int or list of int): The epochs between two changes.
        total_t (int or list of int): The number of changes.
        initially_zero (bool or list of bool): Whether levels before the first epoch are 0.
        last_epoch (int): The number of the last epoch. -1 begins.
        verbose (bool): Whether each level is printed.

    Example:
        >>> import tl_nn
        >>> from tl_quantization.pruning import WeightNormSparsifier
        >>> sparsifier = WeightNormSparsifier(0.8)
        >>> sparsifier.prepare(tl_nn.Sequential(tl_nn.Linear(8, 4)), None)
        >>> schedule = CubicSL(sparsifier, total_t=2, delta_t=1)
        >>> sparsifier.step()
        >>> schedule.step()
        >>> [round(level, 3) for level in schedule.get_last_sl()]
        [0.7]
    """

    def __init__(
        self,
        sparsifier: Any,
        init_sl: Any = 0.0,
        init_t: Any = 0,
        delta_t: Any = 10,
        total_t: Any = 100,
        initially_zero: Any = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.sparsifier = sparsifier
        self.init_sl = self._make_sure_a_list(init_sl)
        self.init_t = self._make_sure_a_list(init_t)
        self.delta_t = self._make_sure_a_list(delta_t)
        self.total_t = self._make_sure_a_list(total_t)
        self.initially_zero = self._make_sure_a_list(initially_zero)
        super().__init__(sparsifier, last_epoch, verbose)

    @staticmethod
    def sparsity_compute_fn(
        s_0: float, s_f: float, t: int, t_0: int, dt: int, n: int, initially_zero: bool = False
    ) -> float:
        r"""The level at an epoch, at least `s_0` and at most `s_f`.

        Formula:
            .. math::

                s_t = s_f + (s_0 - s_f) \Bigl(1 - \frac{t - t_0}{n \, \Delta t}\Bigr)^3

        Args:
            s_0: the first level.
            s_f: the last level.
            t: the epoch.
            t_0: the first epoch.
            dt: the epochs between two changes.
            n: the number of changes.
            initially_zero: whether levels before the first epoch are 0.
        """
        if initially_zero and t < t_0:
            return 0
        level = s_f + (s_0 - s_f) * (1.0 - (t - t_0) / (dt * n)) ** 3
        return max(s_0, min(s_f, level))

    def get_sl(self) -> list[float]:
        """The levels of this epoch."""
        if not self._get_sl_called_within_step:
            warnings.warn(
                "To get the last sparsity level computed by the scheduler, please use `get_last_sl()`.",
                stacklevel=2,
            )
        columns = (self.init_sl, self.base_sl, self.init_t, self.delta_t, self.total_t, self.initially_zero)
        return [
            self.sparsity_compute_fn(first, last, self.last_epoch, start, step, total, zero)
            for first, last, start, step, total, zero in zip(*columns, strict=True)
        ]
