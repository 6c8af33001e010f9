"""Tracks the modules that run, forward or backward."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import tl_core
from tl_autograd.graph import current_graph_task_id, register_multi_grad_hook
from tl_core import Tensor
from tl_core.pytree import tree_leaves
from tl_nn import Module
from tl_nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["ModuleTracker"]

_NO_BACKWARD = -1


class ModuleTracker:
    """A context that tracks the modules whose forward or backward runs.

    A module is known by its path from the one that was called first, whose class gives the first part of the name.

    Example:
        >>> import tl_nn
        >>> class Inner(tl_nn.Module):
        ...     def forward(self, x):
        ...         print(sorted(tracker.parents), tracker.is_bw)
        ...         return x * 2
        >>> with ModuleTracker() as tracker:
        ...     _ = tl_nn.Sequential(Inner())(tl_core.ones(2))
        ['Global', 'Sequential', 'Sequential.0'] False
    """

    def __init__(self) -> None:
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._forward: list[str] = []
        self._backward: list[str] = []
        self._run = _NO_BACKWARD  # the backward that `_backward` belongs to
        self._handles: list[Any] = []

    @property
    def is_bw(self) -> bool:
        """Whether this thread is in a backward."""
        return current_graph_task_id() != _NO_BACKWARD

    @property
    def parents(self) -> set[str]:
        """The names of the modules that run, or whose backward does, and `Global`."""
        return {"Global", *self._forward, *self._running_backward()}

    def _running_backward(self) -> list[str]:
        """The modules of this thread's backward. A module without gradients of inputs leaves with the backward."""
        run = current_graph_task_id()
        if run != self._run:
            self._run, self._backward = run, []
        return self._backward

    def _name_of(self, module: Module) -> str:
        if module not in self._names:
            root = type(module).__name__
            for name, part in module.named_modules():
                self._names[part] = f"{root}.{name}" if name else root
        return self._names[module]

    def _enters(self, name: str) -> Callable[[Any], None]:
        return lambda grad: self._running_backward().append(name)

    def _leaves(self, name: str) -> Callable[[Any], None]:
        return lambda grads: _discard(self._running_backward(), name)

    def _before(self, module: Module, args: Any) -> None:
        name = self._name_of(module)
        self._forward.append(name)
        if tensors := _differentiable_tensors(args):
            self._handles.append(register_multi_grad_hook(tensors, self._leaves(name)))

    def _after(self, module: Module, args: Any, output: Any) -> None:
        name = self._name_of(module)
        _discard(self._forward, name)
        if tensors := _differentiable_tensors(output):
            self._handles.append(register_multi_grad_hook(tensors, self._enters(name), mode="any"))

    def __enter__(self) -> ModuleTracker:
        self._hooks = [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after, always_call=True),
        ]
        return self

    def __exit__(self, *args: object) -> None:
        for handle in self._hooks + self._handles:
            handle.remove()
        self._handles = []
        self._forward, self._backward = [], []


def _differentiable_tensors(values: Any) -> list[Tensor]:
    if not tl_core.is_grad_enabled():
        return []
    return [t for t in tree_leaves(values) if isinstance(t, Tensor) and t.requires_grad]


def _discard(names: list[str], name: str) -> None:
    """Removes the last occurrence of a name. A module that calls itself occurs several times."""
    if name in names:
        del names[len(names) - 1 - names[::-1].index(name)]
