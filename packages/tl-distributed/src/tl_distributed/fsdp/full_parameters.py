"""Blocks in which a program has the whole parameters of wrapped modules."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

from tl_nn import Module

from .module_state import Phase
from .unit_state import UnitState, unit_state_of

__all__ = ["show_parameters", "wrappers_of"]


def wrappers_of(module: Module) -> list[tuple[Module, UnitState]]:
    """The wrappers in a module, itself included, with their states.

    Args:
        module: the module.
    """
    pairs = [(part, unit_state_of(part)) for part in module.modules()]
    return [(part, state) for part, state in pairs if state is not None]


@contextlib.contextmanager
def show_parameters(
    module: Module,
    recurse: bool,
    writeback: bool,
    rank0_only: bool,
    offload_to_cpu: bool,
    with_grads: bool,
) -> Iterator[None]:
    """A block in which the modules have their whole parameters.

    Args:
        module: the module.
        recurse: whether inner wrappers are included.
        writeback: whether changes are kept.
        rank0_only: whether the first rank alone has them.
        offload_to_cpu: whether they are in the memory of the CPU.
        with_grads: whether gradients are gathered as well.

    Raises:
        NotImplementedError: the options don't go together.
        AssertionError: a pass or another such block runs.
    """
    own = unit_state_of(module)
    states = [state for _, state in wrappers_of(module)] if recurse else [own] if own is not None else []
    for state in states:
        _check_options(state, writeback, rank0_only, offload_to_cpu, with_grads)
    if offload_to_cpu and not rank0_only:
        warnings.warn(
            "offload_to_cpu=True and rank0_only=False may result in the unsharded parameters being redundantly "
            "copied to CPU memory for GPUs sharing the same CPU memory, which risks CPU OOM. We recommend using "
            "offload_to_cpu=True with rank0_only=True.",
            stacklevel=4,
        )
    with contextlib.ExitStack() as stack:
        for state in states:
            if state.unit is None:
                continue
            state.group.reshard()
            if rank0_only and state.layout.shard_rank and not state.unit.is_replica:
                state.unit.gather()
                continue
            state.unit.show_full(with_grads)
            stack.callback(state.unit.hide_full, writeback)
        yield


def _check_options(
    state: UnitState, writeback: bool, rank0_only: bool, offload_to_cpu: bool, with_grads: bool
) -> None:
    unit = state.unit
    if with_grads and (offload_to_cpu or (unit is not None and not unit.keeps_originals)):
        keeps = unit is not None and unit.keeps_originals
        raise NotImplementedError(
            f"with_grads={with_grads}, use_orig_params={keeps}, offload_to_cpu={offload_to_cpu} is not supported yet"
        )
    if offload_to_cpu and unit is not None and unit.is_replica:
        raise NotImplementedError("offload_to_cpu=True and NO_SHARD is not supported yet")
    if writeback and rank0_only:
        raise NotImplementedError("writeback=True and rank0_only=True is not supported yet")
    if state.is_shown:
        raise AssertionError("Cannot manually unshard parameters when already unsharding parameters")
    if state.phase is not Phase.IDLE:
        raise AssertionError("Cannot manually unshard parameters during forward/backward")
