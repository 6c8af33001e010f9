"""Patterns: descriptions of nodes and of what they read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from tl_compiler.fx import Node
from tl_compiler.fx.operator_schemas import normalize_function

from .matches import FailedMatch, Match, MatchContext, is_match

__all__ = [
    "MULTIPLE",
    "Arg",
    "CallFunction",
    "CallFunctionVarArgs",
    "CallMethod",
    "CallMethodVarArgs",
    "CallModule",
    "CallModuleVarArgs",
    "ExclusiveKeywordArg",
    "Ignored",
    "KeywordArg",
    "ListOf",
    "MultiOutputPattern",
    "Multiple",
    "PatternExpr",
    "RepeatedExpr",
    "extract_target",
]

MatchResult = Match | FailedMatch


class Multiple:
    """The type of `MULTIPLE`, which stands for any number of users."""

    def __repr__(self) -> str:
        return "MULTIPLE"


MULTIPLE = Multiple()


def extract_target(node: Node) -> Any:
    """The target of a node; for a module, its class.

    Args:
        node: the node.
    """
    if node.op != "call_module":
        return node.target
    module: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        module = getattr(module, part)
    return type(module)


class PatternExpr(ABC):
    """The base of all patterns."""

    @abstractmethod
    def _match(self, node: Any, ctx: MatchContext) -> MatchResult: ...

    def match(self, node: Node) -> MatchResult:
        """Matches the pattern with a node and what it reads.

        Args:
            node: the node.

        Returns:
            The match, or a `FailedMatch` with the reason.
        """
        try:
            return MatchContext([self], graph=node.graph).match(self, node)
        except FailedMatch as failure:
            return failure

    def has_multiple_users(self) -> bool:
        """Whether several parts of the pattern read this part."""
        return False

    def find_anchor_nodes(self, ctx: MatchContext, searched: set[Node]) -> Iterator[Node | None]:
        """The nodes at which the pattern may match, among the users of nodes that were matched before.

        Args:
            ctx: the context.
            searched: the nodes that were returned before.
        """
        if self in ctx.pattern_to_node:
            yield ctx.pattern_to_node[self]

    def pattern_eq(self, other: Any) -> bool:
        """Whether another pattern is of the same kind.

        Args:
            other: the other pattern.
        """
        return type(self) is type(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Arg(PatternExpr):
    """Any value, which the handler gets by position.

    Example:
        >>> Arg()
        Arg()
    """

    def _match(self, node: Any, ctx: MatchContext) -> MatchResult:
        return Match(ctx, self, args=[node])


class Ignored(PatternExpr):
    """Any value, which the handler doesn't get."""

    def _match(self, node: Any, ctx: MatchContext) -> MatchResult:
        return Match(ctx, self)

    def __repr__(self) -> str:
        return "*"


class KeywordArg(PatternExpr):
    """Any value, which the handler gets by name. It is the same one wherever the pattern has the name.

    Args:
        name: the name.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def _match(self, node: Any, ctx: MatchContext) -> MatchResult:
        return Match(ctx, self, kwargs={self.name: node})

    def pattern_eq(self, other: Any) -> bool:
        """Whether another pattern is an argument of the same name."""
        return super().pattern_eq(other) and self.name == other.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class ExclusiveKeywordArg(KeywordArg):
    """An argument by name, whose value no other argument of this kind has."""

    def _match(self, node: Any, ctx: MatchContext) -> MatchResult:
        if any(node is other for other in ctx.exclusive_node_set):
            return FailedMatch("exclusive arg appears twice")
        ctx.exclusive_node_set.append(node)
        return super()._match(node, ctx)


class _TargetExpr(PatternExpr):
    """A node that calls one of several functions.

    Args:
        fns: the function, or several. An operator stands for all of its overloads.
        users: how many nodes read the result, or `MULTIPLE`.
    """

    op = ""

    def __init__(self, fns: Any, users: int | Multiple = 1) -> None:
        functions = [fns] if callable(fns) or isinstance(fns, str) else list(fns)
        for function in list(functions):
            if hasattr(function, "overloads"):
                functions.extend(getattr(function, name) for name in function.overloads())
        self.fns = functions
        self.fns_set = set(functions)
        self.users = users

    def fns_repr(self) -> str:
        """The functions' names."""
        first = self.fns[0]
        text = first if isinstance(first, str) else getattr(first, "__name__", str(first))
        return f"[{text}, ...]" if len(self.fns) > 1 else str(text)

    def has_multiple_users(self) -> bool:
        """Whether several parts of the pattern read this part."""
        return isinstance(self.users, Multiple) or self.users > 1

    def find_anchor_nodes(self, ctx: MatchContext, searched: set[Node]) -> Iterator[Node | None]:
        """The nodes of a call whose arguments the pattern names; other calls have none, as in PyTorch.

        Args:
            ctx: the context.
            searched: the nodes that were returned before.

        Raises:
            NotImplementedError: the pattern leaves the arguments open.
        """
        raise NotImplementedError(
            f"{self} matches any arguments, so a pattern of several outputs can't find it by them; put it first"
        )

    def _match_fns(self, node: Any) -> bool:
        return isinstance(node, Node) and node.op == self.op and extract_target(node) in self.fns_set

    def _match_users(self, node: Node, ctx: MatchContext) -> bool:
        return self in ctx.outputs or isinstance(self.users, Multiple) or len(node.users) == self.users

    def pattern_eq(self, other: Any) -> bool:
        """Whether another pattern calls the same functions."""
        return (
            super().pattern_eq(other) and self.fns_set == other.fns_set and _users_eq(self.users, other.users)
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fns_repr()})"


