"""The base of schedules for sparsifiers of tensors: `step` sets one argument in their configurations."""

from __future__ import annotations

import abc
import warnings
from typing import Any

from ..data_sparsifier.base_data_sparsifier import BaseDataSparsifier
from ..scheduler.base_scheduler import count_steps

__all__ = ["BaseDataScheduler"]


class BaseDataScheduler:
    """The base class of schedules for sparsifiers of tensors. A class of one's own has `get_schedule_param`.

    Args:
        data_sparsifier (BaseDataSparsifier): The sparsifier.
        schedule_param (str): The argument of its `update_mask` that changes.
        last_epoch (int): The number of the last epoch. -1 begins.
        verbose (bool): Whether each value is printed.

    Raises:
        TypeError: If the sparsifier is none.

    Example:
        >>> import tl_core
        >>> from tl_quantization.pruning.data_sparsifier import DataNormSparsifier
        >>> class Half(BaseDataScheduler):
        ...     def get_schedule_param(self):
        ...         groups = self.data_sparsifier.data_groups
        ...         return {name: group[self.schedule_param] * 0.5 for name, group in groups.items()}
        >>> Half(DataNormSparsifier([("a", tl_core.ones(4, 4))]), "sparsity_level").get_last_param()
        {'a': 0.25}
    """

    def __init__(
        self, data_sparsifier: Any, schedule_param: str, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not isinstance(data_sparsifier, BaseDataSparsifier):
            raise TypeError(
                f"{type(data_sparsifier).__name__} is not an instance of torch.ao.pruning.BaseDataSparsifier"
            )
        self.data_sparsifier = data_sparsifier
        self.schedule_param = schedule_param
        self.base_param = self._values()
        self.last_epoch = last_epoch
        self.verbose = verbose
        count_steps(data_sparsifier)
        self._step_count = 0
        self._get_sp_called_within_step = False
        self._last_param: dict[str, Any] = {}
        self.step()

    def _values(self) -> dict[str, Any]:
        """The argument in each configuration."""
        groups = self.data_sparsifier.data_groups
        return {name: config.get(self.schedule_param) for name, config in groups.items()}

    @abc.abstractmethod
    def get_schedule_param(self) -> dict[str, Any]:
        """The values of this epoch by the name of the tensor. Raises NotImplementedError in the base class."""
        raise NotImplementedError(f"{type(self).__name__} has no get_schedule_param")

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} (\nData Sparsifier {self.data_sparsifier}\n"
            f"    {self.schedule_param}: {self.base_param}\n)"
        )

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the sparsifier."""
        return {key: value for key, value in vars(self).items() if key != "data_sparsifier"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the attributes of `state_dict`.

        Args:
            state_dict: from `state_dict`.
        """
        vars(self).update(state_dict)

    def get_last_param(self) -> dict[str, Any]:
        """The values that the last step has set."""
        return self._last_param

    def step(self) -> None:
        """Sets the values of the next epoch."""
        sparsifier: Any = self.data_sparsifier
        if self._step_count == 1 and not hasattr(sparsifier.step, "_with_counter"):
            warnings.warn(
                "Seems like `data_sparsifier.step()` has been overridden after sparsity scheduler initialization. "
                "Please, make sure to call `data_sparsifier.step()` before `scheduler.step()`.",
                UserWarning,
                stacklevel=2,
            )
        elif self._step_count == 1 and sparsifier._step_count < 1:
            warnings.warn(
                "Detected call of `scheduler.step()` before `data_sparsifier.step()`. You have to make sure you run "
                "the data_sparsifier.step() BEFORE any calls to the scheduler.step().",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        self._get_sp_called_within_step = True
        try:
            self.last_epoch += 1
            values = self.get_schedule_param()
        finally:
            self._get_sp_called_within_step = False
        for name, value in values.items():
            sparsifier.data_groups[name][self.schedule_param] = value
            if self.verbose:
                print(f"Adjusting {self.schedule_param} for group {name} to {value}")
        self._last_param = self._values()
        sparsifier.enable_mask_update = True
