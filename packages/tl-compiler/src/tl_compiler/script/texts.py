"""Values as texts, as programs of TorchScript print and format them.

>>> text_of([1.0, 0.1, True, None, {"a": (2,)}])
'[1., 0.10000000000000001, True, None, {a: (2,)}]'
"""

from __future__ import annotations

import math
import sys
from typing import Any

from tl_core import Tensor

__all__ = ["format_percent", "format_text", "print_values", "text_of"]

_LARGEST_PLAIN = 1e10  # whole numbers below it are printed with all their digits
_SPECIFIERS = "sdifeEgGFc%"


def text_of(value: Any) -> str:
    """Returns the text of a value.

    Example:
        >>> text_of(2.0), text_of(1 + 2j), text_of("a")
        ('2.', '1.+2.j', 'a')
    """
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, complex):
        return (
            f"{_real(value.real)}{'-' if math.copysign(1, value.imag) < 0 else '+'}{_real(abs(value.imag))}j"
        )
    if isinstance(value, list):
        return f"[{', '.join(map(text_of, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{text_of(k)}: {text_of(v)}' for k, v in value.items())}}}"
    if type(value) is tuple:
        return f"({', '.join(map(text_of, value))}{',' if len(value) == 1 else ''})"
    return str(value)


def _real(value: float) -> str:
    if abs(value) < _LARGEST_PLAIN and value == int(value):
        return f"{'-' if math.copysign(1, value) < 0 and value == 0 else ''}{int(value)}."
    return f"{value:.17g}"


def format_text(template: str, *values: Any) -> str:
    """Returns the template with each {} replaced by a value. `str.format` would read attributes of the values.

    Raises:
        RuntimeError: the template has more gaps than there are values.

    Example:
        >>> format_text("{} of {}", 1, 2.0)
        '1 of 2.'
    """
    first, *rest = template.split("{}")
    if len(rest) > len(values):
        raise RuntimeError(f"Too few arguments for format string: {template}")
    return first + "".join(text_of(value) + text for value, text in zip(values, rest, strict=False))


def format_percent(template: str, values: Any) -> str:
    """Returns the template with each specifier of percent replaced by a value.

    Raises:
        RuntimeError: a specifier isn't one of TorchScript's, or there are too few or too many values.

    Example:
        >>> format_percent("%s %d", ("a", 3))
        'a 3'
    """
    items = list(values) if isinstance(values, tuple) else [values]
    pieces = template.split("%")
    result, index = [pieces[0]], 1
    while index < len(pieces):
        piece = pieces[index]
        if not piece and index + 1 < len(pieces):  # two percent signs
            result += ["%", pieces[index + 1]]
            index += 2
            continue
        specifier = piece[:1]
        if not specifier:
            raise RuntimeError("Incomplete format specifier")
        if specifier not in _SPECIFIERS:
            raise RuntimeError(f"The specifier %{specifier} is not supported in TorchScript format strings")
        if not items:
            raise RuntimeError(f"Too few arguments for format string: {template}")
        value = items.pop(0)
        result += [text_of(value) if specifier == "s" else _format_one(specifier, value), piece[1:]]
        index += 1
    if items:
        raise RuntimeError(f"Too many arguments for format string: {template}")
    return "".join(result)


def _format_one(specifier: str, value: Any) -> str:
    """A number or a character by a specifier of percent."""
    if specifier == "c":
        if not isinstance(value, int) and not (isinstance(value, str) and len(value) == 1):
            raise RuntimeError("%c requires an int or char for formatting, but got String")
    elif not isinstance(value, (int, float, Tensor)):
        kind = "String" if isinstance(value, str) else type(value).__name__
        raise RuntimeError(f"%{specifier} requires a number for formatting, but got {kind}")
    return f"%{specifier}" % value


def print_values(*values: Any) -> None:
    """Prints values, with spaces between them.

    Example:
        >>> print_values("a", 1.0)
        a 1.
    """
    sys.stdout.write(" ".join(map(text_of, values)) + "\n")
