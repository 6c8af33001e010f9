"""Averaging gradients while the backward pass is still running."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import tl_core
from tl_core import Tensor, no_grad
from tl_core.futures import Future

from .._C import Group
from .._C import Reducer as NativeReducer
from ..base.grad_bucket import GradBucket, views
from ..groups.process_group import ProcessGroup
from .used import used_leaves

Hook = Callable[[Any, GradBucket], Future[Tensor]]

FIRST_BUCKET_BYTES = 1 << 20


class Bucket:
    """Parameters whose gradients are reduced together."""

    def __init__(self, parameters: list[Tensor], arena: Group | None):
        self.parameters = parameters
        self.missing = 0
        self.future: Future[Tensor] | None = None
        first, size = parameters[0], sum(p.numel() for p in parameters)
        self.buffer = first.new_empty(0).to(first.dtype)
        self._size = size
        self._arena = arena

    def fill(self) -> None:
        """Copies the gradients into the buffer; where there is none, zeros."""
        if self.buffer.numel() != self._size:
            first = self.parameters[0]
            self.buffer = (
                first.new_empty(self._size)
                if self._arena is None
                else self._arena.arena_empty(self._size, first.detach())
            )
        for part, parameter in zip(views(self.buffer, self.parameters), self.parameters, strict=True):
            if parameter.grad is None:
                part.zero_()
            else:
                part.copy_(parameter.grad)

    def fill_with_zeros(self) -> None:
        """Makes a new buffer of zeros."""
        self.buffer = self.parameters[0].new_zeros(self._size)

    def take(self, result: Tensor) -> None:
        """Puts what the reduction gave into the buffer."""
        if result is not self.buffer:
            self.buffer.copy_(result.view(-1))

    def give_back(self, used: set[int], grads_are_views: bool) -> None:
        """Gives the parameters that took part their gradients."""
        for part, parameter in zip(views(self.buffer, self.parameters), self.parameters, strict=True):
            if id(parameter) not in used:
                continue
            if grads_are_views or parameter.grad is None:
                parameter.grad = part if grads_are_views else part.clone()
            else:
                parameter.grad.copy_(part)


class SparseBucket(Bucket):
    """One parameter with a sparse gradient: of rows of a table, only those that were looked up travel."""

    def __init__(self, parameter: Tensor):
        super().__init__([parameter], None)

    def fill(self) -> None:
        gradient = self.parameters[0].grad
        if gradient is None:
            self.fill_with_zeros()
        else:
            self.buffer = gradient.clone() if gradient.is_sparse else gradient.to_sparse(1)

    def fill_with_zeros(self) -> None:
        parameter = self.parameters[0]
        self.buffer = tl_core.zeros(
            parameter.shape, dtype=parameter.dtype, device=parameter.device
        ).to_sparse(1)

    def take(self, result: Tensor) -> None:
        self.buffer = result

    def give_back(self, used: set[int], grads_are_views: bool) -> None:
        parameter = self.parameters[0]
        if id(parameter) in used:
            parameter.grad = self.buffer


class Reducer:
    """Reduces the gradients of parameters over a group, bucket by bucket, as soon as a bucket is complete.

    Buckets are filled from the last parameter to the first, because a backward pass comes by them in this order, and
    are reduced in the order of their numbers, because all processes must do so in the same. In a group of one process
    without a hook the gradients are left where they are, and only the bookkeeping is done.

    Args:
        parameters: all that require a gradient, with their names.
        group: the processes.
        bucket_bytes: how large a bucket may grow; the first one grows to 1 MiB at most.
        find_unused: whether a forward pass may leave parameters out.
        static: whether the same parameters are left out each time.
        grads_are_views: whether `grad` shall be a view of a bucket.
        sparse: the parameters whose gradients are sparse, each of which has a bucket of its own.
    """

    def __init__(
        self,
        parameters: Mapping[str, Tensor],
        group: ProcessGroup,
        bucket_bytes: int,
        find_unused: bool,
        static: bool,
        grads_are_views: bool,
        sparse: Sequence[Tensor] = (),
    ):
        self.names = list(parameters)
        self.parameters: list[Tensor] = list(parameters.values())
        self.group = group
        self.find_unused = find_unused
        self.static = static
        self.grads_are_views = grads_are_views
        self.divisor = group.size()
        native = getattr(group.communicator(self.parameters[0].device.type), "native", None)
        alone = {id(p) for p in sparse}
        dense = [p for p in self.parameters if id(p) not in alone]
        self.buckets = [Bucket(part, native) for part in _assign(dense, bucket_bytes)]
        self.buckets += [SparseBucket(p) for p in reversed(self.parameters) if id(p) in alone]
        self._bucket_of = {id(p): bucket for bucket in self.buckets for p in bucket.parameters}
        self._hook: tuple[Any, Hook] | None = None
        self._expecting = False
        self._unused: set[int] | None = None
        self._ready: set[int] = set()
        self._gathered: set[int] = set()  # whose gradients came while nothing was averaged
        self._next = 0
        self._on_gradient = partial(_on_gradient, weakref.ref(self))
        self._native = self._source = None if native is None or alone else self._make_native(native)
        for i, parameter in enumerate(self.parameters):
            hook = self._on_gradient if self._native is None else self._native.hook(i)
            parameter.register_post_accumulate_grad_hook(hook)
        if find_unused or static:
            self._leave_native()

    def _make_native(self, group: Group) -> NativeReducer:
        number = {id(p): i for i, p in enumerate(self.parameters)}
        buckets = [[number[id(p)] for p in bucket.parameters] for bucket in self.buckets]
        twice = partial(_on_second_gradient, weakref.ref(self))
        return NativeReducer(group, self.parameters, buckets, self.divisor, self.grads_are_views, twice)

    def _leave_native(self) -> None:
        """From now on gradients are reduced here, where hooks, unused and static parameters are known."""
        if self._native is not None:
            self._native.forward_to(self._on_gradient)
            self._native = None

    @property
    def has_hook(self) -> bool:
        """Whether a communication hook has been set."""
        return self._hook is not None

    def set_hook(self, state: Any, hook: Hook) -> None:
        """Sets what reduces a bucket in place of the average."""
        self._hook = state, hook
        self._leave_native()

    def set_static(self) -> None:
        """Says that the same parameters are left out each time."""
        self.static = True
        self._leave_native()

    def set_divisor(self, divisor: int) -> None:
        """Sets by what sums are divided."""
        self.divisor = divisor
        if self._native is not None:
            self._native.set_divisor(divisor)

    def prepare(self, outputs: Any) -> None:
        """Gets ready for the backward pass of a forward pass that gave these outputs."""
        if self._native is not None:
            if self._native.missing():
                raise RuntimeError(self._unfinished())
            self._native.prepare()
            return
        if self._expecting and self._ready:
            raise RuntimeError(self._unfinished())
        self._expecting, self._next = True, 0
        self._ready.clear()
        for bucket in self.buckets:
            bucket.missing, bucket.future = len(bucket.parameters), None
        if (self.find_unused and not self.static) or (self.static and self._unused is None):
            used = used_leaves(outputs)
            self._unused = {id(p) for p in self.parameters if id(p) not in used}

    def pause(self) -> None:
        """Lets gradients gather where they are until the next `prepare`."""
        if self._native is not None:
            self._native.pause()
        self._expecting = False

    def on_gradient(self, parameter: Tensor) -> None:
        """The backward pass has come by a parameter."""
        if not self._expecting:
            self._gathered.add(id(parameter))
            return
        if id(parameter) in self._ready:
            self.refuse_second(self._name(parameter))
        with no_grad():
            if not self._ready:
                for unused in (p for p in self.parameters if id(p) in self._unused_ids()):
                    self._mark(unused)
            self._mark(parameter)

    def refuse_second(self, name: str) -> NoReturn:
        """Raises for a parameter that got a second gradient in one pass."""
        raise RuntimeError(
            f"Expected to mark a variable ready only once: the parameter {name} got a second gradient before the "
            "others got their first, from parts that share it or a second backward()"
        )

    def _unused_ids(self) -> set[int]:
        return self._unused or set()

    def _mark(self, parameter: Tensor) -> None:
        self._ready.add(id(parameter))
        self._bucket_of[id(parameter)].missing -= 1
        while self._next < len(self.buckets) and not self.buckets[self._next].missing:
            self._start(self._next)
            self._next += 1
        if self._next == len(self.buckets):
            self._finish()

    @property
    def _moves_nothing(self) -> bool:
        return self._hook is None and self.group.size() == 1 and not self.grads_are_views

    def _start(self, index: int) -> None:
        if not self._moves_nothing:
            bucket = self.buckets[index]
            bucket.fill()
            bucket.future = self._reduce(bucket, index)

    def _reduce(self, bucket: Bucket, index: int) -> Future[Tensor]:
        if self._hook is not None:
            state, hook = self._hook
            given = GradBucket(index, bucket.buffer, bucket.parameters, index == len(self.buckets) - 1)
            future = hook(state, given)
            if not isinstance(future, Future):
                raise RuntimeError(
                    f"the DDP communication hook must return a torch.futures.Future, got {type(future).__name__}"
                )
            return future
        if self.divisor > 1:
            bucket.buffer.div_(self.divisor)
        buffer = bucket.buffer  # where the result is, also if the backend's handle doesn't say so
        return self.group.allreduce(buffer).get_future().then(lambda done: (*done.value(), buffer)[0])

    def shadow(self) -> None:
        """Takes part in the reductions of the others with zeros, for a process that has no inputs left."""
        for index, bucket in enumerate(self.buckets):
            bucket.fill_with_zeros()
            self._reduce(bucket, index).wait()
        if self.find_unused and self.group.size() > 1:
            self._used_anywhere()

    def _finish(self) -> None:
        used = self._used_anywhere() if self.find_unused and self.group.size() > 1 else self._used_here()
        for bucket in self.buckets:
            if bucket.future is not None:
                bucket.take(_tensor_of(bucket.future.wait()))
                bucket.give_back(used, self.grads_are_views)
        self._expecting = False
        self._gathered.clear()

    def _used_here(self) -> set[int]:
        return {id(p) for p in self.parameters if id(p) not in self._unused_ids()} | self._gathered

    def _used_anywhere(self) -> set[int]:
        here = self._used_here() if self._expecting else set()
        device = self.parameters[0].device
        flags = tl_core.tensor([id(p) in here for p in self.parameters], dtype=tl_core.int32, device=device)
        self.group.allreduce(flags).wait()
        return {id(p) for p, flag in zip(self.parameters, flags.tolist(), strict=True) if flag}

    def _name(self, parameter: Tensor) -> str:
        return next(n for n, p in zip(self.names, self.parameters, strict=True) if p is parameter)

    def _unfinished(self) -> str:
        if self._native is not None:
            missing = [self.names[i] for i in self._native.missing()]
        else:
            missing = [
                n for n, p in zip(self.names, self.parameters, strict=True) if id(p) not in self._ready
            ]
        return (
            "Expected to have finished reduction in the prior iteration before starting a new one: the parameters "
            f"{', '.join(missing)} got no gradient. If they don't take part in every loss, construct "
            "DistributedDataParallel with find_unused_parameters=True, and let all outputs of forward() take part in it"
        )


def _on_gradient(reducer: weakref.ref[Reducer], parameter: Tensor) -> None:
    found = reducer()
    if found is not None:
        found.on_gradient(parameter)


def _on_second_gradient(reducer: weakref.ref[Reducer], parameter: int) -> None:
    found = reducer()
    if found is not None:
        found.refuse_second(found.names[parameter])


def _tensor_of(value: Any) -> Tensor:
    """What a hook's future holds: a tensor, or as in older programs a list of one."""
    return value if isinstance(value, Tensor) else value[0]


def _assign(parameters: Sequence[Tensor], limit: int) -> Iterator[list[Tensor]]:
    """Cuts parameters into buckets of one type and device, the last parameters first."""
    current: list[Tensor] = []
    size, bound = 0, min(FIRST_BUCKET_BYTES, limit)
    for parameter in reversed(parameters):
        nbytes = parameter.numel() * parameter.element_size()
        alike = not current or (current[0].dtype, current[0].device) == (parameter.dtype, parameter.device)
        if current and (not alike or size + nbytes > bound):
            yield current
            current, size, bound = [], 0, limit
        current.append(parameter)
        size += nbytes
    if current:
        yield current
