"""Looking into the graph: nodes, edges, and hooks on several gradients."""

from __future__ import annotations

import abc
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import tl_core
from tl_autograd import _C
from tl_autograd.hooks import RemovableHandle
from tl_autograd.saved_mutation import allow_mutation_on_saved_tensors
from tl_core import Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class Node(abc.ABC):
    """A node of the graph: `isinstance(tensor.grad_fn, Node)`. Nodes also have `_saved_<argument>` for what was
    kept of an argument, and `_saved_result`.

    Example:
        >>> import tl_core
        >>> y = tl_core.ones(2, requires_grad=True) * 3
        >>> isinstance(y.grad_fn, Node), y.grad_fn.name()
        (True, 'MulBackward0')
    """

    @abc.abstractmethod
    def name(self) -> str:
        """The node's name, such as `MulBackward0`."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """Pairs (node, output number) that the gradients of the inputs go to."""

    @abc.abstractmethod
    def metadata(self) -> dict:
        """A dict of the user's (an attribute of the real nodes)."""

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Calls `fn(grad_inputs, grad_outputs)` after each run; a tuple that it returns replaces `grad_inputs`."""

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Calls `fn(grad_outputs)` before each run; a tuple that it returns replaces them."""


Node.register(_C.Node)
Node.register(_C.ContextBase)


def current_graph_task_id() -> int:
    """The number of the backward in which this thread is; -1 outside. Each backward has another number.

    Example:
        >>> current_graph_task_id()
        -1
    """
    return _C.run_number()


class GradientEdge(NamedTuple):
    """Where a gradient goes: output `output_nr` of `node`. Stands for a tensor in `backward` and `grad`.

    Args:
        node: the node.
        output_nr: the number of its output.
        ownership_token: what keeps the node alive, or None.

    Example:
        >>> import tl_core, tl_autograd
        >>> x = tl_core.ones(2, requires_grad=True)
        >>> y = x * 3
        >>> edge = GradientEdge(y.grad_fn, 0)
        >>> tl_autograd.grad(y.sum(), [edge])
        (tensor([1., 1.]),)
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


class _TensorEdge(GradientEdge):
    """The edge of a tensor, which is not kept: `like` has its shape, dtype and device, in one element's memory."""

    like: Tensor


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge by which the gradient of `tensor` is computed.

    Raises:
        RuntimeError: the tensor does not require gradients.

    Example:
        >>> import tl_core
        >>> x = tl_core.ones(2, requires_grad=True)
        >>> get_gradient_edge(x * 3).output_nr
        0
    """
    edge = _TensorEdge(*_C.gradient_edge(tensor))
    if tensor.layout is tl_core.strided and not tensor.is_nested:
        edge.like = tensor.detach().new_empty(()).expand(tensor.shape)
    return edge


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Tells autograd that the tensor's memory was changed by something it did not see.

    Example:
        >>> import tl_core
        >>> x = tl_core.ones(2)
        >>> increment_version(x)
        >>> x._version
        1
    """
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _C.bump_version(t)


class _MultiHandle(RemovableHandle):
    """Removes several hooks at once."""

    def __init__(self, handles: Sequence[RemovableHandle]):
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple:
        return self.handles

    def __setstate__(self, state: tuple) -> None:
        self.handles = state


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: Literal["all", "any"] = "all"
) -> RemovableHandle:
    """Calls `fn` when the gradients of `tensors` were computed.

    Args:
        mode: "all" calls `fn(grads)` once in a backward pass, after the last gradient that this pass computes, with
            None for the others. "any" calls `fn(grad)` with the first gradient.
        tensors: the tensors.
        fn: takes the list of gradients in mode "all", None where there is none; one gradient in mode "any".

    Raises:
        ValueError: another mode.

    Example:
        >>> import tl_core
        >>> x, y = tl_core.ones(1, requires_grad=True), tl_core.ones(1, requires_grad=True)
        >>> handle = register_multi_grad_hook([x, y], lambda grads: print(grads))
        >>> (2 * x + 3 * y).backward()
        [tensor([2.]), tensor([3.])]
        >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    return _any_hook(tensors, fn) if mode == "any" else _all_hook(tensors, fn)


def _any_hook(tensors: tuple, fn: Callable) -> RemovableHandle:
    lock, runs = threading.Lock(), set()

    def hook(grad: Tensor) -> None:
        run = _C.run_number()
        with lock:
            first = run not in runs
            runs.add(run)
        if first:
            fn(grad)

    return _MultiHandle([t.register_hook(hook) for t in tensors])


def _all_hook(tensors: tuple, fn: Callable) -> RemovableHandle:
    lock = threading.Lock()
    waiting: dict[int, list] = {}
    edges = [_C.gradient_edge(t)[0] for t in tensors]

    def make(index: int) -> Callable:
        def hook(grad: Tensor) -> None:
            run = _C.run_number()
            with lock:
                state = waiting.get(run)
                if state is None:
                    expected = sum(_C.will_run(node) for node in edges)
                    state = waiting[run] = [expected, [None] * len(tensors)]
                state[0] -= 1
                state[1][index] = grad
                complete = state[0] == 0
                if complete:
                    del waiting[run]
            if complete:
                fn(state[1])

        return hook

    return _MultiHandle([t.register_hook(make(i)) for i, t in enumerate(tensors)])


class saved_tensors_hooks:
    """Inside, each tensor that is saved for the backward goes through a pair of hooks.

    Args:
        pack_hook: called with the tensor when it is saved; what it returns is kept instead.
        unpack_hook: called with that when the backward needs the tensor; returns one of the same values.

    Contexts nest; the innermost is in force.

    Example::

        >>> import tl_autograd.graph
        >>> x = tl_core.tensor([3.0], requires_grad=True)
        >>> with tl_autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), lambda kept: tl_core.tensor(kept)):
        ...     y = x * x
        >>> y.sum().backward()
        >>> x.grad
        tensor([6.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        _C.push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc: object) -> None:
        _C.pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Inside, tensors that are saved for the backward wait on the CPU and go back to their device when needed.

    Args:
        pin_memory: keep them in page-locked memory, where there is a device that reads it.
        device_type: the kind of that device.

    Raises:
        NotImplementedError: when a tensor of such a device is saved: its page-locked memory is not there yet.

    Example:
        >>> import tl_core
        >>> x = tl_core.tensor([2.0], requires_grad=True)
        >>> with save_on_cpu():
        ...     y = x * x
        ...
        >>> y.backward()
        >>> x.grad
        tensor([4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        def pack(t: Tensor) -> tuple[Any, Tensor]:
            if pin_memory and t.device.type == device_type:
                raise NotImplementedError(
                    f"save_on_cpu(pin_memory=True) needs page-locked memory for {device_type}, which is not there yet"
                )
            return t.device, t.detach().cpu()

        super().__init__(pack, lambda packed: packed[1].to(packed[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, entering `saved_tensors_hooks` raises RuntimeError with this message.

    Example:
        >>> import tl_core
        >>> with disable_saved_tensors_hooks("hooks are off here"):
        ...     y = tl_core.ones(2, requires_grad=True).exp()
        ...
        >>> y.requires_grad
        True
    """
    before = _C.disable_saved_hooks(error_message)
    try:
        yield
    finally:
        _C.disable_saved_hooks(before)


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Sets what happens to a stream that isn't part of a CUDA graph while one is recorded: nothing here records one.

    Args:
        enabled (bool): kept for programs.

    Raises:
        TypeError: it isn't a bool.

    Example:
        >>> set_override_stale_capture_stream(False)
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool, got {type(enabled).__name__}")
