"""The hooks of a sharded module: its parameters are whole while it computes, forward and backward."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from functools import partial
from typing import Any

import tl_core
from tl_autograd.variable import queue_callback
from tl_core import Tensor
from tl_core.pytree import tree_flatten, tree_map
from tl_nn import Module

from ..collectives import tensor_collectives as collectives
from .api import MixedPrecisionPolicy
from .forward_call import ForwardCall
from .forward_order import ForwardOrder
from .machine_memory import share_parameters
from .parameter_group import ParameterGroup
from .sharded_parameter import ShardedParameter

__all__ = ["ModuleState", "state_of"]


class Phase(Enum):
    """The phase of a module's computation."""

    IDLE = auto()
    FORWARD = auto()
    BACKWARD = auto()


class Job:
    """The data that the modules below one root share.

    Attributes:
        order: the modules whose forward pass has ended, in order.
        begun: the modules that the last forward pass of the root has reached, in order.
        order_check: compares the order of wrappers; None without the debug level DETAIL.
        has_callback: whether the end of the backward pass is awaited.
        is_finishing: whether the backward pass ends, so that nothing is gathered for it.
        is_last_backward: whether gradients are complete after this backward pass.
    """

    def __init__(self) -> None:
        self.states: list[ModuleState] = []
        self.order: list[ModuleState] = []
        self.begun: list[ModuleState] = []
        self.following: dict[int, ModuleState] = {}  # of the last step, by the identity of the one before
        self.order_check: ForwardOrder | None = None
        self.has_callback = False
        self.is_finishing = False
        self.is_last_backward = True

    @property
    def all_states(self) -> list[ModuleState]:
        """The modules' states, the root's first."""
        return self.states

    def finish(self) -> None:
        """Ends a backward pass: what still is whole or unreduced is finished."""
        self.is_finishing = True
        for state in self.states:
            if state.phase is Phase.BACKWARD:
                state.after_backward()
        for state in self.states:
            state.group.finish_reduction()
            state.group.end_gathering()
            state.phase = Phase.IDLE
        self.release()
        self.following = {id(first): second for first, second in itertools.pairwise(self.begun)}
        self.order.clear()
        if self.order_check is not None:
            self.order_check.end_step()
        self.has_callback = self.is_finishing = False

    def share(self) -> None:
        """Puts the parameters into memory that the ranks of a machine have in common, where this is possible."""
        groups = [state.group for state in self.states if state.group.smaller is None]
        for shard_group in {g.layout.shard_group: None for g in groups if g.layout.shard_size > 1}:
            own = [g for g in groups if g.layout.shard_size > 1 and g.layout.shard_group is shard_group]
            members = [p for g in own for p in g.parameters if isinstance(p, ShardedParameter)]
            share_parameters(members, shard_group)

    def release(self) -> None:
        """Waits until no rank reads the common memory, so that programs may change their pieces."""
        readers = [state.group for state in self.states if state.group.reads]
        for shard_group in {group.layout.shard_group: None for group in readers}:
            collectives.barrier(shard_group)
        for group in readers:
            group.reads = False


