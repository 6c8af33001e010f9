"""Averaging gradients while the backward pass is still running."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import tl_core
from tl_core import Tensor
from tl_core.futures import Future

from .._C import Reducer as NativeReducer
from ..base.grad_bucket import GradBucket
from ..groups.process_group import ProcessGroup
from .used import used_leaves

Hook = Callable[[Any, GradBucket], Future[Tensor]]

FIRST_BUCKET_BYTES = 1 << 20


class Reducer:
    """Reduces the gradients of parameters over a group, bucket by bucket, as soon as a bucket is complete.

    Buckets are filled from the last parameter to the first, because a backward pass comes by them in this order, and
    are reduced in the order of their numbers, because all processes must do so in the same. In a group of one process
    without a hook the gradients are left where they are, and only the bookkeeping is done.

    The native reducer has the buckets and the bookkeeping. It calls `start_bucket` and `finish_bucket` for the
    reductions that belong to Python: those of a communication hook, of a backend in Python, and of sparse gradients.

    Args:
        parameters: all that require a gradient, with their names.
        group: the processes.
        bucket_bytes: the size limit of a bucket in bytes; that of the first one is 1 MiB at most.
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
        self.divisor = group.size()
        self._sparse = {id(p) for p in sparse}
        dense = _assign([p for p in self.parameters if id(p) not in self._sparse], bucket_bytes)
        single = [[p] for p in reversed(self.parameters) if id(p) in self._sparse]
        self.buckets: list[list[Tensor]] = [*dense, *single]
        self._hook: tuple[Any, Hook] | None = None
        self._unused: list[int] | None = None
        self._pending: dict[int, tuple[Future[Tensor], Tensor]] = {}
        number = {id(p): i for i, p in enumerate(self.parameters)}
        self._native = NativeReducer(
            getattr(group.communicator(self.parameters[0].device.type), "native", None),
            group.size(),
            self.parameters,
            [([number[id(p)] for p in bucket], id(bucket[0]) in self._sparse) for bucket in self.buckets],
            grads_are_views,
            find_unused,
            self,
        )
        for i, parameter in enumerate(self.parameters):
            parameter.register_post_accumulate_grad_hook(self._native.hook(i))

    @property
    def has_hook(self) -> bool:
        """True if a communication hook has been set."""
        return self._hook is not None

    def set_hook(self, state: Any, hook: Hook) -> None:
        """Sets the function that reduces a bucket in place of the average."""
        self._hook = state, hook
        self._native.set_hook()

    def set_static(self) -> None:
        """Declares that the same parameters are left out each time."""
        self.static = True

    def set_divisor(self, divisor: int) -> None:
        """Sets the divisor of the sums."""
        self.divisor = divisor
        self._native.set_divisor(divisor)

    def prepare(self, outputs: Any) -> None:
        """Begins the backward pass of a forward pass with these outputs."""
        if missing := self._native.missing():
            raise RuntimeError(self._unfinished_text(missing))
        if (self.find_unused and not self.static) or (self.static and self._unused is None):
            used = used_leaves(outputs)
            self._unused = [i for i, p in enumerate(self.parameters) if id(p) not in used]
        self._pending.clear()
        self._native.prepare(self._unused or ())

    def pause(self) -> None:
        """Lets gradients gather where they are until the next `prepare`."""
        self._native.pause()

    def start_bucket(self, index: int, buffer: Tensor | None) -> None:
        """Begins the reduction of a bucket by the hook, or by the group's backend.

        Args:
            index: the number of the bucket.
            buffer: the gradients, in one dimension; None for a bucket with a sparse gradient.
        """
        if buffer is None:
            buffer = _sparse_gradient(self.buckets[index][0])
            if self._hook is None and self.divisor > 1:
                buffer.div_(self.divisor)
        self._pending[index] = self._reduce(index, buffer), buffer

    def finish_bucket(self, index: int) -> Tensor:
        """Waits for the reduction of a bucket.

        Args:
            index: the number of the bucket.

        Returns:
            The buffer with the result, or the sparse result.
        """
        future, buffer = self._pending.pop(index)
        result = _tensor_of(future.wait())
        if buffer.is_sparse or result is buffer:
            return result
        return buffer.copy_(result.view(-1))

    def _reduce(self, index: int, buffer: Tensor) -> Future[Tensor]:
        if self._hook is None:
            # the result is in the buffer also if the handle of the backend does not name it
            return self.group.allreduce(buffer).get_future().follow(lambda work: (*work.value(), buffer)[0])
        state, hook = self._hook
        bucket = GradBucket(index, buffer, self.buckets[index], index == len(self.buckets) - 1)
        future = hook(state, bucket)
        if not isinstance(future, Future):
            raise RuntimeError(
                f"the DDP communication hook must return a torch.futures.Future, got {type(future).__name__}"
            )
        return future

    def shadow(self) -> None:
        """Takes part in the reductions of the other processes with zeros, for a process without inputs."""
        for index, bucket in enumerate(self.buckets):
            is_sparse = id(bucket[0]) in self._sparse
            zeros = (
                _sparse_zeros(bucket[0]) if is_sparse else bucket[0].new_zeros(sum(p.numel() for p in bucket))
            )
            self._reduce(index, zeros).wait()
        if self.find_unused and self.group.size() > 1:
            self.used_anywhere([False] * len(self.parameters))

    def used_anywhere(self, used: list[bool]) -> list[int]:
        """By parameter, whether any process used it in its forward pass.

        Args:
            used: by parameter, whether this process used it.
        """
        flags = tl_core.tensor(used, dtype=tl_core.int32, device=self.parameters[0].device)
        self.group.allreduce(flags).wait()
        result: list[int] = flags.tolist()
        return result

    def refuse_second(self, parameter: int) -> NoReturn:
        """Raises for the number of a parameter that got a second gradient in one pass."""
        raise RuntimeError(
            f"Expected to mark a variable ready only once: the parameter {self.names[parameter]} got a second "
            "gradient before the others got their first, from parts that share it or a second backward()"
        )

    def _unfinished_text(self, missing: Sequence[int]) -> str:
        names = ", ".join(self.names[i] for i in missing)
        return (
            "Expected to have finished reduction in the prior iteration before starting a new one: the parameters "
            f"{names} got no gradient. If they don't take part in every loss, construct "
            "DistributedDataParallel with find_unused_parameters=True, and let all outputs of forward() take part in it"
        )


def _tensor_of(value: Any) -> Tensor:
    """The tensor of a hook's future, whose value is a tensor, or as in older programs a list of one."""
    return value if isinstance(value, Tensor) else value[0]


def _sparse_gradient(parameter: Tensor) -> Tensor:
    """A copy of the gradient as a sparse tensor; without a gradient, sparse zeros."""
    gradient = parameter.grad
    if gradient is None:
        return _sparse_zeros(parameter)
    return gradient.clone() if gradient.is_sparse else gradient.to_sparse(1)


def _sparse_zeros(parameter: Tensor) -> Tensor:
    return tl_core.zeros(parameter.shape, dtype=parameter.dtype, device=parameter.device).to_sparse(1)


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
