"""The base of schedules: `step` sets `sparsity_level` in the configurations of a sparsifier."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from ..sparsifier.base_sparsifier import BaseSparsifier

__all__ = ["BaseScheduler", "count_steps"]


class BaseScheduler:
    """The base class of schedules. A class of one's own has `get_sl`.

    Args:
        sparsifier (BaseSparsifier): Its configurations have `sparsity_level`.
        last_epoch (int): The number of the last epoch. -1 begins.
        verbose (bool): Whether each level is printed.

    Raises:
        TypeError: If the sparsifier is none.

    Example:
        >>> from tl_quantization.pruning import LambdaSL
        >>> issubclass(LambdaSL, BaseScheduler)
        True
    """

    def __init__(self, sparsifier: Any, last_epoch: int = -1, verbose: bool = False) -> None:
        if not isinstance(sparsifier, BaseSparsifier):
            raise TypeError(
                f"{type(sparsifier).__name__} is not an instance of torch.ao.pruning.BaseSparsifier"
            )
        self.sparsifier = sparsifier
        self.base_sl = [group["sparsity_level"] for group in sparsifier.groups]
        self.last_epoch = last_epoch
        self.verbose = verbose
        count_steps(sparsifier)
        self._step_count = 0
        self._get_sl_called_within_step = False
        self._last_sl: list[float] = []
        self.step()

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the sparsifier."""
        return {key: value for key, value in vars(self).items() if key != "sparsifier"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the attributes of `state_dict`."""
        vars(self).update(state_dict)

    def get_last_sl(self) -> list[float]:
        """The levels that the last step has set."""
        return self._last_sl

    def get_sl(self) -> list[float]:
        """The levels of this epoch. Raises NotImplementedError in the base class."""
        if not self._get_sl_called_within_step:
            warnings.warn(
                "To get the last sparsity level computed by the scheduler, please use `get_last_sl()`.",
                stacklevel=2,
            )
        raise NotImplementedError(f"{type(self).__name__} has no get_sl")

    def print_sl(self, is_verbose: bool, group: Any, sl: float, epoch: int | None = None) -> None:
        """Prints a level.

        Args:
            is_verbose: whether the text is printed.
            group: the configuration, or its number.
            sl: the level.
            epoch: the epoch, if the text has it.
        """
        if is_verbose:
            start = "" if epoch is None else f"Epoch {epoch:5d}: "
            print(f"{start}Adjusting sparsity level of group {group} to {sl:.4e}.")

    def __repr__(self) -> str:
        return f"{type(self).__name__} (\nSparsifier {self.sparsifier}\n    base_sl: {self.base_sl}\n)"

    def step(self, epoch: int | None = None) -> None:
        """Sets the levels of the next epoch.

        Args:
            epoch: for the text of `verbose`.
        """
        if self._step_count == 1 and self.sparsifier._step_count < 1:  # type: ignore[attr-defined]  # counted by the wrapper
            warnings.warn(
                "Detected call of `scheduler.step()` before `sparsifier.step()`. You have to make sure you run the "
                "sparsifier.step() BEFORE any calls to the scheduler.step().",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        self._get_sl_called_within_step = True
        try:
            self.last_epoch += 1
            values = self.get_sl()
        finally:
            self._get_sl_called_within_step = False
        for i, (group, level) in enumerate(zip(self.sparsifier.groups, values, strict=True)):
            group["sparsity_level"] = level
            self.print_sl(self.verbose, i, level, epoch)
        self._last_sl = [group["sparsity_level"] for group in self.sparsifier.groups]
        self.sparsifier.enable_mask_update = True

    def _make_sure_a_list(self, var: Any) -> list[Any]:
        """A value for each configuration. Raises ValueError for a list of another length."""
        count = len(self.sparsifier.groups)
        if not isinstance(var, (list, tuple)):
            return [var] * count
        if len(var) != count:
            raise ValueError(f"Expected variable of length {count}, but got {len(var)}")
        return list(var)


def count_steps(sparsifier: Any) -> None:
    """Counts the calls of a sparsifier's `step` in `_step_count`, once however many schedules it has.

    Args:
        sparsifier: the sparsifier.
    """
    sparsifier._step_count = 0
    step = sparsifier.step
    if getattr(step, "_with_counter", False):
        return

    @functools.wraps(step)
    def count_and_step(*args: Any, **kwargs: Any) -> Any:
        sparsifier._step_count += 1
        return step(*args, **kwargs)

    count_and_step._with_counter = True  # type: ignore[attr-defined]  # functions take attributes
    sparsifier.step = count_and_step
