"""The table of decompositions that `run_decompositions` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core.library.schema_lists import operators_of_libraries
from tl_core.operators.packets import OpOverload
from tl_core.schemas.tags import Tag

__all__ = ["CustomDecompTable", "is_taken_apart"]

# Made of operators that only this library has: others know these.
_KEPT = (
    "lstm",
    "gru",
    "rnn_",
    "batch_norm",
    "native_batch_norm",
    "_native_batch_norm_legit",
    "instance_norm",
    "ctc_loss",
    "embedding_bag",
)


def is_taken_apart(op: Any) -> bool:
    """Whether an operator is made of others, which stand in its place unless a table says something else.

    Args:
        op: the operator.

    Example:
        >>> from tl_core.operators.packets import aten
        >>> is_taken_apart(aten.relu6.default), is_taken_apart(aten.add.Tensor)
        (True, False)
    """
    if not isinstance(op, OpOverload) or Tag.core in op.tags or not op._can_decompose():
        return False
    return not op.overloadpacket.__name__.startswith(_KEPT)


class CustomDecompTable(dict[Any, Callable[..., Any]]):
    """From operators to functions that take their place. What is deleted stays as it is in the graph.

    Operators that are made of others are taken apart, unless they are deleted: the table answers for each of them as if
    it had an entry, and lists those of libraries.

    Attributes:
        has_materialized: whether all entries have been asked for.

    Example:
        >>> table = CustomDecompTable()
        >>> import tl_core.operators.packets
        >>> linear = tl_core.ops.aten.linear.default
        >>> linear in table
        True
        >>> del table[linear]
        >>> linear in table
        False
    """

    def __init__(self) -> None:
        from ..decompositions import core_decompositions

        super().__init__(core_decompositions())
        self.has_materialized = False
        self.deleted: set[Any] = set()
        for op in operators_of_libraries():
            if op.has_kernel_for_dispatch_key("CompositeImplicitAutograd"):
                self[op] = op.decompose

    def __contains__(self, key: Any) -> bool:
        return super().__contains__(key) or (key not in self.deleted and is_taken_apart(key))

    def __missing__(self, key: Any) -> Callable[..., Any]:
        if key not in self:
            raise KeyError(key)
        function: Callable[..., Any] = key.decompose
        return function

    def get(self, key: Any, default: Any = None) -> Any:
        """The function that takes an operator's place.

        Args:
            key: the operator.
            default: what is returned where there is none.
        """
        try:
            return self[key]
        except KeyError:
            return default

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def pop(self, *args: Any) -> Any:
        """Removes an operator, which then stays as it is.

        Args:
            args: the operator, and what is returned where there is no entry.

        Returns:
            Its function.

        Raises:
            KeyError: there is no entry, and nothing to return.
        """
        if len(args) == 1 and args[0] not in self:
            raise KeyError(f"{args[0]} is not in the table of decompositions")
        function = self.get(*args)
        self.deleted.add(args[0])
        super().pop(args[0], None)
        return function

    def keys(self) -> Any:
        """The operators."""
        return super().keys()

    def items(self) -> Any:
        """The operators with their functions."""
        self.has_materialized = True
        return super().items()

    def update(self, other_dict: Any) -> None:  # type: ignore[override]
        """Adds the entries of another table.

        Args:
            other_dict: the table.
        """
        super().update(other_dict)

    def copy(self) -> CustomDecompTable:
        """Another table with the same entries.

        Returns:
            The table.
        """
        table = CustomDecompTable()
        table.clear()
        dict.update(table, self)
        table.deleted = set(self.deleted)
        return table

    def materialize(self) -> dict[Any, Callable[..., Any]]:
        """The entries as a plain dictionary.

        Returns:
            The dictionary.
        """
        self.has_materialized = True
        return dict(self)
