"""The formulas of output sizes in docstrings as functions."""

import inspect
import re
from collections.abc import Callable
from fractions import Fraction
from math import floor
from typing import Any

SYMBOLS = (
    (r"\left\lfloor", "floor("),
    (r"\right\rfloor", ")"),
    (r"\lfloor", "floor("),
    (r"\rfloor", ")"),
    (r"\cdot", "*"),
    (r"\_", "_"),
    (r"\left(", "("),
    (r"\right)", ")"),
    (r"\qquad", ";"),
)


def expression(latex: str) -> str:
    r"""A formula in LaTeX as an expression of Python.

    Example:
        >>> expression(r"\left\lfloor \frac{S + 2 \cdot \mathrm{padding}}{\mathrm{stride}} \right\rfloor + 1")
        'floor( (Fraction(S + 2 * padding) / (stride)) ) + 1'
    """
    text = latex.replace(r"_{\mathrm{out}}", "_out").replace("_d", "")
    text = re.sub(r"\\mathrm\{([^{}]*)\}", r"\1", text)
    for symbol, meaning in SYMBOLS:
        text = text.replace(symbol, meaning)
    while "\\frac{" in text:
        before, _, rest = text.partition("\\frac")
        above, rest = group(rest)
        below, rest = group(rest.lstrip())
        text = f"{before}(Fraction({above}) / ({below})){rest}"
    return " ".join(text.split())


def group(text: str) -> tuple[str, str]:
    """The text inside the braces at the beginning, and the text behind them."""
    depth = 0
    for index, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            return text[1:index], text[index + 1 :]
    raise ValueError(f"no closing brace: {text}")


def shape_section(kind: type) -> str:
    """The section `Shape:` of the docstring of a class."""
    doc = inspect.cleandoc(kind.__doc__ or "")
    return re.split(r"^\w[\w ]*:\n", doc.partition("\nShape:\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def size_formulas(kind: type) -> dict[str, Callable[..., Any]]:
    """The functions of the formulas `name = expression` of the shapes of a class, by name.

    Args:
        kind: the class, whose docstring has the formulas.
    """
    result: dict[str, Callable[..., Any]] = {}
    for block in re.findall(
        r"\.\. math::\n\n((?:    .*\n?)+)", shape_section(kind).replace("\n        ", "\n    ")
    ):
        for equation in expression(block).split(";"):
            name, _, value = equation.partition("=")
            code = compile(value.replace("\\prod_{d}", "").strip(), kind.__name__, "eval")
            result[name.strip()] = lambda code=code, **sizes: int(
                eval(code, {"floor": floor, "Fraction": Fraction, **sizes})
            )
    return result
