"""`torch.distributed.fsdp._common_utils`: names of parameters below wrappers, and states of wrappers."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from tl_core import Tensor
from tl_nn import Module, Parameter

from .api import ShardingStrategy
from .flat_parameter import WRAPPED_MODULE, FlatParameter, clean_name
from .unit_state import UnitState, unit_state_of

__all__ = [
    "FSDP_FLATTENED",
    "FSDP_PREFIX",
    "FSDP_WRAPPED_MODULE",
    "HandleTrainingState",
    "TrainingState",
    "clean_tensor_name",
]

FSDP_WRAPPED_MODULE = WRAPPED_MODULE
FSDP_PREFIX = f"{FSDP_WRAPPED_MODULE}."
FSDP_FLATTENED = "_fsdp_flattened"
_FSDPState = UnitState
_get_module_fsdp_state = unit_state_of
_get_module_fsdp_state_if_fully_sharded_module = unit_state_of


class TrainingState(Enum):
    """The phases of a wrapper."""

    IDLE = auto()
    FORWARD_BACKWARD = auto()
    SUMMON_FULL_PARAMS = auto()


class HandleTrainingState(Enum):
    """The phases of a flat parameter."""

    IDLE = auto()
    FORWARD = auto()
    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()
    SUMMON_FULL_PARAMS = auto()


def clean_tensor_name(tensor_name: str) -> str:
    """The name of a parameter or buffer without the parts that wrappers add.

    Args:
        tensor_name: the name.

    Example:
        >>> clean_tensor_name("0._fsdp_wrapped_module._checkpoint_wrapped_module.weight")
        '0.weight'
    """
    return clean_name(tensor_name)


def _set_fsdp_flattened(tensor: Tensor) -> None:
    setattr(tensor, FSDP_FLATTENED, True)


def _is_fsdp_flattened(tensor: Tensor) -> bool:
    return isinstance(tensor, FlatParameter) or getattr(tensor, FSDP_FLATTENED, False)


def _is_composable(state: UnitState) -> bool:
    """False: `FullyShardedDataParallel` has these states, and `fully_shard` others."""
    return False


def _has_fsdp_params(state: UnitState, module: Module) -> bool:
    return state.unit is not None and module in state.own_modules()


def _get_sharding_strategy(handle: UnitState | None) -> ShardingStrategy | None:
    return None if handle is None else handle.strategy


def _named_parameters_with_duplicates(module: Module, **kwargs: Any) -> list[tuple[str, Parameter]]:
    """The parameters, a shared one under each of its names.

    Args:
        module: the module.
        kwargs: arguments of `named_parameters`.

    Raises:
        AssertionError: `remove_duplicate` is among them.
    """
    if "remove_duplicate" in kwargs:
        raise AssertionError(
            "_named_parameters_with_duplicates cannot be used with `remove_duplicate` argument."
        )
    return list(module.named_parameters(remove_duplicate=False, **kwargs))


def _get_param_to_fqns(model: Module, dedup_shared_params: bool = True) -> dict[Parameter, list[str]]:
    """The names of each parameter, without the parts that wrappers add; those of its originals for a flat one.

    Args:
        model: the model.
        dedup_shared_params: whether a shared parameter has its first name alone.
    """
    names: dict[Parameter, list[str]] = {}
    for prefix, module in model.named_modules(remove_duplicate=False):
        for name, parameter in module.named_parameters(recurse=False, remove_duplicate=False):
            own = [clean_name(f"{prefix}.{name}" if prefix else name)]
            if isinstance(parameter, FlatParameter):
                above = clean_name(f"{prefix}.") if prefix else ""
                own = [above + entry for entry in parameter._fqns]
            if parameter not in names:
                names[parameter] = own
            elif not dedup_shared_params:
                names[parameter] += [each for each in own if each not in names[parameter]]
    return names
