"""`torch.distributed.fsdp._traversal_utils`: the states of the wrappers in a module."""

from __future__ import annotations

from typing import Any

from tl_nn import Module

from .unit_state import UnitState, unit_state_of

__all__: list[str] = []


def _get_fsdp_states_with_modules(module: Module) -> tuple[list[UnitState], list[Module]]:
    """The states of the wrappers in a module, from the outermost in, and the wrappers.

    Args:
        module: the module.
    """
    pairs = [(state, each) for each in module.modules() if (state := unit_state_of(each)) is not None]
    return [state for state, _ in pairs], [each for _, each in pairs]


def _get_fsdp_states(module: Module) -> list[UnitState]:
    """The states of the wrappers in a module.

    Args:
        module: the module.
    """
    return _get_fsdp_states_with_modules(module)[0]


def _get_fsdp_handles(module: Module) -> list[Any]:
    """The flat parameters' units of the wrappers in a module.

    Args:
        module: the module.
    """
    return [state.unit for state in _get_fsdp_states(module) if state.unit is not None]
