"""The tree of an archive's code as text that PyTorch's reader and tl's accept.

>>> import ast
>>> text = "def f(x: Tensor, n: int=2) -> Tensor:\\n    return torch.mul(x, n)"
>>> print(definition_text(ast.parse(text).body[0]), end="")
def f(x: Tensor,
    n: int=2) -> Tensor:
  return torch.mul(x, n)
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

__all__ = ["constant_text", "definition_text", "expression_text", "text_literal"]

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def text_literal(value: str) -> str:
    """Returns a text as a literal. Characters that can't be printed become octal numbers.

    Example:
        >>> print(text_literal('say "a"'))
        "say \\"a\\""
    """
    return (
        '"'
        + "".join(_ESCAPES.get(c, c if c >= " " and c != "\x7f" else f"\\{ord(c):03o}") for c in value)
        + '"'
    )


def constant_text(value: Any) -> str:
    """Returns a constant as code.

    Example:
        >>> constant_text(1.0), constant_text(float("inf")), constant_text(None)
        ('1.', 'inf', 'None')
    """
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        text = repr(value)
        return text.removesuffix("0") if text.endswith(".0") else text
    if isinstance(value, str):
        return text_literal(value)
    if isinstance(value, complex):
        return (
            f"torch.complex({constant_text(value.real)}, {constant_text(value.imag)})"
            if value.real
            else repr(value)
        )
    if isinstance(value, list):
        return f"[{', '.join(map(constant_text, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(constant_text, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def expression_text(node: ast.AST | None) -> str:
    """Returns the code of an expression."""
    match node:
        case None:
            return ""
        case ast.Constant(value=value):
            return "..." if value is ... else constant_text(value)
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            inner = expression_text(value)
            return f"({inner}).{name}" if isinstance(value, (ast.Call, ast.Subscript)) else f"{inner}.{name}"
        case ast.Call(func=function, args=arguments, keywords=keywords):
            lookup = [f"{k.arg}={expression_text(k.value)}" for k in keywords]
            return f"{expression_text(function)}({', '.join([*map(expression_text, arguments), *lookup])})"
        case ast.Subscript(value=value, slice=key):
            items = key.elts if isinstance(key, ast.Tuple) else [key]
            return f"{expression_text(value)}[{', '.join(map(expression_text, items))}]"
        case ast.Slice(lower=lower, upper=upper, step=step):
            return f"{expression_text(lower)}:{expression_text(upper)}" + (
                f":{expression_text(step)}" if step else ""
            )
        case ast.List(elts=items):
            return f"[{', '.join(map(expression_text, items))}]"
        case ast.Tuple(elts=items):
            return f"({', '.join(map(expression_text, items))}{',' if len(items) == 1 else ''})"
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return "{" + ", ".join(f"{expression_text(k)}: {expression_text(v)}" for k, v in pairs) + "}"
        case ast.UnaryOp(op=op, operand=operand):
            return ("not " if isinstance(op, ast.Not) else "-") + expression_text(operand)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return f"({expression_text(body)} if {expression_text(test)} else {expression_text(orelse)})"
    raise TypeError(f"an archive's code has no {type(node).__name__}")


def _target(node: ast.expr) -> str:
    if isinstance(node, ast.Tuple):
        return "".join(f"{_target(item)}, " for item in node.elts)
    return expression_text(node)


def _lines(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Assign(targets=[target], value=value):
            yield f"{_target(target)} = {expression_text(value)}"
        case ast.AnnAssign(target=target, annotation=annotation, value=value):
            end = "" if value is None else f" = {expression_text(value)}"
            yield f"{expression_text(target)} : {expression_text(annotation)}{end}"
        case ast.Return(value=value):
            yield f"return {expression_text(value)}".rstrip()
        case ast.Expr(value=value):
            yield expression_text(value)
        case ast.If(test=test, body=body, orelse=orelse):
            yield f"if {expression_text(test)}:"
            yield from _block(body)
            if orelse:
                yield "else:"
                yield from _block(orelse)
        case ast.While(test=test, body=body):
            yield f"while {expression_text(test)}:"
            yield from _block(body)
        case ast.For(target=target, iter=values, body=body):
            yield f"for {expression_text(target)} in {expression_text(values)}:"
            yield from _block(body)
        case ast.With(items=[item], body=body):
            name = "" if item.optional_vars is None else f" as {expression_text(item.optional_vars)}"
            yield f"with {expression_text(item.context_expr)}{name}:"
            yield from _block(body)
        case ast.FunctionDef():
            yield from _function(node)
        case ast.Pass():
            yield "pass"
        case ast.Break():
            yield "break"
        case ast.Continue():
            yield "continue"
        case _:
            raise TypeError(f"an archive's code has no {type(node).__name__}")


def _block(body: list[ast.stmt]) -> Iterator[str]:
    for statement in body:
        yield from (f"  {line}" for line in _lines(statement))


def _function(node: ast.FunctionDef) -> Iterator[str]:
    arguments, defaults = node.args.args, node.args.defaults
    texts = []
    for index, argument in enumerate(arguments):
        text = (
            argument.arg
            if argument.annotation is None
            else f"{argument.arg}: {expression_text(argument.annotation)}"
        )
        at = index - (len(arguments) - len(defaults))
        texts.append(text if at < 0 else f"{text}={expression_text(defaults[at])}")
    result = "" if node.returns is None else f" -> {expression_text(node.returns)}"
    yield from f"def {node.name}({(',' + chr(10) + '    ').join(texts)}){result}:".split("\n")
    yield from _block(node.body)


def definition_text(node: ast.ClassDef | ast.FunctionDef) -> str:
    """Returns the code of a class or function.

    Args:
        node: the tree.

    Raises:
        TypeError: the tree has a node that no archive has.
    """
    if isinstance(node, ast.FunctionDef):
        return "".join(f"{line}\n" for line in _function(node))
    bases = f"({', '.join(map(expression_text, node.bases))})" if node.bases else ""
    lines = [f"class {node.name}{bases}:", *_block(node.body)]
    return "".join(f"{line}\n" for line in lines)
