"""What a graph asks of the types of its values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import tl_core
import tl_nn
from tl_compiler.fx.graph import Graph
from tl_compiler.fx.graph_module import GraphModule
from tl_compiler.fx.node import Node
from tl_compiler.fx.tensor_type import Dyn, TensorType
from tl_core.base.rule_table import RuleTable
from tl_nn import functional

from ..rules import rule_decorator
from .constraint import (
    ApplyBroadcasting,
    BinConstraintD,
    BinConstraintT,
    CalcConv,
    CalcMaxPool,
    CalcProduct,
    CanReshape,
    Conj,
    Disj,
    TGreatestUpperBound,
    Transpose,
    TVar,
)
from .operation import op_consistency, op_eq, op_leq, op_matching, op_precision
from .util import gen_nat_constraints, gen_tensor_dims, gen_tvar

__all__ = ["MAX_TENSOR_RANK", "ConstraintGenerator", "register_inference_rule"]

MAX_TENSOR_RANK = 4
Rule = Callable[..., tuple[list[Any], int]]
_INFERENCE_RULES: RuleTable[Rule] = RuleTable("gradual types: constraints")


def register_inference_rule(call_target: Any) -> Callable[[Rule], Rule]:
    """Makes a decorator that registers what a call asks of types.

    Args:
        call_target: a function, the name of a method, or a class of modules. The rule takes the node, for modules the
            module, the variables of nodes, the constraints so far and the last number of a variable; it returns new
            constraints and the last number.

    Returns:
        The decorator.
    """

    return rule_decorator(_INFERENCE_RULES, call_target)


def _output(n: Node, symbols: dict[Node, Any], counter: int) -> tuple[TVar, int]:
    variable, counter = gen_tvar(counter)
    symbols[n] = variable
    return variable, counter


def _same_type(n: Node, *rest: Any) -> tuple[list[Any], int]:
    """The result has the type of the first argument."""
    symbols, _, counter = rest[-3:]
    output, counter = _output(n, symbols, counter)
    return [BinConstraintT(symbols[n.args[0]], output, op_eq)], counter


_target: Any
for _target in (tl_nn.ReLU, tl_nn.Dropout, tl_nn.GELU, tl_nn.Sigmoid, tl_nn.Tanh, tl_nn.Identity):
    register_inference_rule(_target)(_same_type)
for _target in (
    tl_core.relu,
    functional.relu,
    functional.gelu,
    functional.dropout,
    tl_core.sigmoid,
    tl_core.tanh,
):
    if _target not in _INFERENCE_RULES:
        register_inference_rule(_target)(_same_type)
for _target in ("contiguous", "relu", "sigmoid", "tanh", "float"):
    register_inference_rule(_target)(_same_type)


def _broadcast(
    n: Node, symbols: dict[Node, Any], constraints: list[Any], counter: int
) -> tuple[list[Any], int]:
    output, counter = _output(n, symbols, counter)
    first, second = n.args[:2]
    nodes = [a for a in (first, second) if isinstance(a, Node)]
    if len(nodes) == 1:
        return [BinConstraintT(symbols[nodes[0]], output, op_eq)], counter
    sources = [symbols[a] for a in nodes]
    new1, counter = gen_tvar(counter)
    new2, counter = gen_tvar(counter)
    return [
        TGreatestUpperBound(output, new1, new2),
        ApplyBroadcasting(new1, new2, *sources),
        BinConstraintT(new1, new2, op_consistency),
    ], counter


for _target in (operator.add, operator.iadd, operator.sub, operator.mul, operator.truediv):
    register_inference_rule(_target)(_broadcast)
for _target in (tl_core.add, tl_core.sub, tl_core.mul, tl_core.div):
    register_inference_rule(_target)(_broadcast)


def _ranks_above(
    variable: TVar, least: int, build: Callable[[list[Any]], Any], counter: int
) -> tuple[Any, int]:
    """A variable is `Dyn`, or of some rank; then what `build` says of its sizes holds."""
    cases: list[Any] = [BinConstraintT(variable, Dyn, op_eq)]
    for rank in range(least, MAX_TENSOR_RANK + 1):
        dims, counter = gen_tensor_dims(rank, counter)
        cases.append(
            Conj(
                [BinConstraintT(variable, TensorType(dims), op_eq), *build(dims), *gen_nat_constraints(dims)]
            )
        )
    return Disj(cases), counter


@register_inference_rule(tl_nn.Linear)
def _linear(
    n: Node, module: Any, symbols: dict[Node, Any], constraints: list[Any], counter: int
) -> tuple[list[Any], int]:
    return _last_size(n, module.in_features, module.out_features, symbols, counter)


def _last_size(
    n: Node, before: Any, after: Any, symbols: dict[Node, Any], counter: int
) -> tuple[list[Any], int]:
    """The last size is one number before and another one after; the others stay."""
    output, counter = _output(n, symbols, counter)
    source = symbols[n.args[0]]

    def build(dims: list[Any]) -> list[Any]:
        return [
            BinConstraintD(dims[-1], before, op_consistency),
            BinConstraintT(output, TensorType([*dims[:-1], after]), op_eq),
        ]

    cases, counter = _ranks_above(source, 1, build, counter)
    cases.disjuncts[0] = Conj([cases.disjuncts[0], BinConstraintT(output, Dyn, op_eq)])
    return [cases], counter


@register_inference_rule(tl_nn.LayerNorm)
def _layer_norm(
    n: Node, module: Any, symbols: dict[Node, Any], constraints: list[Any], counter: int
) -> tuple[list[Any], int]:
    size = module.normalized_shape[-1]
    return _last_size(n, size, size, symbols, counter)


@register_inference_rule(tl_nn.Embedding)
def _embedding(
    n: Node, module: Any, symbols: dict[Node, Any], constraints: list[Any], counter: int
) -> tuple[list[Any], int]:
    output, counter = _output(n, symbols, counter)
    cases: list[Any] = [
        Conj([BinConstraintT(symbols[n.args[0]], Dyn, op_eq), BinConstraintT(output, Dyn, op_eq)])
    ]
    for rank in range(MAX_TENSOR_RANK):
        dims, counter = gen_tensor_dims(rank, counter)
        same = BinConstraintT(symbols[n.args[0]], TensorType(dims), op_eq)
        output_type = BinConstraintT(output, TensorType([*dims, module.embedding_dim]), op_eq)
        cases.append(Conj([same, output_type, *gen_nat_constraints(dims)]))
    return [Disj(cases)], counter


@register_inference_rule(tl_nn.BatchNorm2d)
def _batch_norm(
    n: Node, module: Any, symbols: dict[Node, Any], constraints: list[Any], counter: int
) -> tuple[list[Any], int]:
    output, counter = _output(n, symbols, counter)
    source = symbols[n.args[0]]
    dims, counter = gen_tensor_dims(4, counter)
    return [
        BinConstraintT(source, TensorType(dims), op_matching),
        BinConstraintD(module.num_features, dims[1], op_consistency),
        BinConstraintT(source, output, op_eq),
        *gen_nat_constraints(dims),
    ], counter


@register_inference_rule(tl_nn.Conv2d)
def _conv(
    n: Node, module: Any, symbols: dict[Node, Any], constraints: list[Any], counter: int
) -> tuple[list[Any], int]:
    output, counter = _output(n, symbols, counter)
    source = symbols[n.args[0]]
    dims, counter = gen_tensor_dims(4, counter)
    shape = (module.kernel_size, module.padding, module.stride, module.dilation)
    return [
        BinConstraintT(source, TensorType(dims), op_matching),
        BinConstraintD(module.in_channels, dims[1], op_consistency),
        CalcConv(output, source, module.out_channels, *shape, dims),
        *gen_nat_constraints(dims),
    ], counter


@register_inference_rule(tl_nn.MaxPool2d)
def _pool(
    n: Node, module: Any, symbols: dict[Node, Any], constraints: list[Any], counter: int
) -> tuple[list[Any], int]:
    output, counter = _output(n, symbols, counter)
    source = symbols[n.args[0]]
    dims, counter = gen_tensor_dims(4, counter)
    shape = (module.kernel_size, module.padding, module.stride, module.dilation)
    return [
        BinConstraintT(source, TensorType(dims), op_matching),
        CalcMaxPool(output, source, *shape, dims),
        *gen_nat_constraints(dims),
    ], counter


@register_inference_rule(tl_nn.AdaptiveAvgPool2d)
def _adaptive(
    n: Node, module: Any, symbols: dict[Node, Any], constraints: list[Any], counter: int
) -> tuple[list[Any], int]:
    output, counter = _output(n, symbols, counter)
    dims, counter = gen_tensor_dims(4, counter)
    size = module.output_size
    height, width = (size, size) if isinstance(size, int) else size
    sizes = [*dims[:2], dims[2] if height is None else height, dims[3] if width is None else width]
    return [
        BinConstraintT(symbols[n.args[0]], TensorType(dims), op_matching),
        BinConstraintT(output, TensorType(sizes), op_eq),
        *gen_nat_constraints(dims),
    ], counter


@register_inference_rule(tl_core.flatten)
def _flatten(
    n: Node, symbols: dict[Node, Any], constraints: list[Any], counter: int
) -> tuple[list[Any], int]:
    arguments = dict(zip(("input", "start_dim", "end_dim"), n.args, strict=False)) | n.kwargs
    start, end = arguments.get("start_dim", 0), arguments.get("end_dim", -1)
    output, counter = _output(n, symbols, counter)
    source = symbols[arguments["input"]]
    cases: list[Any] = [Conj([BinConstraintT(source, Dyn, op_eq), BinConstraintT(output, Dyn, op_eq)])]
    for rank in range(1, MAX_TENSOR_RANK + 1):
        first, last = (rank + d if d < 0 else d for d in (start, end))
        if not 0 <= first <= last < rank:
            continue
        dims, counter = gen_tensor_dims(rank, counter)
        same = BinConstraintT(source, TensorType(dims), op_eq)
        cases.append(Conj([same, CalcProduct(first, last + 1, output, dims), *gen_nat_constraints(dims)]))
    return [Disj(cases)], counter


@register_inference_rule(tl_core.reshape)
@register_inference_rule("reshape")
@register_inference_rule("view")
def _reshape(
    n: Node, symbols: dict[Node, Any], constraints: list[Any], counter: int
) -> tuple[list[Any], int]:
    output, counter = _output(n, symbols, counter)
    source, *sizes = n.args
    shape = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
    target = TensorType([size if isinstance(size, int) and size != -1 else Dyn for size in shape])
    return [BinConstraintT(output, target, op_eq), CanReshape(symbols[source], target)], counter


@register_inference_rule(tl_core.transpose)
@register_inference_rule("transpose")
def _transpose(
    n: Node, symbols: dict[Node, Any], constraints: list[Any], counter: int
) -> tuple[list[Any], int]:
    output, counter = _output(n, symbols, counter)
    source, one, other = n.args
    cases: list[Any] = [
        Conj([BinConstraintT(symbols[source], Dyn, op_eq), BinConstraintT(output, Dyn, op_eq)])
    ]
    for rank in range(1, MAX_TENSOR_RANK + 1):
        first, second = (rank + d if d < 0 else d for d in (one, other))
        if max(first, second) < rank and min(first, second) >= 0:
            cases.append(Transpose(rank, symbols[source], first, second, output))
    return [Disj(cases)], counter


class ConstraintGenerator:
    """Gathers the constraints of a graph.

    Args:
        traced: the module; annotations of placeholders count.
        graph: its graph, where it is another one.
    """

    def __init__(self, traced: GraphModule, graph: Graph | None = None) -> None:
        self.traced = traced
        self.traced_params = dict(traced.named_parameters())
        self.constraints: list[Any] = []
        self.symbol_dict: dict[Node, Any] = {}
        self.graph = traced.graph if graph is None else graph

    def generate_constraints(self, counter: int = 0) -> tuple[Conj, int]:
        """Goes through the graph.

        Args:
            counter: the last number of a variable.

        Returns:
            All constraints, and the last number.

        Raises:
            RuntimeError: there is no rule for what a node calls.
        """
        constraints: list[Any] = []
        for node in self.graph.nodes:
            new, counter = self.generate_constraints_node(node, counter)
            constraints += new
        self.constraints = constraints
        return Conj(constraints), counter

    def generate_constraints_node(self, n: Node, counter: int) -> tuple[list[Any], int]:
        """Goes through one node.

        Args:
            n: the node.
            counter: the last number of a variable.

        Returns:
            Its constraints, and the last number.
        """
        if n.op == "output":
            return [], counter
        if n.op == "placeholder":
            variable, counter = _output(n, self.symbol_dict, counter)
            kind = n.type if isinstance(n.type, TensorType) else Dyn
            bounded = BinConstraintT(variable, MAX_TENSOR_RANK, op_leq)
            return [BinConstraintT(kind, variable, op_precision), bounded], counter
        if n.op == "get_attr":
            variable, counter = _output(n, self.symbol_dict, counter)
            value: Any = self.traced
            for part in str(n.target).split("."):
                value = getattr(value, part)
            shape = TensorType(list(value.shape)) if isinstance(value, tl_core.Tensor) else Dyn
            return [BinConstraintT(variable, shape, op_eq)], counter
        if n.op == "call_module":
            module = self.traced.get_submodule(str(n.target))
            rule = _INFERENCE_RULES.get(type(module))
            if rule is not None:
                return rule(n, module, self.symbol_dict, self.constraints, counter)
            raise RuntimeError(f"No inference rule registered for class {type(module)}!")
        rule = _INFERENCE_RULES.get(n.target)
        if rule is None:
            raise RuntimeError(f"No inference rule registered for target {n.target}!")
        return rule(n, self.symbol_dict, self.constraints, counter)
