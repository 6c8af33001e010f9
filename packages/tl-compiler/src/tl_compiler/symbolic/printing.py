"""Expressions as text: as people read them, and as `.pt2` files hold them."""

from __future__ import annotations

import re
from typing import Any

from .expression import Boolean, Call, Expr, Float, Integer, Logic, Product, Relation, Sum, Symbol

__all__ = ["source_text", "stored_text", "text"]


def _natural(name: str) -> tuple[Any, ...]:
    """The key that orders names by their numbers: digits come before other characters."""
    return tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in re.split(r"(\d+)", name) if p)


def _degrees(term: Expr) -> list[tuple[str, int]]:
    """The powers of symbols in a term, by name."""
    if isinstance(term, Product):
        return sorted((str(b), n) for b, n in term.factors)
    return [(str(term), 1)]


def _print_key(terms: list[Expr]) -> Any:
    """Orders terms as polynomials are written: by the powers of the first symbol, then the next, falling."""
    names = sorted({name for t in terms for name, _ in _degrees(t)})

    def key(item: tuple[Expr, Any]) -> Any:
        powers = dict(_degrees(item[0]))
        return [-powers.get(name, 0) for name in names]

    return key


def _print_order(e: Sum) -> list[tuple[Expr, Any]]:
    return sorted(e.terms, key=_print_key([t for t, _ in e.terms]))


def _inner(e: Expr) -> str:
    """Within a sum, product, power or comparison: quotients get parentheses of their own."""
    inner = text(e)
    return f"({inner})" if isinstance(e, Call) and e.name == "FloorDiv" else inner


def _factor(e: Expr, always: bool = False) -> str:
    inner = _inner(e)
    return (
        f"({inner})"
        if isinstance(e, (Sum, Relation, Logic)) or (always and isinstance(e, Product))
        else inner
    )


def _term(term: Expr, coefficient: Any) -> str:
    body = _factor(term)
    if coefficient == 1 and isinstance(coefficient, int):
        return body
    if coefficient == -1 and isinstance(coefficient, int):
        return f"-{body}"
    return f"{coefficient}*{body}"


def _sum_text(e: Sum) -> str:
    pieces = [_term(t, c) for t, c in _print_order(e)]
    if e.constant != 0:
        pieces.append(str(e.constant))
    result = pieces[0]
    for piece in pieces[1:]:
        result += f" - {piece[1:]}" if piece.startswith("-") else f" + {piece}"
    return result


def text(e: Expr) -> str:
    """The expression as people read it.

    Args:
        e: the expression.

    Returns:
        The text: `2*s0 + 1`, `(s0//2)`, `Eq(s0, 4)`.
    """
    if isinstance(e, (Integer, Float, Boolean)):
        return str(e._key[0])
    if isinstance(e, Symbol):
        return e.name
    if isinstance(e, Sum):
        return _sum_text(e)
    if isinstance(e, Product):
        factors = sorted(e.factors, key=lambda f: (isinstance(f[0], Sum), _natural(str(f[0]))))
        return "*".join(f"{_factor(b, True)}**{n}" if n > 1 else _factor(b) for b, n in factors)
    if isinstance(e, Relation):
        if e.rel_op in ("==", "!="):
            return f"{'Eq' if e.rel_op == '==' else 'Ne'}({text(e.lhs)}, {text(e.rhs)})"
        return f"{_inner(e.lhs)} {e.rel_op} {_inner(e.rhs)}"
    if isinstance(e, Logic):
        if e.op == "not":
            return f"~({text(e.args[0])})"
        sign = " & " if e.op == "and" else " | "
        return sign.join(_factor(a) if text(a)[:2] not in ("Eq", "Ne") else text(a) for a in e.args)
    if isinstance(e, Call):
        return _call_text(e)
    raise TypeError(f"no text for {type(e).__name__}")


def _call_text(e: Call) -> str:
    if e.name == "FloorDiv":
        a, b = (text(x) if isinstance(x, (Symbol, Integer)) else f"({text(x)})" for x in e.args)
        return f"({a}//{b})"
    if e.name == "Piecewise":
        return f"Piecewise(({text(e.args[0])}, {text(e.args[1])}), ({text(e.args[2])}, True))"
    return f"{e.name}({', '.join(map(text, e.args))})"


Expr.shown = text  # type: ignore[assignment,method-assign]


