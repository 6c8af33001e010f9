"""The protocol of objects that are saved and restored in place."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """An object with a state: `save` asks for it, `load` asks for it, fills it, and hands it back.

    >>> class Counter:
    ...     count = 0
    ...     def state_dict(self):
    ...         return {"count": self.count}
    ...     def load_state_dict(self, state_dict):
    ...         self.count = state_dict["count"]
    >>> isinstance(Counter(), Stateful)
    True
    """

    def state_dict(self) -> dict[str, Any]:
        """The state as a dict; its tensors are written into when it is loaded."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` gave, now or in another process."""
        ...


StatefulT = TypeVar("StatefulT", bound=Stateful)


def stateful_keys(state_dict: dict[str, Any]) -> list[str]:
    """The keys of objects with a state, in an order that is the same on all ranks: their methods may call collectives.

    >>> stateful_keys({"step": 3})
    []
    """
    return sorted((key for key, value in state_dict.items() if isinstance(value, Stateful)), key=str)
