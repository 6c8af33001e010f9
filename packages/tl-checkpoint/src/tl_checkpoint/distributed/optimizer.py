"""The state of optimizers whose parameters are sharded over ranks."""

from __future__ import annotations

from typing import Any, NoReturn

from .planner import LoadPlanner
from .storage import StorageReader

__all__ = ["load_sharded_optimizer_state_dict"]


def load_sharded_optimizer_state_dict(
    model_state_dict: dict[str, Any],
    optimizer_key: str,
    storage_reader: StorageReader,
    planner: LoadPlanner | None = None,
) -> NoReturn:
    """Load an optimizer's state, cut as the model's parameters are; needs several ranks.

    Args:
        model_state_dict: the state of the model, whose tensors say how they are cut.
        optimizer_key: the entry of the optimizer's state.
        storage_reader: where the checkpoint is.
        planner: how entries are read; None for the default.

    Example:
        >>> try:
        ...     load_sharded_optimizer_state_dict({}, "optimizer", None)
        ... except NotImplementedError:
        ...     print("not there")
        ...
        not there
    """
    raise NotImplementedError(
        "load_sharded_optimizer_state_dict needs sharded parameters, which tl-distributed will bring; in one process "
        "load the state that get_optimizer_state_dict() gives"
    )