def source_text(e: Expr, names: Any = None) -> str:
    """The expression as Python code.

    Args:
        e: the expression.
        names: from a symbol to the code that reads it; by default its name.

    Returns:
        The code.
    """

    def go(x: Expr) -> str:
        if isinstance(x, Symbol):
            return str(names(x)) if names else x.name
        if isinstance(x, Sum):
            result = " + ".join(go(t) if c == 1 else f"{c}*{wrap(t)}" for t, c in _print_order(x))
            return result + (f" + {x.constant}" if x.constant else "")
        if isinstance(x, Product):
            return "*".join(wrap(b) if n == 1 else f"{wrap(b)}**{n}" for b, n in x.factors)
        if isinstance(x, Relation):
            sides = [f"({go(a)})" if isinstance(a, (Relation, Logic)) else go(a) for a in x.args]
            return f"{sides[0]} {x.rel_op} {sides[1]}"
        if isinstance(x, Logic):
            if x.op == "not":
                return f"not ({go(x.args[0])})"
            return f" {x.op} ".join(f"({go(a)})" for a in x.args)
        if isinstance(x, Call):
            return _code_of_call(x, [go(a) for a in x.args], [wrap(a) for a in x.args])
        return str(x._key[0])

    def wrap(x: Expr) -> str:
        code = go(x)
        is_closed = isinstance(x, (Symbol, Boolean)) or (isinstance(x, Call) and x.name in _LOOSE)
        return code if is_closed or (isinstance(x, (Integer, Float)) and x.value >= 0) else f"({code})"

    return go(e)


_INFIX = {
    "FloorDiv": "//",
    "CleanDiv": "//",
    "Mod": "%",
    "PythonMod": "%",
    "IntTrueDiv": "/",
    "FloatTrueDiv": "/",
    "PowByNatural": "**",
    "FloatPow": "**",
    "BitwiseFn_bitwise_and": "&",
    "BitwiseFn_bitwise_or": "|",
    "BitwiseFn_bitwise_xor": "^",
}
_FUNCTION = {
    "Max": "max",
    "Min": "min",
    "Abs": "abs",
    "ToFloat": "float",
    "TruncToInt": "math.trunc",
    "FloorToInt": "math.floor",
    "CeilToInt": "math.ceil",
    "RoundToInt": "round",
    "RoundDecimal": "round",
}


# Calls whose code has parentheses of its own, because it binds less than a sum or a comparison.
_LOOSE = frozenset({"BitwiseFn_bitwise_and", "BitwiseFn_bitwise_or", "BitwiseFn_bitwise_xor", "Piecewise"})


def _code_of_call(e: Call, plain: list[str], wrapped: list[str]) -> str:
    if e.name in _INFIX:
        code = f"{wrapped[0]} {_INFIX[e.name]} {wrapped[1]}"
        return f"({code})" if e.name in _LOOSE else code
    if e.name == "Piecewise":
        return f"({wrapped[0]} if {wrapped[1]} else {wrapped[2]})"
    name = _FUNCTION.get(e.name) or f"math.{e.name.removeprefix('OpaqueUnaryFn_')}"
    return f"{name}({', '.join(plain)})"


_CLASSES = {
    "==": "Equality",
    "!=": "Unequality",
    "<": "StrictLessThan",
    "<=": "LessThan",
    ">": "StrictGreaterThan",
    ">=": "GreaterThan",
}


def stored_text(e: Expr) -> str:
    """The expression as `.pt2` files hold it: the constructors that make it.

    Args:
        e: the expression.

    Returns:
        The text, such as `Mul(Integer(2), Symbol('s0', positive=True, integer=True))`.
    """
    if isinstance(e, Integer):
        return f"Integer({e.value})"
    if isinstance(e, Float):
        return f"Float('{e.value!r}', precision=53)"
    if isinstance(e, Boolean):
        return "true" if e._key[0] else "false"
    if isinstance(e, Symbol):
        positive = "positive=True, " if e.positive else ""
        return f"Symbol({e.name!r}, {positive}integer={e.is_integer})"
    if isinstance(e, Sum):
        terms = [_stored_term(t, c) for t, c in _print_order(e)]
        terms += [_stored_number(e.constant)] if e.constant != 0 else []
        return terms[0] if len(terms) == 1 else f"Add({', '.join(terms)})"
    if isinstance(e, Product):
        return f"Mul({', '.join(_stored_factors(e))})" if len(e.factors) > 1 else _stored_factors(e)[0]
    if isinstance(e, Relation):
        return f"{_CLASSES[e.rel_op]}({stored_text(e.lhs)}, {stored_text(e.rhs)})"
    if isinstance(e, Logic):
        return f"{e.op.capitalize()}({', '.join(map(stored_text, e.args))})"
    if isinstance(e, Call) and e.name == "Piecewise":
        a, c, b = map(stored_text, e.args)
        return f"Piecewise(ExprCondPair({a}, {c}), ExprCondPair({b}, true))"
    if isinstance(e, Call):
        return f"{e.name}({', '.join(map(stored_text, e.args))})"
    raise TypeError(f"no text for {type(e).__name__}")


def _stored_number(value: Any) -> str:
    return f"Float('{value!r}', precision=53)" if isinstance(value, float) else f"Integer({value})"


def _stored_factors(e: Product) -> list[str]:
    return [stored_text(b) if n == 1 else f"Pow({stored_text(b)}, Integer({n}))" for b, n in e.factors]


def _stored_term(term: Expr, coefficient: Any) -> str:
    if coefficient == 1 and isinstance(coefficient, int):
        return stored_text(term)
    factors = _stored_factors(term) if isinstance(term, Product) else [stored_text(term)]
    return f"Mul({', '.join([_stored_number(coefficient), *factors])})"
