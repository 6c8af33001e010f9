"""A module trained by several processes, each on its own part of every batch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import tl_core
from tl_core import Tensor, is_grad_enabled, no_grad
from tl_core.futures import Future
from tl_nn import Embedding, EmbeddingBag, Module
from tl_nn.parameter import UninitializedParameter

from ..algorithms.ddp_comm_hooks.mixed_precision_hooks import (
    _AllreduceUpcastHookState,
    _reducer_allreduce_and_upcast_hook,
)
from ..algorithms.join import Join, Joinable, JoinHook
from ..base.grad_bucket import GradBucket
from ..base.reduction import ReduceOp
from ..base.work import Work
from ..collectives.utils import _broadcast_tensors, _verify_param_shape_across_processes
from ..groups.device_mesh import DeviceMesh
from ..groups.process_group import ProcessGroup
from ..groups.process_groups import default_group, get_rank
from . import delayed
from .mixed_precision import _MixedPrecision, call
from .reducer import Reducer

DEFAULT_BUCKET_MB = 25
_IGNORED = "_ddp_params_and_buffers_to_ignore"


class DistributedDataParallel(Module, Joinable):
    """A module whose gradients are averaged over the processes of a group during the backward pass.

    All processes begin with the parameters and buffers of the first. The wrapped module is `module`, and the names in
    the state dictionary begin with `module.`. In a group of one process, gradients are their own average: they are left
    alone, but the rules are the same, so that what trains on one process is ready for several.

    Args:
        module: the module; its parameters must not change afterwards.
        device_ids: for a module on one accelerator, a list of it alone; None for a module on the CPU.
        output_device: where outputs of a module on one accelerator go.
        dim: kept for callers; the dimension of a batch.
        broadcast_buffers: whether every forward pass begins with the buffers of the first process.
        init_sync: whether to begin with the parameters and buffers of the first process.
        process_group: the group; the world by default.
        bucket_cap_mb: how large a bucket of gradients may grow, in MiB; 25 by default.
        find_unused_parameters: whether a forward pass may leave out parameters, which then costs a walk over its graph.
        check_reduction: ignored, as in PyTorch.
        gradient_as_bucket_view: whether `grad` shall be a view of a bucket, which saves a copy.
        static_graph: whether the same parameters take part in every forward pass.
        delay_all_reduce_named_params: parameters with their names whose gradients are averaged together, after those of
            all others.
        param_to_hook_all_reduce: given with them; one that gets its gradient late in a backward pass.
        mixed_precision: in which types to compute and to reduce, a `_MixedPrecision`.
        device_mesh: a mesh of one dimension, in place of `process_group`.

    Raises:
        ValueError: there is no group, or `device_ids` doesn't fit.
        RuntimeError: no parameter requires a gradient, or one is not initialized.

    Example:
        >>> import tl_distributed as dist, tl_nn as nn
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> model = DistributedDataParallel(nn.Linear(2, 1))
        >>> list(model.state_dict())
        ['module.weight', 'module.bias']
        >>> dist.destroy_process_group()
    """

    __wrapped_module_name__ = "module"  # checkpoints have the names without it

    def __init__(
        self,
        module: Module,
        device_ids: list[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: DeviceMesh | None = None,
    ):
        super().__init__()
        Joinable.__init__(self)
        if process_group is not None and device_mesh is not None:
            raise RuntimeError(
                "DistributedDataParallel: Cannot specify both process_group and device_mesh arguments."
            )
        _check_kinds(mixed_precision, device_mesh)
        delayed.check(delay_all_reduce_named_params, param_to_hook_all_reduce)
        if device_mesh is not None:
            process_group = _group_of(device_mesh)
        self.mixed_precision: _MixedPrecision | None = mixed_precision
        self._delayed = list(delay_all_reduce_named_params or ())
        self.process_group = default_group() if process_group is None else process_group
        self.parameters_to_ignore = set(getattr(module, _IGNORED, ()))
        _check_module(module, self.parameters_to_ignore)
        self.device_ids, self.output_device = _check_devices(module, device_ids, output_device)
        self.device = next(module.parameters()).device
        self.device_type = self.device.type
        self.is_multi_device_module = len({p.device for p in module.parameters()}) > 1
        self.dim = dim
        self.module = module
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.bucket_bytes_cap = int(
            (DEFAULT_BUCKET_MB if bucket_cap_mb is None else bucket_cap_mb) * 1024 * 1024
        )
        self.require_backward_grad_sync = True
        self._divide_by_initial = True
        self._has_begun = False  # a forward pass that is followed by an average
        self.require_forward_param_sync = True
        if init_sync and self.process_group.size() > 1:
            _verify_param_shape_across_processes(
                self.process_group, self._without_ignored(self.module.named_parameters())
            )
            self._broadcast([*self._without_ignored(module.named_parameters()), *self._buffers_of_module()])
        self._make_reducers(param_to_hook_all_reduce)

    def _make_reducers(self, trigger: Tensor | None) -> None:
        self.reducer = self._make_reducer()
        if trigger is not None:
            every = [p for p in self.module.parameters() if p.requires_grad]
            delayed.reduce_after(self._delayed, every, self.process_group)
        precision = self.mixed_precision
        if precision is not None:
            with no_grad():
                for buffer in self._buffers_of_module():
                    if precision.buffer_dtype is not None and buffer.is_floating_point():
                        buffer.data = buffer.to(precision.buffer_dtype)
            if precision.reduce_dtype is not None:
                state = _AllreduceUpcastHookState(self.process_group, precision.reduce_dtype)
                self.reducer.set_hook(state, _reducer_allreduce_and_upcast_hook)

    def _make_reducer(self) -> Reducer:
        left_out = self.parameters_to_ignore.union(name for name, _ in self._delayed)
        trained = {
            name: parameter
            for name, parameter in self.module.named_parameters()
            if parameter.requires_grad and name not in left_out
        }
        sparse = _of_sparse_tables(self.module)
        return Reducer(
            trained,
            self.process_group,
            self.bucket_bytes_cap,
            self.find_unused_parameters,
            self.static_graph,
            self.gradient_as_bucket_view,
            [p for p in trained.values() if id(p) in sparse],
        )

    def _without_ignored(self, named: Iterable[tuple[str, Tensor]]) -> list[Tensor]:
        return [tensor for name, tensor in named if name not in self.parameters_to_ignore]

    def _buffers_of_module(self) -> list[Tensor]:
        return self._without_ignored(self.module.named_buffers())

    def _broadcast(self, tensors: list[Tensor], root: int = 0) -> None:
        _broadcast_tensors(self.process_group, tensors, root)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The result of the module; with gradients on, the next backward pass averages them."""
        synchronize = self._begin_forward()
        if self.mixed_precision is None:
            outputs = self.module(*inputs, **kwargs)
        else:
            outputs = call(self.module, self.mixed_precision, inputs, kwargs)
        self._end_forward(outputs, synchronize)
        return outputs

    def _begin_forward(self) -> bool:
        """Prepares a forward pass; returns whether the backward pass after it averages gradients."""
        synchronize = is_grad_enabled() and self.require_backward_grad_sync
        if synchronize:
            self._count_joined(Join.notify_join_context(self))
        if self.will_sync_module_buffers():
            self._broadcast(self._buffers_of_module())
        return synchronize

    def _end_forward(self, outputs: Any, synchronize: bool) -> None:
        if synchronize:
            self._has_begun = True
            self.reducer.prepare(outputs)
        elif not self.require_backward_grad_sync:
            self.reducer.pause()
        self.require_forward_param_sync = synchronize

    def _count_joined(self, work: Work | None) -> None:
        """With a divisor that shrinks, gradients are divided by the number of processes that still have inputs."""
        if work is not None and not self._divide_by_initial:
            work.wait()
            self.reducer.set_divisor(int(work.result()[0]))

    def will_sync_module_buffers(self) -> bool:
        """True if the next forward pass begins with the buffers of the first process."""
        alone = self.process_group.size() == 1
        return (
            self.require_forward_param_sync
            and self.broadcast_buffers
            and not alone
            and bool(self._buffers_of_module())
        )

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within it, forward passes are followed by backward passes that gather gradients without averaging them.

        Such as::

            with model.no_sync():
                for batch in batches[:-1]:
                    loss(model(batch)).backward()
            loss(model(batches[-1])).backward()  # averages what all of them have gathered
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Callable[[Any, GradBucket], Future[Tensor]]) -> None:
        """Lets a function reduce the gradients in place of the average.

        Args:
            state: handed to each call.
            hook: called as `hook(state, bucket)` when a bucket is complete; returns a future of the tensor whose parts
                become the gradients. It gets what has been gathered in `grad`, also by earlier passes within `no_sync`.

        Raises:
            TypeError: it can't be called.
            ValueError: its annotations say something else.
            RuntimeError: there is a hook already.
        """
        _check_hook(hook)
        if self.reducer.has_hook:
            raise RuntimeError("register_comm_hook can only be called once.")
        self.reducer.set_hook(state, hook)

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """A context in which processes may have different numbers of inputs.

        Args:
            divide_by_initial_world_size: whether to go on dividing by the number of all processes when some are done.
            enable: False switches it off.
            throw_on_early_termination: whether to raise everywhere once a process has finished.
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook of a process that has finished; see `join`.

        Args:
            kwargs: `divide_by_initial_world_size`.
        """
        self._divide_by_initial = kwargs.get("divide_by_initial_world_size", True)
        self.reducer.set_divisor(self.process_group.size())
        return _Shadow(self)

    @property
    def join_device(self) -> tl_core.device:
        """The device of the module."""
        return self.device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The group."""
        return self.process_group

    def shadow(self) -> None:
        """Takes part in the collectives of one iteration of the others, for a process that has no inputs left."""
        if self.will_sync_module_buffers():
            self._broadcast(self._buffers_of_module())
        with no_grad():
            self.reducer.shadow()

    def adopt_last(self, is_last_joiner: bool) -> None:
        """Gives all processes the parameters and buffers of one of those that trained last."""
        self.reducer.set_divisor(self.process_group.size())
        mine = tl_core.tensor([get_rank(self.process_group) if is_last_joiner else -1], device=self.device)
        self.process_group.communicator(self.device_type).all_reduce(mine, ReduceOp.MAX).wait()
        tensors = [*self._without_ignored(self.module.named_parameters()), *self._buffers_of_module()]
        self._broadcast(tensors, int(mine))

    def _set_static_graph(self) -> None:
        """Says that the same parameters take part in every forward pass.

        Raises:
            RuntimeError: a forward pass has been made.
        """
        if self._has_begun:
            raise RuntimeError(
                "_set_static_graph() should be called before training loop starts, after the construction of "
                "DistributedDataParallel"
            )
        self.static_graph = True
        self.reducer.set_static()

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: Iterable[str]
    ) -> None:
        """Names parameters and buffers of a module that its wrapper shall leave alone."""
        setattr(module, _IGNORED, list(params_and_buffers_to_ignore))

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group is not default_group():
            raise RuntimeError(
                "a DistributedDataParallel can be pickled and copied only in the default process group"
            )
        if self._delayed:
            raise RuntimeError(
                "a DistributedDataParallel with delayed parameters cannot be pickled or copied"
            )
        state = self.__dict__.copy()
        del state["process_group"], state["reducer"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = default_group()
        self._make_reducers(None)


def _of_sparse_tables(module: Module) -> set[int]:
    """The parameters of embeddings whose gradients are sparse."""
    tables = (m for m in module.modules() if isinstance(m, (Embedding, EmbeddingBag)) and m.sparse)
    return {id(table.weight) for table in tables}


class _Shadow(JoinHook):
    """Shadows the collectives of a `DistributedDataParallel`."""

    def __init__(self, model: DistributedDataParallel):
        self._model = model

    def main_hook(self) -> None:
        self._model.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        self._model.adopt_last(is_last_joiner)


def _check_kinds(mixed_precision: Any, device_mesh: Any) -> None:
    kinds = (("mixed_precision", mixed_precision, _MixedPrecision), ("device_mesh", device_mesh, DeviceMesh))
    for name, value, kind in kinds:
        if value is not None and not isinstance(value, kind):
            raise TypeError(
                f"DistributedDataParallel: {name} must be a {kind.__name__}, got {type(value).__name__}"
            )


def _group_of(mesh: DeviceMesh) -> ProcessGroup:
    if mesh.ndim != 1:
        raise RuntimeError(
            f"DistributedDataParallel: only a device_mesh of one dimension is supported, got {mesh.ndim} of {mesh!r}"
        )
    return mesh.get_group(0)


def _check_module(module: Module, ignored: set[str]) -> None:
    if not isinstance(module, Module):
        raise AttributeError(f"DistributedDataParallel: module must be a Module, got {type(module).__name__}")
    named = [(name, p) for name, p in module.named_parameters() if name not in ignored]
    if any(isinstance(p, UninitializedParameter) for _, p in named):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. "
            "Run a dummy forward pass to correctly initialize the modules"
        )
    if not any(p.requires_grad for _, p in named):
        raise RuntimeError(
            "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
        )
    kinds = {p.device.type for _, p in named}
    if len(kinds) > 1:
        raise ValueError(
            f"DistributedDataParallel: the parameters are on several kinds of device: {sorted(kinds)}"
        )


def _check_devices(
    module: Module, device_ids: list[Any] | None, output_device: Any
) -> tuple[list[Any] | None, Any]:
    if device_ids is not None and len(device_ids) > 1:
        raise ValueError("device_ids can only be None or contain a single element.")
    devices = {p.device for p in module.parameters()}
    if device_ids and (len(devices) > 1 or next(iter(devices)).type == "cpu"):
        raise ValueError(
            "DistributedDataParallel: device_ids is for modules on one accelerator, "
            f"got {device_ids} and parameters on {', '.join(sorted(map(str, devices)))}"
        )
    return (device_ids, output_device) if device_ids else (None, None)


def _check_hook(hook: Any) -> None:
    if not callable(hook):
        raise TypeError("Communication hook must be callable.")
    signature = inspect.signature(hook)
    try:
        signature.bind(None, None)
    except TypeError:
        raise TypeError(f"Communication hook must take (state, bucket), got {signature}") from None
    annotation = list(signature.parameters.values())[1].annotation
    if not _means(annotation, GradBucket):
        raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
    if not _means(signature.return_annotation, Future):
        raise ValueError(
            "Communication hook: return annotation should be torch.futures.Future[torch.Tensor]."
        )


def _means(annotation: Any, wanted: type) -> bool:
    """True if an annotation is absent, a text, or this class, bare or with arguments."""
    if annotation is inspect.Parameter.empty or isinstance(annotation, str):
        return True
    return getattr(annotation, "__origin__", annotation) is wanted
