"""Nested containers flattened into their leaves, and put together again."""

from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from tl_core.tensors.size import Size

__all__ = [
    "LeafSpec",
    "PyTree",
    "TreeSpec",
    "arg_tree_leaves",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any
Context = Any


class NodeDef(NamedTuple):
    """How a kind of container is flattened: its children and what else it takes to make one from others."""

    type: type
    flatten_fn: Callable[[Any], tuple[list[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]


class SerializedNode(NamedTuple):
    """How files name a kind of container: its class, and the context as JSON can hold it, both ways."""

    type: type
    to_dumpable: Callable[[Context], Any] | None
    from_dumpable: Callable[[Any], Context] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
KEYED_CHILDREN: dict[Any, Callable[[Any], tuple[list[tuple[Any, Any]], Context]]] = {}
SERIALIZED_NODES: dict[str, SerializedNode] = {}


def register_pytree_node(
    cls: Any,
    flatten_fn: Callable[[Any], tuple[list[Any], Context]],
    unflatten_fn: Callable[[Iterable[Any], Context], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Make a class a container.

    Parameters:
        cls : type
            The class.
        flatten_fn : callable
            Gives the list of children, and a context.
        unflatten_fn : callable
            Makes a container from children and a context.
        serialized_type_name : str, optional
            The name by which files call the class.
        to_dumpable_context, from_dumpable_context : callable, optional
            From a context to what JSON can hold, and back.
        flatten_with_keys_fn : callable, optional
            Gives pairs of a key and a child, and a context.

    Raises:
        ValueError
            If it is one already, or its context can be written but not read, or the other way round.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)
    if flatten_with_keys_fn is not None:
        KEYED_CHILDREN[cls] = flatten_with_keys_fn
    if serialized_type_name is not None:
        SERIALIZED_NODES[serialized_type_name] = SerializedNode(
            cls, to_dumpable_context, from_dumpable_context
        )


def _register_pytree_node(*args: Any, **options: Any) -> None:
    """As `register_pytree_node`, which it is deprecated in favor of."""
    warnings.warn(
        "`torch.utils._pytree._register_pytree_node` is deprecated. Please use "
        "`torch.utils._pytree.register_pytree_node` instead.",
        FutureWarning,
        stacklevel=2,
    )
    register_pytree_node(*args, **options)


def _of_mapping(mapping: Any) -> tuple[list[Any], Context]:
    return list(mapping.values()), list(mapping)


register_pytree_node(list, lambda values: (values, None), lambda values, _: list(values))
register_pytree_node(tuple, lambda values: (list(values), None), lambda values, _: tuple(values))
register_pytree_node(
    Size,
    lambda sizes: (list(sizes), None),
    lambda values, _: tuple(values),
    serialized_type_name="torch.Size",
)
register_pytree_node(deque, lambda values: (list(values), values.maxlen), deque)
register_pytree_node(dict, _of_mapping, lambda values, keys: dict(zip(keys, values, strict=True)))
register_pytree_node(
    OrderedDict, _of_mapping, lambda values, keys: OrderedDict(zip(keys, values, strict=True))
)
register_pytree_node(
    defaultdict,
    lambda mapping: (list(mapping.values()), [mapping.default_factory, list(mapping)]),
    lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
)
register_pytree_node(
    namedtuple, lambda values: (list(values), type(values)), lambda values, kind: kind(*values)
)


def _is_namedtuple_instance(tree: Any) -> bool:
    """Whether an object is of a class that namedtuple made."""
    return isinstance(tree, tuple) and type(tree).__bases__ == (tuple,) and hasattr(type(tree), "_fields")


def _get_node_type(tree: Any) -> Any:
    """The class under which an object is registered, if it is."""
    if _is_namedtuple_instance(tree):
        return namedtuple
    # What operators with several results return: tuples of a class of its own.
    if (
        isinstance(tree, tuple)
        and type(tree).__module__.endswith("return_types")
        and type(tree) not in SUPPORTED_NODES
    ):
        kind = type(tree)
        register_pytree_node(kind, lambda values: (list(values), None), lambda values, _: kind(tuple(values)))
    return type(tree)


node_type = _get_node_type


@dataclass(repr=False)
class TreeSpec:
    """The structure of nested containers without their leaves.

    Args:
        type: the class of the container; None for a leaf.
        context: what else makes it: keys, a class.
        children_specs: the structures of its elements.

    Attributes:
        type : type or None
            The kind of container; None for a leaf.
        context
            What it takes to make one from children.
        children_specs : list of TreeSpec
            The structures of the children.
    """

    type: Any
    context: Context
    children_specs: list[TreeSpec]

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        """The text of the structure: each child but the first on a line of its own."""
        between = ",\n" + " " * (indent + 2)
        children = between.join(child._text(indent + 2) for child in self.children_specs)
        return f"TreeSpec({getattr(self.type, '__name__', self.type)}, {self.context}, [{children}])"

    @property
    def num_nodes(self) -> int:
        """The number of containers and leaves."""
        return 1 + sum(child.num_nodes for child in self.children_specs)

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return sum(child.num_leaves for child in self.children_specs)

    @property
    def num_children(self) -> int:
        """The number of children."""
        return len(self.children_specs)

    def is_leaf(self) -> bool:
        """Whether this is a leaf's."""
        return isinstance(self, LeafSpec)

    def __setstate__(self, state: list[Any] | dict[str, Any]) -> None:
        # PyTorch's own pickles have the values of the fields, counts behind them
        named = state if isinstance(state, dict) else dict(zip(_FIELDS, state, strict=False))
        self.type, self.context, self.children_specs = (named[field] for field in _FIELDS)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Put leaves into containers of this structure.

        Raises:
            ValueError
                If their number is another one.
        """
        items = list(leaves)
        if len(items) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(items)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(items))

    def flatten_up_to(self, tree: PyTree) -> list[Any]:
        """What a tree has where this structure has leaves.

        Raises:
            ValueError
                If it lacks one of the containers.
        """
        subtrees: list[Any] = []
        self._collect(tree, subtrees)
        return subtrees

    def _collect(self, tree: PyTree, subtrees: list[Any]) -> None:
        kind = node_type(tree)
        if kind != self.type:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if kind in (dict, OrderedDict, defaultdict):
            children = self._in_order(tree)
        elif context != self.context:
            raise ValueError(
                f"Node context mismatch for {kind!r}; expected {self.context!r}, but got {context!r}."
            )
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        for spec, child in zip(self.children_specs, children, strict=True):
            spec._collect(child, subtrees)

    def _in_order(self, mapping: Any) -> list[Any]:
        """The values of a dictionary in the order of this structure's keys."""
        keys = self.context[1] if self.type is defaultdict else self.context
        if set(keys) != set(mapping):
            raise ValueError(f"Node keys mismatch; expected {list(keys)}, but got {list(mapping)}.")
        return [mapping[key] for key in keys]

    def _build(self, leaves: Iterator[Any]) -> Any:
        children = [child._build(leaves) for child in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)


_FIELDS = ("type", "context", "children_specs")


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])

    @property
    def num_leaves(self) -> int:
        """One."""
        return 1

    def _collect(self, tree: PyTree, subtrees: list[Any]) -> None:
        subtrees.append(tree)

    def _build(self, leaves: Iterator[Any]) -> Any:
        return next(leaves)

    def _text(self, indent: int) -> str:
        return "*"


_LEAF_SPEC = LeafSpec()


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of nested containers, from left to right, and their structure.

    Parameters:
        tree
            Lists, tuples, dictionaries and the like, nested in any way; everything else is a leaf.
        is_leaf : callable, optional
            Tells of which containers not to go into.

    Examples:
        >>> from tl_core.pytree import tree_flatten, tree_unflatten
        >>> leaves, spec = tree_flatten({"a": [1, 2], "b": (3,)})
        >>> leaves
        [1, 2, 3]
        >>> tree_unflatten([4, 5, 6], spec)
        {'a': [4, 5], 'b': (6,)}
    """
    leaves: list[Any] = []
    return leaves, _gather(tree, leaves, is_leaf)


def _gather(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    kind = _get_node_type(tree)
    if kind not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_gather(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Put leaves into containers of a structure; see `tree_flatten`.

    Raises:
        TypeError
            If it isn't a structure.
        ValueError
            If the number of leaves is another one.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """The leaves, one after the other."""
    yield from tree_flatten(tree, is_leaf)[0]


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of a call's arguments."""
    return tree_leaves((args, kwargs))


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    """Containers of the same structure, with what a function makes of each leaf.

    Parameters:
        func : callable
            Takes a leaf of each tree.
        tree, *rests
            Trees; the others have the containers of the first, and may have more in the place of its leaves.
        is_leaf : callable, optional
            Tells of which containers not to go into.

    Raises:
        ValueError
            If the structures differ.

    Examples:
        >>> from tl_core.pytree import tree_map
        >>> tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)])
        [11, (22,)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *map(spec.flatten_up_to, rests)]
    return spec.unflatten(func(*each) for each in zip(*columns, strict=True))


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    """Call a function with each leaf, and give back the tree itself.

    Args:
        func: called with each leaf.
        tree: nested containers.
        rests: further trees of the same structure, whose leaves are further arguments.
        is_leaf: takes a node, says whether it counts as a leaf; None for the registered containers.
    """
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(
    type_or_types_or_pred: Any,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: Callable[[Any], bool] | None = None,
) -> PyTree:
    """Like `tree_map`, but leaves of other types, or of which a predicate says no, stay as they are.

    Args:
        type_or_types_or_pred: a class, a tuple of them, or a function of a leaf.
        func: called with each leaf.
        tree: nested containers.
        is_leaf: takes a node, says whether it counts as a leaf; None for the registered containers.
    """
    if isinstance(type_or_types_or_pred, (type, tuple)):
        kinds: Any = type_or_types_or_pred
        return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kinds) else leaf, tree, is_leaf=is_leaf)
    if not callable(type_or_types_or_pred):
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    return tree_map(lambda leaf: func(leaf) if type_or_types_or_pred(leaf) else leaf, tree, is_leaf=is_leaf)


def broadcast_leaves(
    tree: PyTree, treespec: TreeSpec, is_leaf: Callable[[Any], bool] | None = None
) -> list[Any] | None:
    """A leaf for each of a structure's, where a leaf of the tree may stand for a container; None if they don't fit.

    Args:
        tree: nested containers.
        treespec: the structure.
        is_leaf: takes a node, says whether it counts as a leaf; None for the registered containers.

    Example:
        >>> broadcast_leaves([1, (2,)], tree_structure([[0, 0], (0,)]))
        [1, 1, 2]
    """
    kind = node_type(tree)
    if kind not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree)):
        return [tree] * treespec.num_leaves
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if (kind, context, len(children)) != (treespec.type, treespec.context, treespec.num_children):
        return None
    leaves: list[Any] = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        part = broadcast_leaves(child, spec, is_leaf)
        if part is None:
            return None
        leaves += part
    return leaves


_broadcast_to_and_flatten = broadcast_leaves


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether a predicate says yes to all leaves.

    Args:
        pred: takes a leaf, gives a bool.
        tree: nested containers.
        is_leaf: takes a node, says whether it counts as a leaf; None for the registered containers.
    """
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether a predicate says yes to some leaf.

    Args:
        pred: takes a leaf, gives a bool.
        tree: nested containers.
        is_leaf: takes a node, says whether it counts as a leaf; None for the registered containers.
    """
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf))


def tree_all_only(
    kind: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Whether a predicate says yes to all leaves of a type."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, kind))


def tree_any_only(
    kind: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Whether a predicate says yes to some leaf of a type."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, kind))
