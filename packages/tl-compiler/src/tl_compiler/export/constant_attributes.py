"""Tensors that modules hold as plain attributes: constants of a program."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

import tl_core
from tl_core.tensors.parameter import Parameter

__all__ = ["ConstantAttrMap", "gather_constants"]


class ConstantAttrMap(MutableMapping[Any, list[str]]):
    """From constants, told apart by identity, to the dotted names of the attributes that hold them.

    Example:
        >>> found = ConstantAttrMap()
        >>> weight = tl_core.ones(2)
        >>> found.add(weight, "layer.weight")
        >>> found[weight], tl_core.ones(2) in found
        (['layer.weight'], False)
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Any, list[str]]] = {}

    def __getitem__(self, key: Any) -> list[str]:
        if id(key) not in self._entries:
            raise KeyError(key)
        return self._entries[id(key)][1]

    def __setitem__(self, key: Any, value: list[str]) -> None:
        if not isinstance(value, list):
            raise TypeError(f"the names of a constant are a list, got {type(value)}")
        self._entries[id(key)] = key, value

    def add(self, key: Any, value: str) -> None:
        """Notes one more name of a constant.

        Args:
            key: the constant.
            value: the name.
        """
        self._entries.setdefault(id(key), (key, []))[1].append(value)

    def __delitem__(self, key: Any) -> None:
        del self._entries[id(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter([key for key, _ in self._entries.values()])

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return id(key) in self._entries


def gather_constants(m: Any) -> ConstantAttrMap:
    """The constants of a module.

    Args:
        m: the module.

    Returns:
        The tensors in its attributes, and those of the modules in it, that are neither parameters nor buffers.

    Example:
        >>> import tl_nn
        >>> layer = tl_nn.Linear(1, 1)
        >>> layer.scale = tl_core.ones(1)
        >>> list(gather_constants(layer).values())
        [['scale']]
    """
    state = {id(t) for t in (*m.parameters(), *m.buffers())}
    constants = ConstantAttrMap()
    for path, module in m.named_modules():
        for name, value in vars(module).items():
            if (
                isinstance(value, tl_core.Tensor)
                and not isinstance(value, Parameter)
                and id(value) not in state
            ):
                constants.add(value, f"{path}.{name}" if path else name)
    return constants
