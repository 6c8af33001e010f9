"""Annotations in comments: `# type: (int, Tensor) -> Tensor` below the line of a definition."""

from __future__ import annotations

import ast

__all__ = ["parse_source"]


def parse_source(text: str) -> ast.Module:
    """Returns the tree of a text, whose functions have the annotations that their comments state.

    An annotation in the definition takes precedence over the comment.

    Args:
        text: the text.

    Raises:
        SyntaxError: the text is no Python, or a comment that states a signature is none.

    Example:
        >>> tree = parse_source("def f(x, n):\\n    # type: (Tensor, int) -> Tensor\\n    return x * n")
        >>> ast.unparse(tree.body[0].args)
        'x: Tensor, n: int'
    """
    if "# type:" not in text:
        return ast.parse(text)
    try:
        tree = ast.parse(text, type_comments=True)
    except SyntaxError:  # a comment that is none of a type, or one at a place without types
        return ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            _annotate(node)
    return tree


def _annotate(node: ast.FunctionDef) -> None:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    for argument in arguments:
        if argument.type_comment and argument.annotation is None:
            argument.annotation = _move(ast.parse(argument.type_comment, mode="eval").body, argument)
    if not node.type_comment or node.type_comment.strip().startswith("ignore"):
        return
    has_result = "->" in node.type_comment
    signature = ast.parse(f"{node.type_comment}{'' if has_result else ' -> None'}", mode="func_type")
    stated = signature.argtypes
    if node.returns is None and has_result:
        node.returns = _move(signature.returns, node)
    if len(stated) == 1 and isinstance(stated[0], ast.Constant) and stated[0].value is Ellipsis:
        return  # each argument has a comment of its own
    if len(stated) == len(arguments) - 1:  # a method, whose first argument has no type
        arguments = arguments[1:]
    if len(stated) != len(arguments):
        raise SyntaxError(
            f"the comment of {node.name} states {len(stated)} types for {len(arguments)} arguments"
        )
    for argument, annotation in zip(arguments, stated, strict=True):
        if argument.annotation is None:
            argument.annotation = _move(annotation, argument)


def _move(annotation: ast.expr, where: ast.AST) -> ast.expr:
    """An annotation at the place of the node that it belongs to, so that errors point there."""
    for node in ast.walk(annotation):
        ast.copy_location(node, where)
    return annotation
