"""Symbols whose values data decide: where in the results of nodes they are found."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import tl_core
import tl_core.operators.packets
from tl_compiler.fx.interpreter import Interpreter
from tl_compiler.symbolic.canonical_forms import relation
from tl_compiler.symbolic.expression import Symbol
from tl_core.pytree import tree_leaves
from tl_core.pytree.paths import tree_leaves_with_path
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

__all__ = [
    "CallMethodKey",
    "ConvertIntKey",
    "DivideByKey",
    "InnerTensorKey",
    "PropagateUnbackedSymInts",
    "compute_unbacked_bindings",
    "is_accessor_node",
    "note_unbacked_bindings",
    "rebind_unbacked",
    "resolve_unbacked_bindings",
]


@dataclass(frozen=True)
class ConvertIntKey:
    """From a bool to 1 or 0.

    Example:
        >>> ConvertIntKey().get(True)
        1
    """

    def __str__(self) -> str:
        return ".cast_symbool_to_symint_guardless()"

    def get(self, b: Any) -> Any:
        """The number of a bool.

        Args:
            b: the bool.
        """
        return b.__sym_int__() if isinstance(b, SymBool) else int(b)


@dataclass(frozen=True)
class CallMethodKey:
    """A call of a method without arguments.

    Args:
        name: the method.

    Example:
        >>> str(CallMethodKey("item"))
        '.item()'
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}()"

    def get(self, o: Any) -> Any:
        """What the method of an object returns.

        Args:
            o: the object.
        """
        return getattr(o, self.name)()


@dataclass(frozen=True)
class InnerTensorKey:
    """An attribute of a tensor that is made of others.

    Args:
        inner_name: the attribute.

    Example:
        >>> InnerTensorKey("values").inner_name
        'values'
    """

    inner_name: str

    def __str__(self) -> str:
        return f".{self.inner_name}"

    def get(self, o: Any) -> Any:
        """The attribute of an object.

        Args:
            o: the object.
        """
        return getattr(o, self.inner_name)


@dataclass(frozen=True)
class DivideByKey:
    """A quotient.

    Args:
        divisor: what is divided by.

    Example:
        >>> DivideByKey(4).get(12)
        3
    """

    divisor: Any

    def __str__(self) -> str:
        return f".__floordiv__({self.divisor})"

    def get(self, o: Any) -> Any:
        """The quotient of a number.

        Args:
            o: the number.
        """
        return o // self.divisor


@dataclass(frozen=True)
class _SizeKey:
    index: int

    def __str__(self) -> str:
        return f".size()[{self.index}]"

    def get(self, o: Any) -> Any:
        return o.shape[self.index]


def _pending_in(value: Any, pending: set[Symbol]) -> dict[Symbol, tuple[Any, ...]]:
    bindings: dict[Symbol, tuple[Any, ...]] = {}
    for path, leaf in tree_leaves_with_path(value):
        if isinstance(leaf, (SymInt, SymFloat)) and leaf.node.expr in pending:
            bindings.setdefault(leaf.node.expr, path)
        elif isinstance(leaf, SymBool):
            for symbol in leaf.node.expr.free_symbols & pending:
                bindings.setdefault(symbol, (*path, ConvertIntKey()))
        elif isinstance(leaf, tl_core.Tensor):
            for i, n in enumerate(leaf.shape):
                if isinstance(n, SymInt) and n.node.expr in pending:
                    bindings.setdefault(n.node.expr, (*path, _SizeKey(i)))
    return bindings