def _users_eq(a: Any, b: Any) -> bool:
    return isinstance(b, Multiple) if isinstance(a, Multiple) else bool(a == b)


def _flatten(value: Any) -> tuple[list[Any], Any]:
    """The leaves of lists, tuples and dictionaries, and what contains them; a list and a tuple are the same."""
    if isinstance(value, tuple | list):
        parts = [_flatten(item) for item in value]
        return [leaf for leaves, _ in parts for leaf in leaves], ("sequence", [spec for _, spec in parts])
    if isinstance(value, dict):
        parts = [_flatten(value[name]) for name in sorted(value)]
        spec = ("dictionary", sorted(value), [spec for _, spec in parts])
        return [leaf for leaves, _ in parts for leaf in leaves], spec
    return [value], "*"


def _flatten_like(pattern: Any, value: Any, leaves: list[Any]) -> Any:
    """Flattens a value as far as the pattern is nested, because one pattern may stand for a whole list."""
    if isinstance(pattern, tuple | list) and isinstance(value, tuple | list) and len(pattern) == len(value):
        return "sequence", [_flatten_like(p, v, leaves) for p, v in zip(pattern, value, strict=True)]
    if isinstance(pattern, dict) and isinstance(value, dict) and sorted(pattern) == sorted(value):
        names = sorted(pattern)
        return "dictionary", names, [_flatten_like(pattern[n], value[n], leaves) for n in names]
    leaves.append(value)
    return "*"


