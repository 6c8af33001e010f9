"""Sharded training by a wrapper: a rank has a piece of one flat parameter with the elements of all."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module, ModuleDict, ModuleList, Parameter

from ..groups.device_mesh import DeviceMesh
from . import api
from .api import *  # noqa: F403 - the settings are names of this module as well
from .api import (
    BackwardPrefetch,
    CPUOffload,
    MixedPrecision,
    OptimStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .flat_parameter import WRAPPED_MODULE, FlatParameter, check_entries, entries_of
from .flat_unit import FlatUnit
from .full_parameters import show_parameters, wrappers_of
from .fully_shard import _owners
from .gradient_norm import clip_gradients
from .mesh_layout import MeshLayout
from .module_state import state_of
from .optimizer_state import Names
from .optimizer_state_methods import OptimizerStateMethods
from .unit_state import HYBRID, UnitState
from .wrapped_state_dict import change_settings, register_state_dict_hooks, settings_block, settings_of
from .wrapper_options import auto_wrap, broadcast_states, choose_layout, ignored_parts, materialize

__all__ = ["FlatParameter", "FullyShardedDataParallel", *api.__all__]

_KEEPS_WHOLE = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)


class FullyShardedDataParallel(OptimizerStateMethods, Module):
    """A module whose parameters are cut: a rank has a piece of them, and all ranks gather them while it computes.

    Args:
        module: the module.
        process_group: the ranks; for hybrid strategies those with the pieces and those with copies. All by default.
        sharding_strategy: what is cut; all by default.
        cpu_offload: the placement of pieces, which are in the memory of the CPU in any case.
        auto_wrap_policy: names the modules in it that get a wrapper of their own.
        backward_prefetch: when the backward pass gathers the next parameters; None for not before they are needed.
        mixed_precision: the types in which it computes.
        ignored_modules: modules that are left as they are.
        param_init_fn: gives a module's parameters that have no memory their values; `reset_parameters` by default.
        device_id: the device to which the module is moved.
        sync_module_states: whether all ranks start with the values of the first one.
        forward_prefetch: whether the forward pass gathers the next parameters before it needs them.
        limit_all_gathers: accepted; a gathering never runs more than one wrapper ahead.
        use_orig_params: whether the module keeps its parameters, as pieces, in place of a flat one.
        ignored_states: modules or parameters that are left as they are.
        device_mesh: the ranks, in place of `process_group`.

    Raises:
        ValueError: options contradict each other, or the parameters can't be in one flat parameter.

    Example:
        >>> import tl_core, tl_nn, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> model = FullyShardedDataParallel(tl_nn.Linear(4, 2), sharding_strategy=ShardingStrategy.NO_SHARD)
        >>> model(tl_core.ones(3, 4)).sum().backward()
        >>> [(name, p.grad.shape) for name, p in model.named_parameters()]
        [('_fsdp_wrapped_module._flat_param', torch.Size([10]))]
        >>> list(model.state_dict())
        ['weight', 'bias']
        >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[Any] | None = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        _check_module(module)
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        left_out = ignored_parts(module, ignored_modules, ignored_states)
        layout = choose_layout(process_group, device_mesh, strategy, auto_wrap_policy is not None)
        strategy = _check_strategy(strategy, layout)
        if auto_wrap_policy is not None:
            options = {
                "process_group": layout,
                "sharding_strategy": strategy,
                "cpu_offload": cpu_offload,
                "backward_prefetch": backward_prefetch,
                "mixed_precision": mixed_precision,
                "param_init_fn": param_init_fn,
                "device_id": device_id,
                "sync_module_states": sync_module_states,
                "forward_prefetch": forward_prefetch,
                "limit_all_gathers": limit_all_gathers,
                "use_orig_params": use_orig_params,
                "ignored_states": left_out[1] or None,
            }
            auto_wrap(module, auto_wrap_policy, FullyShardedDataParallel, *left_out, options)
        materialize(module, param_init_fn, device_id, *left_out)
        if device_id is not None:
            device = device_id if isinstance(device_id, tl_core.device) else tl_core.device(device_id)
            module._apply(lambda tensor: tensor if tensor.is_meta else tensor.to(device))
        precision = mixed_precision or MixedPrecision()
        unit = _flatten(module, layout, precision, use_orig_params, left_out[1], sync_module_states)
        self._modules[WRAPPED_MODULE] = module
        self.sharding_strategy, self.mixed_precision, self.cpu_offload = (
            strategy,
            precision,
            cpu_offload or CPUOffload(),
        )
        self.backward_prefetch, self.forward_prefetch = backward_prefetch, forward_prefetch
        self.limit_all_gathers, self._use_orig_params = limit_all_gathers, use_orig_params
        self._state = UnitState(self, unit, layout, strategy, precision, backward_prefetch, forward_prefetch)
        self._state.ignored_modules, self._state.ignored_parameters = left_out
        register_state_dict_hooks(self)

    # ---- the module

    @property
    def module(self) -> Module:
        """The wrapped module."""
        module: Any = self._modules[WRAPPED_MODULE]
        return module._modules.get("_checkpoint_wrapped_module", module)

    @property
    def _fsdp_wrapped_module(self) -> Module:
        return self._modules[WRAPPED_MODULE]

    @property
    def _flat_param(self) -> FlatParameter | None:
        return None if self._state.unit is None else self._state.unit.flat

    @property
    def _handle(self) -> FlatUnit | None:
        return self._state.unit

    @property
    def process_group(self) -> Any:
        """The ranks that share parameters; with copies only, those that have them."""
        layout = self._state.layout
        return layout.replicate_group if layout.shard_group is None else layout.shard_group

    @property
    def rank(self) -> int:
        """The rank of this process among them."""
        return self.process_group.rank()

    @property
    def world_size(self) -> int:
        """Their number."""
        return self.process_group.size()

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._modules[WRAPPED_MODULE], name)

    def __getitem__(self, key: int) -> Any:
        return self._modules[WRAPPED_MODULE].__getitem__(key)

    def check_is_root(self) -> bool:
        """Whether no wrapper is around this one; decided at the first call or pass."""
        self._state.find_root()
        return self._state.is_root

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrappers in a model, itself included.

        Args:
            module: the model.
            root_only: whether the outermost ones alone are asked for.
        """
        wrappers: list[Any] = [part for part, _ in wrappers_of(module)]
        return [part for part in wrappers if part.check_is_root()] if root_only else wrappers

    def apply(self, fn: Callable[[Module], None]) -> FullyShardedDataParallel:
        """Calls a function with each module in this one, which have their whole parameters then.

        Args:
            fn: the function.

        Raises:
            ValueError: a block of `summon_full_params` has the parameters.
        """
        self._check_idle("apply")
        with self.summon_full_params(self, writeback=True, recurse=True):
            _call_with_each(self, fn)
        return self

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        pairs = wrappers_of(self)
        for _, state in pairs:
            state.group.reshard()
        result = super()._apply(*args, **kwargs)
        for _, state in pairs:
            if state.unit is not None:
                state.unit.convert()
        return result

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their names; in a block of `summon_full_params` without the parts of wrappers.

        Args:
            args: as for any module.
            kwargs: as for any module.
        """
        return self._clean(super().named_parameters(*args, **kwargs))

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their names; in a block of `summon_full_params` without the parts of wrappers.

        Args:
            args: as for any module.
            kwargs: as for any module.
        """
        return self._clean(super().named_buffers(*args, **kwargs))

    def _clean(self, pairs: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        is_clean = self._state.is_shown
        for name, tensor in pairs:
            yield name.replace(f"{WRAPPED_MODULE}.", "") if is_clean else name, tensor

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the forward pass of the module.

        Args:
            args: of the module.
            kwargs: of the module.
        """
        return self._modules[WRAPPED_MODULE](*args, **kwargs)

    # ---- training

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """A block in which modules have their whole parameters, outside of passes.

        Args:
            module: the model.
            recurse: whether inner wrappers are included.
            writeback: whether changes of the parameters are kept.
            rank0_only: whether the first rank alone has them.
            offload_to_cpu: whether they are in the memory of the CPU.
            with_grads: whether gradients are gathered as well.

        Raises:
            NotImplementedError: the options don't go together.
            AssertionError: a pass or another such block runs.
        """
        with show_parameters(module, recurse, writeback, rank0_only, offload_to_cpu, with_grads):
            yield

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block whose backward passes reduce no gradients; the first one after it reduces their sums.

        Raises:
            RuntimeError: another wrapper is around this one.
        """
        if not self.check_is_root():
            raise RuntimeError(
                "`no_sync()` on inner FSDP instances is not supported. Please call `no_sync()` on root FSDP module."
            )
        self._check_idle("no_sync")
        states = [state for _, state in wrappers_of(self)]
        former = [(s.group.reduces, s.group.all_reduces, s.group.reshards_after_backward) for s in states]
        for state in states:
            state.group.reduces = state.group.all_reduces = False
            if state.strategy in _KEEPS_WHOLE:
                state.group.reshards_after_backward = False
        try:
            yield
        finally:
            for state, (reduces, all_reduces, reshards) in zip(states, former, strict=True):
                state.group.reduces, state.group.all_reduces = reduces, all_reduces
                state.group.reshards_after_backward = reshards

    def _check_idle(self, what: str) -> None:
        if any(state.is_shown for _, state in wrappers_of(self)):
            raise ValueError(
                "expected to be in states [IDLE] but current state is SUMMON_FULL_PARAMS: "
                f"{what} can't run in a block of summon_full_params"
            )

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scales the gradients of all ranks so that their norm as one vector is at most a bound; returns the norm.

        Args:
            max_norm: the bound.
            norm_type: the exponent of the norm, or infinity.

        Raises:
            RuntimeError: another wrapper is around this one.
        """
        if not self.check_is_root():
            raise RuntimeError("`clip_grad_norm_()` should only be called on the root FSDP instance")
        self._check_idle("clip_grad_norm_")
        return clip_gradients(self, self._state, max_norm, norm_type)

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Sets a function that reduces gradients, before the first forward pass.

        Args:
            state: the first argument of the function.
            hook: takes the flat gradient; with a strategy that cuts gradients, and a tensor for this rank's piece of
                the mean.

        Raises:
            AssertionError: another wrapper is around this one, or a hook is set, or the strategy is hybrid.
            ValueError: the hook isn't a function.
        """
        if not self.check_is_root():
            raise AssertionError("register_comm_hook can only be called on a root instance.")
        for _, part in wrappers_of(self):
            if part.strategy in HYBRID:
                raise AssertionError(
                    f"Communication hook is not supported for hybrid strategies: {part.strategy}"
                )
            if part.group.comm_hook is not None:
                raise AssertionError("A communication hook is already registered")
            if not callable(hook):
                raise ValueError(f"The communication hook must be callable but got {hook}")
            part.group.comm_hook = lambda *tensors: hook(state, *tensors)

    # ---- state dicts

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Sets the contents of the state dicts of a model; returns the former settings.

        Args:
            module: the model.
            state_dict_type: the contents.
            state_dict_config: their settings.
            optim_state_dict_config: the settings of an optimizer's state dicts.

        Raises:
            RuntimeError: the settings are those of other contents.
        """
        return change_settings(module, state_dict_type, state_dict_config, optim_state_dict_config)

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """The settings of the state dicts of a model.

        Args:
            module: the model.

        Raises:
            AssertionError: the wrappers in it have different ones.
        """
        return settings_of(module)

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """A block with other contents of state dicts.

        Args:
            module: the model.
            state_dict_type: the contents.
            state_dict_config: their settings.
            optim_state_dict_config: the settings of an optimizer's state dicts.
        """
        with settings_block(module, state_dict_type, state_dict_config, optim_state_dict_config):
            yield

    @staticmethod
    def __state_dict_contents__(model: Module, is_full: bool) -> Any:
        """A block in which state dicts have whole tensors, or distributed ones, as checkpoints ask for.

        Args:
            model: the model.
            is_full: whether tensors are whole; those of copies always are.
        """
        has_copies = any(s.unit is not None and s.unit.is_replica for _, s in wrappers_of(model))
        is_full = is_full or has_copies
        return settings_block(
            model, StateDictType.FULL_STATE_DICT if is_full else StateDictType.SHARDED_STATE_DICT, None, None
        )

    @staticmethod
    def __parameter_names__(model: Module) -> dict[int, list[str]]:
        """The names of a model's parameters by their identity; several for a flat one.

        Args:
            model: the model.
        """
        return Names(model).of_parameter


