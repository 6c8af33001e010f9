"""Looking into the graph: nodes, edges, and hooks on several gradients."""

from __future__ import annotations

import abc
import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from tl_autograd import _C
from tl_autograd.hooks import RemovableHandle
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


class Node(abc.ABC):  # noqa: B024  (only a name for isinstance)
    """A node of the graph: `isinstance(tensor.grad_fn, Node)`. It has `name()`, `metadata`,
    `next_functions`, `register_hook`
    and `register_prehook`, and `_saved_<argument>` for what was kept of an argument or `result`."""


Node.register(_C.Node)
Node.register(_C.ContextBase)


class GradientEdge(NamedTuple):
    """Where a gradient goes: output `output_nr` of `node`. Stands for a tensor in `backward` and `grad`."""

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge by which the gradient of `tensor` is computed.

    Raises:
        RuntimeError: the tensor does not require gradients.
    """
    return GradientEdge(*_C.gradient_edge(tensor))


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Tells autograd that the tensor's memory was changed by something it did not see."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _C.bump_version(t)


class _Handles(RemovableHandle):
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
        mode: "all" calls `fn(grads)` once a backward, after the last of those gradients that this backward
            computes, with None
            for the others. "any" calls `fn(grad)` with the first.

    Raises:
        ValueError: another mode.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    return _any_hook(tensors, fn) if mode == "any" else _all_hook(tensors, fn)


def _any_hook(tensors: tuple, fn: Callable) -> RemovableHandle:
    lock, done = threading.Lock(), set()

    def hook(grad: Tensor) -> None:
        run = _C.run_number()
        with lock:
            first = run not in done
            done.add(run)
        if first:
            fn(grad)

    return _Handles([t.register_hook(hook) for t in tensors])


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

    return _Handles([t.register_hook(make(i)) for i, t in enumerate(tensors)])


def _absent(name: str) -> Any:
    def absent(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"tl_autograd.graph.{name} is not there yet: saved tensors cannot be packed by hooks"
        )

    absent.__name__ = name
    absent.__doc__ = "Not there yet: hooks that pack saved tensors."
    return absent


saved_tensors_hooks = _absent("saved_tensors_hooks")
save_on_cpu = _absent("save_on_cpu")
disable_saved_tensors_hooks = _absent("disable_saved_tensors_hooks")
allow_mutation_on_saved_tensors = _absent("allow_mutation_on_saved_tensors")