class _TargetArgsExpr(_TargetExpr):
    """A node that calls one of several functions with arguments that match.

    Args:
        fns: the function, or several.
        args: patterns and constants of the arguments.
        _users: how many nodes read the result, or `MULTIPLE`.
        kwargs: patterns and constants of those by name. The call may have further ones.
    """

    def __init__(self, fns: Any, *args: Any, _users: int | Multiple = 1, **kwargs: Any) -> None:
        super().__init__(fns, _users)
        self.args, self.kwargs = args, dict(kwargs)
        self.flat_args_kwargs = _flatten((self.args, self.kwargs))

    def __repr__(self) -> str:
        items = [self.fns_repr(), *map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        if isinstance(self.users, Multiple):
            items.append("_users=MULTIPLE")
        elif self.users != 1:
            items.append(f"_users={self.users}")
        return f"{type(self).__name__}({', '.join(items)})"

    def _match(self, node: Any, ctx: MatchContext) -> MatchResult:
        if not self._match_fns(node) or len(node.args) != len(self.args):
            return FailedMatch("function_mismatch: node={}, pattern={}", node, self)
        if not self._match_users(node, ctx):
            return FailedMatch("multiple_users {}", self)
        arguments = self._arguments(node)
        if arguments is None:
            return FailedMatch("function_mismatch: node={}, pattern={}", node, self)
        patterns, expected = self.flat_args_kwargs
        values: list[Any] = []
        structure = _flatten_like((self.args, self.kwargs), arguments, values)
        if structure != expected:
            return FailedMatch("args_structure {} {}", structure, expected)
        return self._match_values(node, patterns, values, ctx)

    def _arguments(self, node: Node) -> tuple[Any, dict[str, Any]] | None:
        """The arguments of the call that the pattern names; None if it lacks one."""
        args, kwargs = node.args, node.kwargs
        if len(kwargs) < len(self.kwargs):
            if not callable(node.target):
                return None
            normalized = normalize_function(node.target, node.args, node.kwargs)
            if normalized is None or len(normalized.args) != len(self.args):
                return None
            args, kwargs = normalized
        if not self.kwargs.keys() <= kwargs.keys():
            return None
        return args, {name: kwargs[name] for name in self.kwargs}

    def _match_values(
        self, node: Node, patterns: list[Any], values: list[Any], ctx: MatchContext
    ) -> MatchResult:
        result = Match(ctx, self)
        for pattern, value in zip(patterns, values, strict=True):
            if isinstance(pattern, PatternExpr):
                part = ctx.match(pattern, value)
                if not is_match(part):
                    return part
                result.extend(part)
            elif isinstance(value, Node) or value != pattern:
                return FailedMatch("constant_args: {} {!r}!={!r}", node, value, pattern)
        result.nodes.append(node)
        result.targets[self] = node.target
        return result

    def find_anchor_nodes(self, ctx: MatchContext, searched: set[Node]) -> Iterator[Node | None]:
        """The users of nodes of the pattern's arguments that call one of the functions."""
        if self in ctx.pattern_to_node:
            yield ctx.pattern_to_node[self]
            return
        for pattern in self.flat_args_kwargs[0]:
            if not isinstance(pattern, PatternExpr):
                continue
            for other in pattern.find_anchor_nodes(ctx, searched):
                for node in list(other.users) if isinstance(other, Node) else ():
                    if node not in searched and self._match_fns(node):
                        yield node
                        searched.add(node)

    def pattern_eq(self, other: Any) -> bool:
        """Whether another pattern calls the same functions with equal arguments."""
        if not super().pattern_eq(other) or self.flat_args_kwargs[1] != other.flat_args_kwargs[1]:
            return False
        pairs = zip(self.flat_args_kwargs[0], other.flat_args_kwargs[0], strict=True)
        return all(a.pattern_eq(b) if isinstance(a, PatternExpr) else a == b for a, b in pairs)


class CallFunction(_TargetArgsExpr):
    """A call of a function: `CallFunction(aten.add, KeywordArg("x"), 1)`.

    Args:
        fns: the target, or several functions of which any matches.
        args: the patterns of the arguments.
        kwargs: the patterns of the arguments by name.
    """

    op = "call_function"


class CallMethod(_TargetArgsExpr):
    """A call of a method, by its name: `CallMethod("relu", KeywordArg("x"))`.

    Args:
        fns: the target, or several names of which any matches.
        args: the patterns of the arguments.
        kwargs: the patterns of the arguments by name.
    """

    op = "call_method"


class CallModule(_TargetArgsExpr):
    """A call of a module, by its class: `CallModule(Linear, KeywordArg("x"))`.

    Args:
        fns: the target, or several classes of which any matches.
        args: the patterns of the arguments.
        kwargs: the patterns of the arguments by name.
    """

    op = "call_module"


class _TargetExprVarArgs(_TargetExpr):
    """A node that calls one of several functions with any arguments, which the handler gets."""

    def _match(self, node: Any, ctx: MatchContext) -> MatchResult:
        if not self._match_fns(node):
            return FailedMatch("function_mismatch: node={}, pattern={}", node, self)
        if not self._match_users(node, ctx):
            return FailedMatch("multiple_users {}", self)
        result = Match(ctx, self, args=node.args, kwargs=dict(node.kwargs))
        result.nodes.append(node)
        result.targets[self] = node.target
        return result


class CallFunctionVarArgs(_TargetExprVarArgs):
    """A call of a function with any arguments."""

    op = "call_function"


class CallMethodVarArgs(_TargetExprVarArgs):
    """A call of a method with any arguments."""

    op = "call_method"


class CallModuleVarArgs(_TargetExprVarArgs):
    """A call of a module with any arguments."""

    op = "call_module"


class ListOf(PatternExpr):
    """A list whose items match.

    Args:
        pattern: the pattern of an item.
        partial: whether it is enough that one item matches.
    """

    def __init__(self, pattern: PatternExpr, partial: bool = False) -> None:
        self.pattern, self.partial = pattern, partial

    def _match(self, node: Any, ctx: MatchContext) -> MatchResult:
        if not isinstance(node, tuple | list) or not node:
            return FailedMatch("non_list")
        result = Match(ctx, self)
        repeated: dict[Any, Any] = {}
        matched = False
        for i, item in enumerate(node):
            inner = MatchContext(ctx.outputs, repeated, graph=ctx.graph)
            part = inner.match(self.pattern, item)
            repeated = inner.filter_multi_user_patterns()
            if is_match(part):
                matched = True
                result.extend(part.bundle())
            elif not self.partial:
                return FailedMatch("list[{}]: {}", i, part)
        return result.bundle() if matched else FailedMatch("list: no_match")

    def pattern_eq(self, other: Any) -> bool:
        """Whether another pattern is a list of equal items."""
        return (
            super().pattern_eq(other)
            and self.pattern.pattern_eq(other.pattern)
            and self.partial == other.partial
        )

    def __repr__(self) -> str:
        return f"ListOf({self.pattern!r})"


class MultiOutputPattern(PatternExpr):
    """Several results. The first is searched for in the graph, the others from the nodes that it reads.

    Args:
        outputs: a pattern for each result; None for one without.
    """

    def __init__(self, outputs: Sequence[PatternExpr | None]) -> None:
        if not isinstance(outputs[0], _TargetExpr):
            raise TypeError(f"outputs must begin with a call, but got {outputs[0]!r}")
        self.outputs = list(outputs)
        self.op = outputs[0].op

    @property
    def fns(self) -> list[Any]:
        """The functions of the first result."""
        first: Any = self.outputs[0]
        return list(first.fns)

    def _match(self, node: Any, ctx: MatchContext) -> MatchResult:
        result = ctx.match(self.outputs[0], node)
        if not is_match(result):
            return result
        for pattern in self.outputs[1:]:
            if pattern is None:
                continue
            part = self._match_from_anchors(pattern, ctx)
            if not is_match(part):
                return part
            result.extend(part)
        return result

    def _match_from_anchors(self, pattern: PatternExpr, ctx: MatchContext) -> MatchResult:
        before = dict(ctx.pattern_to_node)
        result: MatchResult = FailedMatch("no anchor found")
        for node in pattern.find_anchor_nodes(ctx, set()):
            result = ctx.match(pattern, node)
            if result:
                return result
            ctx.pattern_to_node = dict(before)
        return result

    def match(self, node: Node) -> MatchResult:
        """Matches the first result with a node, and the others with nodes near it."""
        try:
            return MatchContext(self.outputs, graph=node.graph).match(self, node)
        except FailedMatch as failure:
            return failure

    def pattern_eq(self, other: Any) -> bool:
        """Whether another pattern has equal results."""
        return (
            super().pattern_eq(other)
            and len(self.outputs) == len(other.outputs)
            and all(
                a.pattern_eq(b) if isinstance(a, PatternExpr) else a is b
                for a, b in zip(self.outputs, other.outputs, strict=True)
            )
        )

    def __repr__(self) -> str:
        return f"MultiOutputPattern({self.outputs})"


class RepeatedExpr(PatternExpr):
    """A call that occurs several times with the same arguments.

    Args:
        inner_pattern: the call.
    """

    def __init__(self, inner_pattern: _TargetExpr) -> None:
        self.inner_pattern = inner_pattern
        self.op = inner_pattern.op

    @property
    def fns(self) -> list[Any]:
        """The functions of the call."""
        return self.inner_pattern.fns

    def _match(self, node: Any, ctx: MatchContext) -> MatchResult:
        result = ctx.match(self.inner_pattern, node)
        if not is_match(result):
            return result
        ctx.pattern_to_node.pop(self.inner_pattern)
        for anchor in self.inner_pattern.find_anchor_nodes(ctx, {node}):
            again = MatchContext([self], graph=node.graph).match(self.inner_pattern, anchor)
            if not is_match(again):
                return again
            result.extend(again)
        return result

    def pattern_eq(self, other: Any) -> bool:
        """Whether another pattern repeats an equal call."""
        return super().pattern_eq(other) and self.inner_pattern.pattern_eq(other.inner_pattern)