class ModuleState:
    """The state of modules whose parameters are one group.

    Args:
        modules: the modules.
        group: their parameters.
        policy: the types in which they compute.
        reshards_after_forward: whether the forward pass frees the parameters at its end; None for all but the root.
    """

    def __init__(
        self,
        modules: Sequence[Module],
        group: ParameterGroup,
        policy: MixedPrecisionPolicy,
        reshards_after_forward: bool | None,
    ):
        self.modules, self.group, self.policy = list(modules), group, policy
        self.reshards_after_forward = True if reshards_after_forward is None else reshards_after_forward
        self.is_automatic = reshards_after_forward is None
        self.job: Job | None = None
        self.is_root = False
        self.phase = Phase.IDLE
        self.unshards_in_backward = True
        self.forward_prefetch: list[ModuleState] = []
        self.backward_prefetch: list[ModuleState] | None = None
        self._fsdp_param_group = group  # PyTorch's name, as those of the properties below
        self._started: set[int] = set()  # of several modules, those that have begun
        self._calls: list[ForwardCall | None] = []  # the forward passes that have begun
        self._awaited: set[object] = set()  # inputs of calls whose backward pass has begun, by their keys
        group.after_gradient = self._end_backward
        for module in self.modules:
            module.__dict__["_fsdp_state"] = self
            module.register_forward_pre_hook(self._before_forward, prepend=True, with_kwargs=True)
            module.register_forward_hook(self._after_forward)
            module.register_state_dict_pre_hook(lambda *_: self.group.reshard())
            module.register_load_state_dict_pre_hook(lambda *_: self.group.reshard())

    # ---- the root

    def _find_root(self) -> Job:
        """The first module that computes outside of all others is the root of those in it."""
        if self.job is None:
            if len(self.modules) > 1:
                raise RuntimeError(
                    f"FSDP requires a single root module but got {len(self.modules)}: shard the module around them"
                )
            self.job = Job()
            self.is_root = True
            for name, part in self.modules[0].named_modules():
                state = state_of(part)
                if state is not None and state not in self.job.states:
                    state._join(self.job, state is self, name)
            self._name_parameters()
            if self.is_automatic:
                self.reshards_after_forward = False  # the backward pass begins with it
            self._check_memory()
            self.job.share()
        return self.job

    def _lazy_init(self) -> None:
        self._find_root()

    @property
    def _is_root(self) -> bool | None:
        return None if self.job is None else self.is_root

    @property
    def _state_ctx(self) -> Job | None:
        return self.job

    def _check_memory(self) -> None:
        """Raises unless all pieces have memory."""
        assert self.job is not None
        names = {id(p): name for module in self.modules for name, p in module.named_parameters()}
        inner = [state for state in self.job.states if state is not self]
        for state in (*inner, self):
            without = [p for module in state.modules for p in module.parameters() if p.is_meta]
            if without:
                texts = [names.get(id(p), "?") for p in without]
                raise RuntimeError(
                    "FSDP parameters should be materialized from meta device before training, but the following were "
                    f"still on meta device: {texts}\nFor example, call module.to_empty(device) to materialize to "
                    "device and call module.reset_parameters() on each module to initialize values."
                )

    def _join(self, job: Job, is_own: bool, name: str) -> None:
        if self.job is not None and not is_own:
            raise RuntimeError(
                f"FSDP state has already been lazily initialized for {name}\n"
                "FSDP requires running forward through the root module first"
            )
        self.job = job
        self.group._module_fqn = name
        job.states.append(self)

    def _name_parameters(self) -> None:
        """Tells the parameters their names in the root."""
        assert self.job is not None
        names = {id(p): name for name, p in self.modules[0].named_parameters()}
        for state in self.job.states:
            for parameter in state.group.parameters:
                if isinstance(parameter, ShardedParameter):
                    parameter._param_fqn = names.get(id(parameter.sharded), parameter._param_fqn)

    # ---- forward

    def _before_forward(self, module: Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        job = self._find_root()
        if self.phase is Phase.BACKWARD:  # a checkpoint computes again
            return args, kwargs
        if self.phase is Phase.IDLE:
            self._calls.clear()  # of a forward pass that has raised an error
        self.phase = Phase.FORWARD
        if self.is_root:
            job.begun.clear()
        job.begun.append(self)
        self._started.add(id(module))
        if self.policy.cast_forward_inputs and self.policy.param_dtype is not None:
            args, kwargs = _cast((args, kwargs), self.policy.param_dtype)
        self.group.unshard()
        for state in self.forward_prefetch:
            state.group.start_unshard()
        call = None
        if self.group.has_frozen and tl_core.is_grad_enabled():
            call = ForwardCall(list(_differentiable((args, kwargs))), self._forget_input)
        self._calls.append(call)
        return args, kwargs

    def _after_forward(self, module: Module, args: Any, output: Any) -> Any:
        job = self._find_root()
        if self.phase is Phase.BACKWARD:
            return output
        call = self._calls.pop() if self._calls else None
        is_end = self._started >= {id(each) for each in self.modules}
        if is_end:
            self._started.clear()
        if tl_core.is_grad_enabled():
            several = list(_differentiable(output))
            for tensor in several:
                tensor.register_hook(partial(self._before_backward, call))
            if several and is_end:
                job.order.append(self)
        if is_end:
            if self.reshards_after_forward:
                self.group.reshard_after_forward()
            self.phase = Phase.IDLE
            if self.is_root:
                job.release()
        return output if self.policy.output_dtype is None else _cast(output, self.policy.output_dtype)

    # ---- backward

    def _before_backward(self, call: ForwardCall | None, grad: Tensor) -> None:
        job = self._find_root()
        if call is not None:
            self._awaited.update(call.keys)
        if not job.has_callback:
            job.has_callback = True
            queue_callback(job.finish)
        if self.phase is Phase.BACKWARD:
            return
        self.phase = Phase.BACKWARD
        if self.unshards_in_backward:
            self.group.unshard()
        for state in self._next_states(job):
            state.group.start_unshard()

    def _next_states(self, job: Job) -> Iterator[ModuleState]:
        """The modules whose parameters are gathered while this one computes."""
        if self.backward_prefetch is not None:
            yield from self.backward_prefetch
            return
        index = next((i for i in range(len(job.order) - 1, -1, -1) if job.order[i] is self), 0)
        if index > 0 and job.order[index - 1].unshards_in_backward:
            yield job.order[index - 1]

    def _forget_input(self, key: object) -> None:
        self._awaited.discard(key)
        self._end_backward()

    def _end_backward(self) -> None:
        """Ends the backward pass if no gradient is awaited: neither of a parameter nor beside a frozen one."""
        if not self._awaited and self.group.has_gradients:
            self.after_backward()

    def after_backward(self) -> None:
        """Reduces the gradients and frees the parameters; the reduction of an earlier group ends first."""
        self._awaited.clear()
        if self.phase is not Phase.BACKWARD:
            return
        self.phase = Phase.IDLE
        assert self.job is not None
        for state in self.job.states:
            state.group.finish_reduction()
        self.group.finish_backward()


def state_of(module: Module) -> ModuleState | None:
    """The state of a module that was sharded; None for another.

    Args:
        module: the module.
    """
    state: ModuleState | None = module.__dict__.get("_fsdp_state")
    return state


def _differentiable(values: Any) -> Iterator[Tensor]:
    return (v for v in tree_flatten(values)[0] if isinstance(v, Tensor) and v.requires_grad)


def _cast(values: Any, dtype: tl_core.dtype) -> Any:
    convert: Callable[[Any], Any] = lambda v: (  # noqa: E731 - a leaf of the containers
        v.to(dtype) if isinstance(v, Tensor) and v.is_floating_point() and v.dtype != dtype else v
    )
    return tree_map(convert, values)