def compute_unbacked_bindings(
    shape_env: Any, example_value: Any, old_example_value: Any = None, peek: bool = False
) -> dict[Symbol, tuple[Any, ...]] | None:
    """Where in a result the symbols stand that were made for it.

    Args:
        shape_env: the environment; None: there are none.
        example_value: the result.
        old_example_value: accepted.
        peek: whether the symbols stay pending.

    Returns:
        From symbols to paths; None if none is pending.

    Raises:
        PendingUnbackedSymbolNotFound: a symbol that was made does not occur.

    Example:
        >>> import tl_core
        >>> compute_unbacked_bindings(None, tl_core.ones(2)) is None
        True
    """
    if shape_env is None or not shape_env.pending_fresh_unbacked_symbols:
        return None
    pending = set(shape_env.pending_fresh_unbacked_symbols)
    bindings = _pending_in(example_value, pending)
    missing = pending - set(bindings)
    if not peek:
        shape_env.pending_fresh_unbacked_symbols.clear()
    if missing and not peek:
        from tl_compiler.symbolic.errors import PendingUnbackedSymbolNotFound

        raise PendingUnbackedSymbolNotFound(
            f"Pending unbacked symbols {missing} not in returned outputs {tree_leaves(example_value)}"
        )
    return bindings


def note_unbacked_bindings(shape_env: Any, n: Any, result: Any) -> None:
    """Notes in a node's `meta` where its result has the symbols that were made for it, as `unbacked_bindings`.

    Args:
        shape_env: the environment.
        n: the node.
        result: its result.
    """
    bindings = compute_unbacked_bindings(shape_env, result, peek=True)
    if bindings:
        n.meta["unbacked_bindings"] = bindings
        _no_longer_pending(shape_env, set(bindings))


def _no_longer_pending(shape_env: Any, symbols: set[Symbol]) -> None:
    pending = shape_env.pending_fresh_unbacked_symbols
    pending[:] = [symbol for symbol in pending if symbol not in symbols]


def resolve_unbacked_bindings(shape_env: Any, bindings: Any) -> Any:
    """Bindings with the symbols that took the place of others.

    Args:
        shape_env: the environment.
        bindings: from symbols to paths.

    Returns:
        The bindings.

    Example:
        >>> resolve_unbacked_bindings(None, None) is None
        True
    """
    if bindings is None:
        return None
    if shape_env is None:
        return bindings
    return {shape_env.replace(symbol): path for symbol, path in bindings.items()}


def rebind_unbacked(shape_env: Any, n: Any, result: Any) -> None:
    """Says that the symbols of a node's first result are those of a result that was computed again.

    Args:
        shape_env: the environment.
        n: the node.
        result: its new result.
    """
    bindings = resolve_unbacked_bindings(shape_env, n.meta.get("unbacked_bindings"))
    for symbol, path in (bindings or {}).items():
        value = result
        for key in path:
            value = key.get(value)
        if isinstance(value, SymInt) and isinstance(value.node.expr, Symbol) and value.node.expr != symbol:
            again = value.node.expr
            shape_env.learn(relation("==", again, symbol))
            _no_longer_pending(shape_env, {again})


def is_accessor_node(node: Any) -> bool:
    """Whether a node only reads a size, stride, offset or item of a value.

    Args:
        node: the node.

    Returns:
        Whether it does.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> is_accessor_node(list(symbolic_trace(lambda x: x.size(0)).graph.nodes)[1])
        True
    """
    if node.op == "call_method":
        return node.target in ("size", "stride", "storage_offset", "item")
    if node.op != "call_function":
        return False
    aten = tl_core.operators.packets.aten
    return node.target in (
        operator.getitem,
        aten.sym_size.int,
        aten.sym_stride.int,
        aten.sym_numel.default,
        aten.sym_storage_offset.default,
    )


class PropagateUnbackedSymInts(Interpreter):
    """Runs a graph, and says of each result that its new symbols are those that were noted.

    Args:
        module: the module whose graph is run.
        garbage_collect_values: whether results are dropped after their last use.
        graph: the graph, instead of the module's.
    """

    def run_node(self, n: Any) -> Any:
        """Runs one node.

        Args:
            n: the node.

        Returns:
            Its value.
        """
        result = super().run_node(n)
        env = getattr(self.module, "shape_env", None) or self.module.meta.get("shape_env")
        if env is not None:
            rebind_unbacked(env, n, result)
        return result
