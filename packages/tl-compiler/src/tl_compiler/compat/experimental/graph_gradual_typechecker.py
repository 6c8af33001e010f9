"""Types of tensors checked through a graph, where some sizes aren't known."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from typing import Any

import tl_core
import tl_nn
from tl_compiler.fx.graph_module import GraphModule
from tl_compiler.fx.node import Node, map_arg
from tl_compiler.fx.tensor_type import Dyn, TensorType, is_consistent, is_more_precise
from tl_core.base.rule_table import RuleTable

from .refinement_types import Equality
from .rules import Rule, rule_decorator
from .unification import Var

__all__ = [
    "GraphTypeChecker",
    "Refine",
    "broadcast_types",
    "calculate_out_dimension",
    "expand_to_tensor_dim",
    "get_greatest_upper_bound",
    "register_algebraic_expressions_inference_rule",
    "register_inference_rule",
    "register_refinement_rule",
]

_INFERENCE_RULES: RuleTable[Rule] = RuleTable("gradual types")
_REFINEMENT_RULES: RuleTable[Rule] = RuleTable("gradual types: refinement")
_RULES: RuleTable[Rule] = RuleTable("gradual types: sizes")


def expand_to_tensor_dim(t: Any, n: int) -> Any:
    """A type of tensors with a number of dimensions.

    Args:
        t: `Dyn`, or a type with that many.
        n: the number.

    Returns:
        The type, with `Dyn` for each size that isn't known.

    Raises:
        TypeError: the type has another number of dimensions.

    Example:
        >>> expand_to_tensor_dim(Dyn, 2)
        TensorType[(Dyn, Dyn)]
    """
    if t == Dyn:
        return TensorType(tuple([Dyn] * n))
    if isinstance(t, TensorType):
        if len(t.__args__) != n:
            raise TypeError(
                f"Cannot extend tensor. Tensor {t} has rank {len(t.__args__)}. It should have rank {n}"
            )
        return t
    raise TypeError(f"Cannot match the type {t}")


def broadcast_types(t1: Any, t2: Any) -> tuple[Any, Any]:
    """Two types with the sizes that broadcasting gives them.

    Args:
        t1, t2: the types.

    Returns:
        The new types; types that aren't of tensors as they are.

    Raises:
        TypeError: they are neither numbers, tensors nor `Dyn`.

    Example:
        >>> broadcast_types(TensorType((2, 1)), TensorType((3,)))
        (TensorType[(2, 3)], TensorType[(2, 3)])
    """
    if Dyn in (t1, t2) or isinstance(t1, Var) or isinstance(t2, Var):
        return t1, t2
    if not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        raise TypeError(f"Cannot broadcast types {t1} and {t2}")
    first, second = list(t1.__args__), list(t2.__args__)
    rank = max(len(first), len(second))
    first, second = [1] * (rank - len(first)) + first, [1] * (rank - len(second)) + second
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        if a == 1:
            first[i] = b
        elif b == 1:
            second[i] = a
    return TensorType(tuple(first)), TensorType(tuple(second))


def get_greatest_upper_bound(type1: Any, type2: Any) -> Any:
    """What two consistent types say together.

    Args:
        type1, type2: the types.

    Returns:
        The type.

    Raises:
        TypeError: they contradict each other.

    Example:
        >>> get_greatest_upper_bound(TensorType((1, Dyn)), TensorType((Dyn, 2)))
        TensorType[(1, 2)]
    """
    if type1 == Dyn:
        return type2
    if type2 == Dyn:
        return type1
    if isinstance(type1, TensorType) and isinstance(type2, TensorType):
        if not is_consistent(type1, type2):
            raise TypeError(f"Inconsistent types {type1}, {type2}")
        pairs = zip(type1.__args__, type2.__args__, strict=True)
        return TensorType(tuple(a if is_more_precise(a, b) else b for a, b in pairs))
    return type1


def register_inference_rule(call_target: Any) -> Callable[[Rule], Rule]:
    """Makes a decorator that registers how a node's type follows from those of its arguments.

    Args:
        call_target: a function, or a class of modules; for these the rule takes the module as well.

    Returns:
        The decorator.

    Example:
        >>> @register_inference_rule("project.double")
        ... def double_type(node):
        ...     return node.args[0].type
        ...
        >>> double_type.__name__
        'double_type'
    """
    return rule_decorator(_INFERENCE_RULES, call_target)


def register_refinement_rule(call_target: Any) -> Callable[[Rule], Rule]:
    """Makes a decorator that registers which sizes of a node are the same as those of its arguments.

    Args:
        call_target: a function, or a class of modules.

    Returns:
        The decorator.

    Example:
        >>> @register_refinement_rule("project.double")
        ... def double_sizes(node):
        ...     return []
        ...
        >>> double_sizes.__name__
        'double_sizes'
    """
    return rule_decorator(_REFINEMENT_RULES, call_target)


def register_algebraic_expressions_inference_rule(call_target: Any) -> Callable[[Rule], Rule]:
    """Makes a decorator that registers how a node's sizes are computed from named ones.

    Args:
        call_target: a function, or a class of modules.

    Returns:
        The decorator.

    Example:
        >>> @register_algebraic_expressions_inference_rule("project.double")
        ... def double_expressions(node, module_instance):
        ...     return node.type
        ...
        >>> double_expressions.__name__
        'double_expressions'
    """
    return rule_decorator(_RULES, call_target)


def _product(values: Any) -> Any:
    return reduce(operator.mul, values, 1)


def _narrow(n: Node, inferred: Any) -> Any:
    n.type = get_greatest_upper_bound(inferred, n.type)
    return n.type


# ---- functions


@register_inference_rule(tl_core.add)
@register_inference_rule(operator.add)
@register_inference_rule(operator.iadd)
def _add(n: Node) -> Any:
    first, second = n.args[:2]
    t1, t2 = (a.type if isinstance(a, Node) else type(a) for a in (first, second))
    if t1 in (int, float) and isinstance(t2, TensorType):
        n.type = t2
        return t2
    if t2 in (int, float) and isinstance(t1, TensorType):
        n.type = t1
        return t1
    if t1 in (int, float) and t2 in (int, float):
        n.type = float if float in (t1, t2) else int
        return n.type
    new1, new2 = broadcast_types(t1, t2)
    if new1 != t1 or new2 != t2:
        n.meta["broadcast"] = True
        n.meta[str(first)], n.meta[str(second)] = new1.__args__, new2.__args__
    else:
        n.meta["broadcast"] = False
    if not is_consistent(new1, new2):
        raise TypeError(
            f"Cannot add arguments {first} ({t1}) and {second} ({t2}) in node {n}. Types should match"
        )
    n.type = new2 if is_more_precise(new1, new2) else new1
    return n.type


def _get_attr(n: Node, traced: GraphModule) -> Any:
    value: Any = traced
    for part in str(n.target).split("."):
        value = getattr(value, part)
    n.type = TensorType(tuple(value.shape)) if isinstance(value, tl_core.Tensor) else Dyn
    return n.type


@register_inference_rule(tl_core.transpose)
def _transpose(n: Node) -> Any:
    source, dim1, dim2 = n.args
    t = source.type
    if t == Dyn:
        n.type = Dyn
        return n.type
    if not isinstance(t, TensorType) or not (0 <= dim1 < len(t.__args__) and 0 <= dim2 < len(t.__args__)):
        raise TypeError(f"Cannot transpose {dim1} and {dim2} in type {t} for node {n}")
    sizes = list(t.__args__)
    sizes[dim1], sizes[dim2] = sizes[dim2], sizes[dim1]
    return _narrow(n, TensorType(sizes))


@register_inference_rule(tl_core.reshape)
def _reshape(n: Node) -> Any:
    source, sizes = n.args
    t = source.type
    target = TensorType([Dyn if size == -1 else size for size in sizes])
    if t == Dyn:
        n.type = target
        return target
    if not isinstance(t, TensorType):
        raise TypeError(f"Cannot reshape in node {n} from {t} to {target}")
    before, after = (_product(e for e in kind.__args__ if e != Dyn) for kind in (t, target))
    is_static = Dyn not in t.__args__ and Dyn not in target.__args__
    fits = before == after if is_static else before % after == 0 or after % before == 0
    if not fits:
        raise TypeError(f"Cannot reshape in node {n} from {t} to {target}")
    n.type = target
    return target


@register_inference_rule(tl_core.flatten)
def _flatten(n: Node) -> Any:
    source, start, end = _flatten_arguments(n)
    if source.type == Dyn:
        return n.type
    if not isinstance(source.type, TensorType):
        raise TypeError(f"Cannot flatten {source.type} in node {n}")
    return _narrow(n, flatten_check(source.type, start, end))


def _flatten_arguments(n: Node) -> tuple[Any, int, int]:
    arguments = dict(zip(("input", "start_dim", "end_dim"), n.args, strict=False)) | n.kwargs
    return arguments["input"], arguments.get("start_dim", 0), arguments.get("end_dim", -1)


def flatten_check(tensor_type: TensorType, start_dim: int, end_dim: int) -> TensorType:
    """The type of a flattened tensor.

    Args:
        tensor_type: that of the tensor.
        start_dim, end_dim: the first and last dimension that are joined.

    Returns:
        The type.

    Raises:
        TypeError: there are no such dimensions.
    """
    rank = len(tensor_type.__args__)
    start = rank + start_dim if start_dim < 0 else start_dim
    end = (rank + end_dim if end_dim < 0 else end_dim) + 1
    if not (0 <= start < rank and start < end <= rank):
        raise TypeError(f"Incompatible dimensions {start_dim}, {end_dim - 1} in type {tensor_type}")
    sizes = list(tensor_type.__args__)
    joined = sizes[start:end]
    middle = Dyn if Dyn in joined else _product(joined)
    return TensorType((*sizes[:start], middle, *sizes[end:]))


# ---- modules


def _rank4(n: Node) -> tuple[Any, Any]:
    """The types of the argument and of the node, of four dimensions; the argument's is noted."""
    source = n.args[0]
    source.type = expand_to_tensor_dim(source.type, 4)
    return source.type, expand_to_tensor_dim(n.type, 4)


