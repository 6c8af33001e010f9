"""The hooks of a wrapped module: those of a sharded one, and what the options of a wrapper add."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import tl_core
from tl_nn import Module

from ..base.debug_level import DebugLevel, get_debug_level
from .api import (
    BackwardPrefetch,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictSettings,
    StateDictType,
)
from .flat_parameter import WRAPPED_MODULE
from .flat_unit import FlatUnit
from .forward_order import ForwardOrder
from .mesh_layout import MeshLayout
from .module_state import Job, ModuleState, Phase
from .parameter_group import ParameterGroup

__all__ = ["HYBRID", "UnitState", "unit_state_of"]

HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
_RESHARDS = (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)


class UnitState(ModuleState):
    """The state of a wrapper.

    Args:
        wrapper: the wrapper.
        unit: the flat parameter of its module; None if it has no parameters of its own.
        layout: the ranks among which it is cut.
        strategy: what is sharded.
        precision: the types in which it computes.
        backward_prefetch: when the backward pass gathers the next parameters; None for not before they are needed.
        forward_prefetch: whether the forward pass gathers the parameters that came next in the last one.
    """

    def __init__(
        self,
        wrapper: Module,
        unit: FlatUnit | None,
        layout: MeshLayout,
        strategy: ShardingStrategy,
        precision: MixedPrecision,
        backward_prefetch: BackwardPrefetch | None,
        forward_prefetch: bool,
    ):
        policy = MixedPrecisionPolicy(
            param_dtype=precision.param_dtype, cast_forward_inputs=precision.cast_forward_inputs
        )
        group = ParameterGroup([] if unit is None else [unit], layout)
        super().__init__([wrapper], group, policy, None if strategy in _RESHARDS else False)
        self.unit, self.layout, self.strategy, self.precision = unit, layout, strategy, precision
        self.has_late_prefetch = backward_prefetch is BackwardPrefetch.BACKWARD_POST
        self._late: list[ModuleState] = []
        self.number = 0  # among the wrappers with parameters
        if backward_prefetch is None:
            self.backward_prefetch = []
        self.follows_order = forward_prefetch
        self.settings = StateDictSettings(
            StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig()
        )
        self.has_shown = False  # the whole parameters, for a state dict
        self.ignored_modules: set[Module] = set()
        self.ignored_parameters: set[Any] = set()
        self.buffer_dtypes: dict[tuple[Module, str], tl_core.dtype] = {}  # before they were converted

    # ---- the root

    def find_root(self) -> Job:
        """The data that all wrappers below the outermost one share; the first call decides which one it is."""
        is_first = self.job is None
        job = self._find_root()
        if is_first:
            self.policy = replace(self.policy, cast_forward_inputs=self.precision.cast_root_forward_inputs)
            for state in reversed(job.states):
                if isinstance(state, UnitState):
                    state._check_optimizers()
                    state._convert_buffers()
            if get_debug_level() == DebugLevel.DETAIL:
                job.order_check = self._order_check(job)
        return job

    def _order_check(self, job: Job) -> ForwardOrder:
        names: list[list[str]] = []
        for state in job.states:
            if isinstance(state, UnitState) and state.unit is not None:
                state.number = len(names)
                parts = [p for p in (state.group._module_fqn or "").split(".") if p and p != WRAPPED_MODULE]
                names.append([".".join([*parts, name]) for e in state.unit.entries for name in e.names])
        layout = self.layout
        return ForwardOrder(
            names, layout.replicate_group if layout.shard_group is None else layout.shard_group
        )

    def _join(self, job: Job, is_own: bool, name: str) -> None:
        if not is_own and self.is_root:
            raise AssertionError(
                "Non-root FSDP instance's `_is_root` should not have been set yet or should have been set to `False`: "
                "a wrapper computed before the one around it did; call the outermost one first"
            )
        if not is_own:
            self.job = None  # a wrapper may get another one around it
        super()._join(job, is_own, name)

    def _check_optimizers(self) -> None:
        if self.unit is not None and hasattr(self.unit.flat, "_in_backward_optimizers"):
            raise RuntimeError("FSDP optimizer in backward only supported with use_orig_params=True!")

    def _convert_buffers(self) -> None:
        dtype = self.precision.buffer_dtype
        if dtype is None:
            return
        for module in self.own_modules():
            for name, buffer in module._buffers.items():
                if (
                    buffer is not None
                    and buffer.is_floating_point()
                    and (module, name) not in self.buffer_dtypes
                ):
                    self.buffer_dtypes[module, name] = buffer.dtype
                    module._buffers[name] = buffer.to(dtype)

    def own_modules(self) -> list[Module]:
        """The modules in this wrapper that are in no inner one and not ignored."""
        result: list[Module] = []

        def visit(module: Module) -> None:
            if module in result or module in self.ignored_modules:
                return
            if module is not self.modules[0] and unit_state_of(module) is not None:
                return
            result.append(module)
            for child in module.children():
                visit(child)

        visit(self.modules[0])
        return result

    # ---- forward

    def _before_forward(self, module: Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        job = self.find_root()
        states = job.states if self.is_root else [self]
        if any(isinstance(state, UnitState) and state.is_shown for state in states):
            raise ValueError(
                "FSDP: the forward pass can't run in a block of summon_full_params, which has its parameters"
            )
        if job.order_check is not None and self.unit is not None and module.training:
            job.order_check.check(self.number)
        args, kwargs = super()._before_forward(module, args, kwargs)
        if self.follows_order:
            following = job.following.get(id(self))
            if following is not None:
                following.group.start_unshard()
        return args, kwargs

    def _after_forward(self, module: Module, args: Any, output: Any) -> Any:
        result = super()._after_forward(module, args, output)
        if self.phase is Phase.IDLE and self.unit is not None:
            if not tl_core.is_grad_enabled():
                self.group.reshard()  # no backward pass follows
            elif self.unit.keeps_originals:
                self.group.hide()
        return result

    @property
    def is_shown(self) -> bool:
        """Whether the program has the whole parameters."""
        return self.unit is not None and self.unit.is_shown

    # ---- backward

    def _next_states(self, job: Job) -> Any:
        following = list(super()._next_states(job))
        if self.has_late_prefetch:
            self._late = following
            return
        yield from following

    def after_backward(self) -> None:
        """Reduces the gradients and frees the parameters, and gathers the next ones if they weren't before."""
        super().after_backward()
        late, self._late = self._late, []
        if self.job is not None and not self.job.is_finishing:
            for state in late:
                state.group.start_unshard()


def unit_state_of(module: Module) -> UnitState | None:
    """The state of a wrapper; None for another module.

    Args:
        module: the module.
    """
    state = module.__dict__.get("_fsdp_state")
    return state if isinstance(state, UnitState) else None
