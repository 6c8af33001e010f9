"""Handles that remove hooks."""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections.abc import Callable, MutableMapping
from typing import Any

from tl_autograd import _C

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away again. Also a context manager that
    does so at its end.

    Args:
        hooks: the dictionary that holds the hook under `handle.id`.
        extra_dict: further dictionaries keyed by the id.
    """

    _ids = itertools.count()
    next_id: int = 0

    def __init__(self, hooks: MutableMapping, *, extra_dict: Any = None):
        self.hooks_dict_ref = weakref.ref(hooks)
        self.id = next(RemovableHandle._ids)
        RemovableHandle.next_id = self.id + 1
        extras = (
            extra_dict
            if isinstance(extra_dict, (list, tuple))
            else []
            if extra_dict is None
            else [extra_dict]
        )
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extras)

    def remove(self) -> None:
        """Takes the hook away; nothing happens if it is gone already."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple:
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: tuple) -> None:
        hooks, self.id, extras = state[0], state[1], state[2] if len(state) > 2 else ()
        empty: dict = _Hooks()
        self.hooks_dict_ref = weakref.ref(empty if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(empty if d is None else d) for d in extras)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def unserializable_hook(f: Callable) -> Callable:
    """Marks a hook that is lost when its tensor is sent to another process, which is meant so.

    Args:
        f: the hook.

    Returns:
        the hook itself.
    """
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warns of the hooks in a tensor's `_backward_hooks` that are lost when it is sent to another process.

    Args:
        tensor: the tensor. Its attribute is None, or a dictionary of hooks; those that `unserializable_hook` marks are
            meant to be lost.

    Example:
        >>> warn_if_has_hooks(tl_core.ones(2))
    """
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"the backward hook {hook!r} of a tensor is not serialized; torch.utils.hooks.unserializable_hook "
                "marks hooks of which that is meant so",
                stacklevel=2,
            )


class _Hooks(dict):
    """A dict that can be referred to weakly."""


def _register(hooks: MutableMapping, hook: Callable) -> RemovableHandle:
    if not callable(hook):
        raise TypeError(f"a hook must be callable, got {type(hook).__name__}")
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


_C.set_handle_factory(_register)