@register_inference_rule(tl_nn.BatchNorm2d)
def _batch_norm(n: Node, module: Any) -> Any:
    source, own = _rank4(n)
    if (
        is_consistent(source.__args__[1], module.num_features)
        and is_consistent(own.__args__[1], module.num_features)
        and is_consistent(source, own)
    ):
        n.type = get_greatest_upper_bound(source, own)
        return n.type
    raise TypeError(f"Cannot apply {module} with input type {source} and existing type {n.type} on {n}")


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


def calculate_out_dimension(d_in: Any, module_instance: Any, index: int) -> Any:
    """The size that a convolution or pool gives.

    Args:
        d_in: the size of its input: a number, an expression or `Dyn`.
        module_instance: the module.
        index: 0 for heights, 1 for widths.

    Returns:
        The size.

    Example:
        >>> import tl_nn
        >>> calculate_out_dimension(5, tl_nn.Conv2d(1, 1, 3), 0)
        3
    """
    if d_in == Dyn:
        return Dyn
    names = ("padding", "dilation", "kernel_size", "stride")
    padding, dilation, kernel, stride = (_pair(getattr(module_instance, name))[index] for name in names)
    return (d_in + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


@register_inference_rule(tl_nn.Conv2d)
def _conv(n: Node, module: Any) -> Any:
    source, own = _rank4(n)
    if not is_consistent(source.__args__[1], module.in_channels):
        raise TypeError(f"Cannot apply {module} with input type {source} and existing type {n.type} on {n}")
    height, width = (calculate_out_dimension(source.__args__[2 + i], module, i) for i in range(2))
    n.type = get_greatest_upper_bound(
        TensorType((source.__args__[0], module.out_channels, height, width)), own
    )
    return n.type


@register_inference_rule(tl_nn.ReLU)
def _relu(n: Node, module: Any) -> Any:
    source = n.args[0]
    if source.type == Dyn and isinstance(n.type, TensorType):
        source.type = expand_to_tensor_dim(source.type, len(n.type.__args__))
    return _narrow(n, source.type) if isinstance(source.type, TensorType) else n.type


def maxpool2d_check(typ: TensorType, module_instance: Any) -> TensorType:
    """The type of a pooled tensor.

    Args:
        typ: that of the tensor.
        module_instance: the pool.

    Returns:
        The type.

    Raises:
        TypeError: it hasn't three or four dimensions.
    """
    sizes = list(typ.__args__)
    if len(sizes) not in (3, 4):
        raise TypeError(f"Wrong size {typ} for {module_instance}")
    for i in range(2):
        sizes[-2 + i] = calculate_out_dimension(sizes[-2 + i], module_instance, i)
    return TensorType(tuple(sizes))


@register_inference_rule(tl_nn.MaxPool2d)
def _max_pool(n: Node, module: Any) -> Any:
    source = n.args[0]
    if isinstance(source.type, TensorType):
        return _narrow(n, maxpool2d_check(source.type, module))
    return n.type


@register_inference_rule(tl_nn.AdaptiveAvgPool2d)
def _adaptive_pool(n: Node, module: Any) -> Any:
    source = n.args[0]
    if source.type == Dyn and isinstance(n.type, TensorType):
        source.type = expand_to_tensor_dim(source.type, len(n.type.__args__))
    if not isinstance(source.type, TensorType):
        return n.type
    sizes = list(source.type.__args__)
    if len(sizes) not in (3, 4):
        raise TypeError(f"Wrong size {source.type} for {module}")
    for i, size in enumerate(_pair(module.output_size)):
        sizes[-2 + i] = sizes[-2 + i] if size is None else size
    return _narrow(n, TensorType(tuple(sizes)))


def linear_check(tensor_type: TensorType, module_instance: Any) -> TensorType:
    """The type of what a linear layer gives.

    Args:
        tensor_type: that of its input.
        module_instance: the layer.

    Returns:
        The type.

    Raises:
        TypeError: the last size is another than the layer's.
    """
    if len(tensor_type.__args__) >= 1 and is_consistent(
        module_instance.in_features, tensor_type.__args__[-1]
    ):
        return TensorType((*tensor_type.__args__[:-1], module_instance.out_features))
    raise TypeError(f"Type mismatch in {module_instance}: its input is {tensor_type}")


@register_inference_rule(tl_nn.Linear)
def _linear(n: Node, module: Any) -> Any:
    source = n.args[0]
    return _narrow(n, linear_check(source.type, module)) if isinstance(source.type, TensorType) else n.type


class GraphTypeChecker:
    """Checks the types of a graph and infers those that aren't annotated, as far as sizes are known.

    Args:
        env: not used.
        traced: the module; the types of its nodes are changed.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: tl_core.flatten(x, 1))
        >>> next(iter(made.graph.nodes)).type = TensorType((Dyn, 2, 3))
        >>> GraphTypeChecker({}, made).type_check()
        True
        >>> made.graph.output_node().type
        TensorType[(Dyn, 6)]
    """

    def __init__(self, env: Any, traced: GraphModule) -> None:
        self.env = env
        self.traced = traced

    def type_check(self) -> bool:
        """Checks all nodes.

        Returns:
            True.

        Raises:
            TypeError: types contradict each other.
            RuntimeError: there is no rule for what a node calls.
        """
        for node in self.traced.graph.nodes:
            self.type_check_node(node)
        return True

    def type_check_node(self, n: Node) -> Any:
        """Checks one node.

        Args:
            n: the node.

        Returns:
            Its type.
        """
        if n.type is None:
            n.type = Dyn
        if n.op == "placeholder":
            return n.type
        if n.op == "get_attr":
            return _get_attr(n, self.traced)
        if n.op == "output":
            n.type = map_arg(n.args[0], lambda a: a.type)
            return n.type
        if n.op == "call_function" and n.target in _INFERENCE_RULES:
            return _INFERENCE_RULES[n.target](n)
        if n.op == "call_module":
            module = self.traced.get_submodule(str(n.target))
            if type(module) in _INFERENCE_RULES:
                return _INFERENCE_RULES[type(module)](n, module)
            raise RuntimeError(f"No inference rule registered for class {type(module)}!")
        raise RuntimeError(f"No inference rule registered for target {n.target}!")


# ---- which sizes are the same


def _all_equal(n: Node) -> list[Equality]:
    t = n.args[0].type
    if isinstance(t, TensorType) and isinstance(n.type, TensorType):
        return [Equality(a, b) for a, b in zip(t.__args__, n.type.__args__, strict=False)]
    return []


def _first_equal(count: int) -> Rule:
    return lambda n: _all_equal(n)[:count]


_kind: Any
for _kind in (tl_nn.BatchNorm2d, tl_nn.ReLU):
    register_refinement_rule(_kind)(_all_equal)
for _kind in (tl_nn.AdaptiveAvgPool2d, tl_nn.MaxPool2d):
    register_refinement_rule(_kind)(_first_equal(2))
for _kind in (tl_nn.Conv2d, tl_nn.Linear):
    register_refinement_rule(_kind)(_first_equal(1))


@register_refinement_rule(tl_core.add)
@register_refinement_rule(operator.add)
@register_refinement_rule(operator.iadd)
def _refine_add(n: Node) -> list[Equality]:
    first, second = n.args[:2]
    if not (isinstance(first, Node) and isinstance(second, Node) and isinstance(n.type, TensorType)):
        return []
    t1, t2 = first.type, second.type
    if not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        return []
    new1, new2 = broadcast_types(t1, t2)
    triples = zip(new1.__args__, new2.__args__, n.type.__args__, strict=False)
    return [Equality(a, c) for a, b, c in triples if a == b]


@register_refinement_rule(tl_core.flatten)
def _refine_flatten(n: Node) -> list[Equality]:
    source, start, end = _flatten_arguments(n)
    if not (isinstance(source.type, TensorType) and isinstance(n.type, TensorType)):
        return []
    before, after = source.type.__args__, n.type.__args__
    end = len(before) + end if end < 0 else end
    same = [Equality(a, b) for a, b in zip(before[:start], after[:start], strict=False)]
    return same + [Equality(a, b) for a, b in zip(before[end + 1 :], after[start + 1 :], strict=False)]


# ---- sizes as expressions


@register_algebraic_expressions_inference_rule(tl_nn.Conv2d)
def _conv_expression(n: Node, module: Any) -> None:
    source = n.args[0].type
    if isinstance(source, TensorType) and isinstance(n.type, TensorType):
        spatial = [calculate_out_dimension(source.__args__[2 + i], module, i) for i in range(2)]
        n.type = TensorType((source.__args__[0], module.out_channels, *spatial))


@register_algebraic_expressions_inference_rule(tl_core.flatten)
def _flatten_expression(n: Node) -> None:
    source, start, end = _flatten_arguments(n)
    if isinstance(source.type, TensorType) and isinstance(n.type, TensorType):
        n.type = flatten_check(source.type, start, end)


class Refine:
    """Names the unknown sizes of a graph and finds which are the same.

    Args:
        traced: the module, with types checked; the types of its nodes are changed.
    """

    def __init__(self, traced: GraphModule) -> None:
        self.constraints: list[Equality] = []
        self.traced = traced
        self.symbol_iter = itertools.count(0)

    def refine(self) -> bool:
        """Names the sizes and gathers constraints.

        Returns:
            True.
        """
        for node in self.traced.graph.nodes:
            self.refine_node(node)
        return True

    def symbolic_relations(self) -> bool:
        """Expresses sizes by names, as expressions of the package sympy.

        Returns:
            True.

        Raises:
            ModuleNotFoundError: sympy isn't installed.
        """
        for node in self.traced.graph.nodes:
            self.infer_symbolic_relations(node)
        return True

    def replace_dyn_with_fresh_var(self, typ: Any) -> Any:
        """A type with new names for sizes that aren't known.

        Args:
            typ: the type.

        Returns:
            The type.
        """
        if typ == Dyn:
            return Var(next(self.symbol_iter))
        if isinstance(typ, TensorType):
            return TensorType(tuple(self.replace_dyn_with_fresh_var(a) for a in typ.__args__))
        if isinstance(typ, (list, tuple)):
            return type(typ)(self.replace_dyn_with_fresh_var(a) for a in typ)
        return typ

    def convert_to_sympy_symbols(self, typ: Any) -> Any:
        """A type with symbols of sympy for names.

        Args:
            typ: the type.

        Returns:
            The type.
        """
        if isinstance(typ, Var):
            return import_module("sympy").symbols(str(typ))
        if isinstance(typ, TensorType):
            return TensorType(tuple(self.convert_to_sympy_symbols(a) for a in typ.__args__))
        if isinstance(typ, (list, tuple)):
            return type(typ)(self.convert_to_sympy_symbols(a) for a in typ)
        return typ

    def _rule_key(self, n: Node) -> tuple[Any, tuple[Any, ...]]:
        """The key of a node's rules, and the arguments of the rules."""
        if n.op == "call_module":
            module = self.traced.get_submodule(str(n.target))
            return type(module), (n, module)
        return (n.target if n.op == "call_function" else None), (n,)

    def refine_node(self, n: Node) -> Any:
        """Names the sizes of a node and adds its constraints.

        Args:
            n: the node.

        Returns:
            Its type.
        """
        if n.type is None:
            n.type = Dyn
        if n.op == "output":
            n.type = map_arg(n.args[0], lambda a: a.type)
            return n.type
        n.type = self.replace_dyn_with_fresh_var(n.type)
        key, _ = self._rule_key(n)
        if key in _REFINEMENT_RULES:
            self.constraints += _REFINEMENT_RULES[key](n)
        return n.type

    def infer_symbolic_relations(self, n: Node) -> Any:
        """Expresses the sizes of a node.

        Args:
            n: the node.

        Returns:
            Its type.
        """
        if n.op == "output":
            n.type = map_arg(n.args[0], lambda a: a.type)
            return n.type
        n.type = self.convert_to_sympy_symbols(n.type)
        key, arguments = self._rule_key(n)
        if key in _RULES:
            _RULES[key](*arguments)
        return n.type