def _call_with_each(module: Module, fn: Callable[[Module], None]) -> None:
    for child in module.children():
        _call_with_each(child, fn)
    fn(module)


def _check_module(module: Any) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"FullyShardedDataParallel: module must be a Module, got {type(module).__name__}")
    if isinstance(module, (ModuleList, ModuleDict)):
        warnings.warn(
            "FSDP will not all-gather parameters for containers that do not implement forward: "
            f"{type(module).__name__}",
            stacklevel=3,
        )


def _check_strategy(strategy: ShardingStrategy, layout: MeshLayout) -> ShardingStrategy:
    if layout.shard_size > 1 or strategy in HYBRID or strategy is ShardingStrategy.NO_SHARD:
        return strategy
    if layout.replicate_size == 1:
        warnings.warn(
            f"FSDP is switching to use `NO_SHARD` instead of {strategy} since the world size is 1.",
            stacklevel=3,
        )
    return ShardingStrategy.NO_SHARD


def _flatten(
    module: Module,
    layout: MeshLayout,
    precision: MixedPrecision,
    keeps_originals: bool,
    ignored: set[Any],
    is_synchronized: bool,
) -> FlatUnit | None:
    """The flat parameter of a module's own parameters; None if it has none."""
    owners = [] if state_of(module) is not None else list(_owners([module], ignored).values())
    if is_synchronized:
        broadcast_states(module, layout, ignored, [parameter for parameter, _ in owners])
    if not owners:
        return None
    size = tl_core.empty(0, dtype=precision.param_dtype or owners[0][0].dtype).element_size()
    entries, numel = entries_of(owners, module, max(16 // size, 1) if keeps_originals else 1)
    check_entries(entries, keeps_originals)
    return FlatUnit(module, entries, numel, layout, precision, keeps_originals)
