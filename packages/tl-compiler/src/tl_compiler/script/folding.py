"""Batch normalization that becomes part of the convolution before it, in the functions of a frozen program.

With constant statistics, the normalization is a factor and a shift of each channel. Both go into the weight and the
bias of the convolution, and the call of the normalization goes.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tl_core import Tensor
from tl_nn.utils.fusion import fuse_conv_bn_weights

from .syntax import dotted_name

__all__ = ["fold_batch_norms"]

_CONVOLUTIONS = frozenset(f"torch.conv{word}{n}d" for word in ("", "_transpose") for n in (1, 2, 3))
Tree = ast.FunctionDef


@dataclass
class _Convolution:
    """A function that is a convolution of its argument.

    Args:
        call: the call that has the weight and the bias as constants.
        weight, bias: their positions among the arguments of the call.
        is_transposed: whether the weight has the channels of the output in its second dimension.
    """

    call: ast.Call
    weight: int
    bias: int
    is_transposed: bool


def fold_batch_norms(program: Any, trees: list[tuple[Tree, str]]) -> None:
    """Folds each batch normalization of constants into the convolution before it.

    Args:
        program: the `Program` that has the constants.
        trees: the definitions, which change, and the dotted name of each function, or "" for a method.
    """
    _Folder(program, trees).fold()


class _Folder:
    def __init__(self, program: Any, trees: list[tuple[Tree, str]]) -> None:
        self.program = program
        self.trees = [tree for tree, _ in trees]
        self.functions = {name: tree for tree, name in trees if name}
        self.calls: Counter[str] = Counter(
            name
            for tree in self.trees
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and (name := dotted_name(node.func)) in self.functions
        )

    def fold(self) -> None:
        for tree in self.trees:
            for body in _bodies(tree):
                self._fold_body(tree, body)

    def _fold_body(self, tree: Tree, body: list[ast.stmt]) -> None:
        for index, statement in enumerate(body):
            for node in list(ast.walk(statement)):
                norm = self._norm(node)
                if norm is None:
                    continue
                source = self._source(tree, body, index, norm.args[0])
                if source is not None and self._merge(self._target(source), self._norm_call(norm)):
                    _replace(statement, norm, norm.args[0])

    def _norm(self, node: ast.AST) -> ast.Call | None:
        """A call of a function that is a batch normalization, and of no other place."""
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            return None
        name = dotted_name(node.func)
        return node if self.calls[name or ""] == 1 and self._norm_call(node) is not None else None

    def _norm_call(self, node: ast.Call) -> ast.Call | None:
        tree = self.functions[dotted_name(node.func) or ""]
        call = _result(tree)
        is_norm = call is not None and dotted_name(call.func) == "torch.batch_norm" and len(call.args) == 9
        return call if is_norm and call is not None and _reads(call.args[0], tree) else None

    def _source(self, tree: Tree, body: list[ast.stmt], index: int, value: ast.expr) -> ast.Call | None:
        """The call whose result a normalization takes, if it alone takes it."""
        if isinstance(value, ast.Call):
            return value
        if not isinstance(value, ast.Name):
            return None
        loads = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == value.id]
        own, previous = body[index], body[index - 1] if index else None
        if not isinstance(previous, ast.Assign) or not isinstance(previous.value, ast.Call):
            return None
        if [dotted_name(t) for t in previous.targets] != [value.id]:
            return None
        in_statement = [n for n in ast.walk(own) if isinstance(n, ast.Name) and n.id == value.id]
        is_stored = isinstance(own, ast.Assign) and [dotted_name(t) for t in own.targets] == [value.id]
        reads = [n for n in loads if isinstance(n.ctx, ast.Load)]
        once = len([n for n in in_statement if isinstance(n.ctx, ast.Load)]) == 1
        return previous.value if once and (is_stored or len(reads) == 1) else None

    def _target(self, node: ast.Call) -> _Convolution | None:
        """The convolution that a call is, if its function has no other call."""
        name = dotted_name(node.func) or ""
        tree = self.functions.get(name)
        if tree is None or self.calls[name] != 1 or not node.args or node.keywords:
            return None
        call = _result(tree)
        if call is None or not call.args or not _reads(call.args[0], tree) or call.keywords:
            return None
        operator = dotted_name(call.func) or ""
        inner = self.functions.get(operator)
        if inner is None:
            return _convolution(call, operator, call, {})
        own = _result(inner)
        names = {argument.arg: index for index, argument in enumerate(inner.args.args)}
        if own is None or self.calls[operator] != 1 or own.keywords or len(call.args) != len(names):
            return None
        if not own.args or not _reads(own.args[0], inner):
            return None
        return _convolution(own, dotted_name(own.func) or "", call, names)

    def _merge(self, target: _Convolution | None, norm: ast.Call | None) -> bool:
        """Puts a normalization into a convolution, and returns whether that can be done."""
        if target is None or norm is None:
            return False
        weight, bias = (self._constant(target.call.args, at) for at in (target.weight, target.bias))
        factor, shift, mean, variance = (self._constant(norm.args, at) for at in (1, 2, 3, 4))
        flags = (a.value if isinstance(a, ast.Constant) else None for a in (norm.args[5], norm.args[7]))
        training, eps = flags
        tensors = [t for t in (weight, bias, factor, shift, mean, variance) if t is not None]
        if weight is None or mean is None or variance is None or training is not False:
            return False
        if not isinstance(eps, (int, float)):
            return False
        if any(t.dtype != weight.dtype for t in tensors) or not weight.is_floating_point():
            return False
        if mean.numel() != weight.shape[1 if target.is_transposed else 0]:
            return False
        results = fuse_conv_bn_weights(
            weight, bias, mean, variance, float(eps), factor, shift, target.is_transposed
        )
        arguments = target.call.args
        arguments += [ast.Constant(None)] * (target.bias + 1 - len(arguments))
        for at, tensor in zip((target.weight, target.bias), results, strict=True):
            name = self.program.constant_name(tensor.detach())
            arguments[at] = ast.copy_location(ast.parse(name, mode="eval").body, arguments[0])
        return True

    def _constant(self, arguments: list[ast.expr], at: int) -> Tensor | None:
        """The constant at a position, or None for none; other code is no constant and ends the merge."""
        if at >= len(arguments):
            return None
        name = dotted_name(arguments[at]) or ""
        if not name.startswith("CONSTANTS.c"):
            return None
        value = self.program.constants[int(name.removeprefix("CONSTANTS.c"))]
        return value if isinstance(value, Tensor) else None


def _convolution(
    call: ast.Call, operator: str, outer: ast.Call, names: dict[str, int]
) -> _Convolution | None:
    """The convolution of a call, whose weight and bias are arguments of it or of the call around it."""
    if operator not in _CONVOLUTIONS:
        return None
    positions = []
    for at in (1, 2):
        argument = call.args[at] if at < len(call.args) else None
        if not names:
            positions.append(at)
        elif isinstance(argument, ast.Name) and argument.id in names:
            positions.append(names[argument.id])
        else:
            return None
    is_transposed = "transpose" in operator
    if is_transposed and not _has_one_group(call):
        return None
    bias = outer.args[positions[1]] if positions[1] < len(outer.args) else None
    if bias is not None and not _is_none(bias) and not (dotted_name(bias) or "").startswith("CONSTANTS."):
        return None
    return _Convolution(outer, positions[0], positions[1], is_transposed)


def _has_one_group(call: ast.Call) -> bool:
    groups = call.args[6] if len(call.args) > 6 else ast.Constant(1)
    return isinstance(groups, ast.Constant) and groups.value == 1


def _is_none(node: ast.expr) -> bool:
    if (
        isinstance(node, ast.Call)
        and dotted_name(node.func) in ("annotate", "unchecked_cast")
        and len(node.args) == 2
    ):
        return _is_none(node.args[1])
    return isinstance(node, ast.Constant) and node.value is None


def _reads(node: ast.expr, tree: Tree) -> bool:
    """Whether an expression is the first argument of a function, which nothing assigns."""
    name = tree.args.args[0].arg if tree.args.args else ""
    stores = [
        n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    return isinstance(node, ast.Name) and node.id == name and not stores


def _result(tree: Tree) -> ast.Call | None:
    """The call whose result a function returns after checks and plain assignments, or None for another function."""
    *first, last = tree.body
    if not isinstance(last, ast.Return):
        return None
    if not all(map(_is_plain, first)):
        return None
    if isinstance(last.value, ast.Call):
        return last.value
    assigns = [s for s in first if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call)]
    previous = assigns[-1] if assigns else None
    if previous is None or not isinstance(last.value, ast.Name):
        return None
    names = [dotted_name(t) for t in previous.targets]
    return previous.value if names == [last.value.id] and isinstance(previous.value, ast.Call) else None


def _is_plain(statement: ast.stmt) -> bool:
    """Whether a statement is an assignment or a check, or branches of assignments."""
    if not isinstance(statement, ast.If):
        return isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Pass))
    is_check = _raises(statement.body) and all(isinstance(s, ast.Pass) for s in statement.orelse)
    return is_check or all(map(_is_plain, statement.body + statement.orelse))


def _raises(body: list[ast.stmt]) -> bool:
    call = body[0].value if body and isinstance(body[0], ast.Expr) else None
    return isinstance(call, ast.Call) and dotted_name(call.func) == "ops.prim.RaiseException"


def _bodies(tree: Tree) -> list[list[ast.stmt]]:
    """The lists of statements in a function."""
    return [
        value
        for node in ast.walk(tree)
        for field in ("body", "orelse")
        if isinstance(value := getattr(node, field, None), list)
    ]


def _replace(statement: ast.stmt, old: ast.expr, new: ast.expr) -> None:
    for node in ast.walk(statement):
        for field, value in ast.iter_fields(node):
            if value is old:
                setattr(node, field, new)
            elif isinstance(value, list):
                value[:] = [new if item is old else item for item in value]
