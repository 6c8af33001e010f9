"""What all higher-order operators have in common."""

from __future__ import annotations

from typing import Any

import tl_core.ops

__all__ = ["HigherOrderOperator"]


class HigherOrderOperator:
    """An operator some of whose arguments are functions. Subclasses say what a call does.

    Args:
        name: its name, under which `torch.ops.higher_order` has it.
    """

    known: dict[str, HigherOrderOperator] = {}  # noqa: RUF012 - filled as they are made

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        self._name = self.__name__ = name
        self.namespace = "higher_order"
        HigherOrderOperator.known[name] = self
        setattr(tl_core.ops.higher_order, name, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"the higher-order operator {self._name} has no implementation")

    def name(self) -> str:
        """The operator's name."""
        return self._name

    def __str__(self) -> str:
        return f"{self._name}"

    def __repr__(self) -> str:
        return f"<HigherOrderOperator {self._name}>"

    def __deepcopy__(self, memo: Any) -> HigherOrderOperator:
        return self

    def __reduce__(self) -> Any:
        return _known, (self._name,)


def _known(name: str) -> HigherOrderOperator:
    return HigherOrderOperator.known[name]
