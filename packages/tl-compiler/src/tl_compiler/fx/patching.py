"""What is replaced while a program is traced: attributes of classes, and globals."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

__all__ = ["HAS_VARSTUFF", "Patcher", "without_stars"]

_MISSING: Any = object()
HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class Patcher:
    """A block at whose end all that was replaced in it is put back, in the opposite order.

    Example:
        >>> names = {"scale": 2}
        >>> with Patcher() as patcher:
        ...     patcher.patch(names, "scale", 3)
        ...     names["scale"]
        3
        >>> names["scale"]
        2
    """

    def __init__(self) -> None:
        self._replaced: list[tuple[Callable[[Any], None], Any, Any]] = []  # how, what is there now, what was
        self._patched: set[tuple[int, str]] = set()
        self.visited: set[int] = set()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Replaces an item of a dictionary, such as a global of a module.

        Args:
            frame_dict: the dictionary.
            name: the key.
            new_fn: the value.
            deduplicate: whether an item that has been replaced stays as it is.
        """

        def write(value: Any) -> None:
            if value is _MISSING:
                frame_dict.pop(name, None)
            else:
                frame_dict[name] = value

        self._replace(frame_dict, name, write, new_fn, frame_dict.get(name, _MISSING), deduplicate)

    def patch_method(self, cls: Any, name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Replaces an attribute of a class or object.

        Args:
            cls: the class or object.
            name: the attribute.
            new_fn: the value.
            deduplicate: whether an attribute that has been replaced stays as it is.
        """

        def write(value: Any) -> None:
            if value is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, value)

        self._replace(cls, name, write, new_fn, cls.__dict__.get(name, _MISSING), deduplicate)

    def _replace(
        self, owner: Any, name: str, write: Callable[[Any], None], new: Any, before: Any, once: bool
    ) -> None:
        if once and (id(owner), name) in self._patched:
            return
        self._patched.add((id(owner), name))
        self._replaced.append((write, new, before))
        write(new)

    def visit_once(self, thing: Any) -> bool:
        """Whether an object is asked for the first time.

        Args:
            thing: the object.
        """
        first = id(thing) not in self.visited
        self.visited.add(id(thing))
        return first

    def revert_all_patches(self) -> list[tuple[Callable[[Any], None], Any, Any]]:
        """Puts everything back; `reapply_all_patches` replaces it again."""
        for write, _, before in reversed(self._replaced):
            write(before)
        return self._replaced

    def reapply_all_patches(self) -> list[tuple[Callable[[Any], None], Any, Any]]:
        """Replaces everything again."""
        for write, new, _ in self._replaced:
            write(new)
        return self._replaced

    def __enter__(self) -> Patcher:
        return self

    def __exit__(self, *error: object) -> None:
        self.revert_all_patches()
        self._replaced.clear()
        self._patched.clear()
        self.visited.clear()


def without_stars(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Takes the rest of the arguments as they are, as two objects, where the function has stars.

    Args:
        function: the function.
        count: how many arguments it has before the rest.
    """
    flags = function.__code__.co_flags
    extra = bool(flags & inspect.CO_VARARGS) + bool(flags & inspect.CO_VARKEYWORDS)
    code = function.__code__.replace(
        co_argcount=count + extra, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=flags & ~HAS_VARSTUFF
    )
    return FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
