"""Which of several signatures says more, and which contradict each other."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .utils import _toposort, groupby
from .variadic import isvariadic

__all__ = [
    "AmbiguityWarning",
    "ambiguities",
    "ambiguous",
    "consistent",
    "edge",
    "ordering",
    "super_signature",
    "supercedes",
]


class AmbiguityWarning(Warning):
    """Two implementations fit some arguments equally well."""


def supercedes(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether a signature fits a part of what another one fits.

    Args:
        a, b: the signatures.

    Returns:
        True if each class of the first is a subclass of the second's.

    Example:
        >>> supercedes((bool,), (int,)), supercedes((int,), (bool,))
        (True, False)
    """
    if len(a) < len(b):
        # The second may have empty variadic parts at its end.
        return not a and len(b) == 1 and isvariadic(b[-1])
    if len(a) == len(b):
        return all(map(issubclass, a, b))
    i = j = 0
    while i < len(a) and j < len(b):
        if not (isvariadic(a[i]) or isvariadic(b[j])):
            if not issubclass(a[i], b[j]):
                return False
            i, j = i + 1, j + 1
        elif isvariadic(a[i]):
            return j == len(b) - 1 and issubclass(a[i], b[j])
        else:
            if i == len(a) - 1:
                return issubclass(a[i], b[j])
            if not issubclass(a[i], b[j]):
                return False
            i += 1
    return i == len(a)


def consistent(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether some arguments fit both signatures.

    Args:
        a, b: the signatures.

    Returns:
        True if there may be such arguments.
    """
    if not a:
        return not b or isvariadic(b[0])
    if not b:
        return not a or isvariadic(a[0])
    if len(a) == len(b):
        return all(issubclass(x, y) or issubclass(y, x) for x, y in zip(a, b, strict=True))
    i = j = 0
    while i < len(a) and j < len(b):
        if not issubclass(b[j], a[i]) and not issubclass(a[i], b[j]):
            return False
        wild_a, wild_b = isvariadic(a[i]), isvariadic(b[j])
        i += not wild_a or wild_b
        j += not wild_b or wild_a
    return (i == len(a) or isvariadic(a[i])) and (j == len(b) or isvariadic(b[j]))


def ambiguous(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether two signatures fit some arguments, and none of them says more.

    Args:
        a, b: the signatures.

    Returns:
        True if so.

    Example:
        >>> ambiguous((int, object), (object, int))
        True
    """
    return consistent(a, b) and not (supercedes(a, b) or supercedes(b, a))


def ambiguities(signatures: Any) -> set[Any]:
    """The pairs of signatures that are ambiguous and have no third one for what both fit.

    Args:
        signatures: the signatures.

    Returns:
        The pairs.
    """
    signatures = list(map(tuple, signatures))
    return {
        (a, b)
        for a in signatures
        for b in signatures
        if hash(a) < hash(b)
        and ambiguous(a, b)
        and not any(supercedes(c, a) and supercedes(c, b) for c in signatures)
    }


def super_signature(signatures: Any) -> list[Any]:
    """A signature for what several ambiguous ones fit.

    Args:
        signatures: the signatures, of one length.

    Returns:
        At each place the class that comes first in the order of base classes.
    """
    n = len(signatures[0])
    if not all(len(s) == n for s in signatures):
        raise AssertionError("super_signature: the signatures are of different lengths")
    return [max((type.mro(sig[i]) for sig in signatures), key=len)[0] for i in range(n)]


def edge(a: tuple[Any, ...], b: tuple[Any, ...], tie_breaker: Callable[[Any], int] = hash) -> bool:
    """Whether a signature is tried before another one.

    Args:
        a, b: the signatures.
        tie_breaker: decides between those that fit the same.

    Returns:
        True if it is.
    """
    return supercedes(a, b) and (not supercedes(b, a) or tie_breaker(a) > tie_breaker(b))


def ordering(signatures: Any) -> list[Any]:
    """The order in which signatures are tried: those that say more first.

    Args:
        signatures: the signatures.

    Returns:
        The signatures in order.
    """
    signatures = list(map(tuple, signatures))
    edges = groupby(operator.itemgetter(0), [(a, b) for a in signatures for b in signatures if edge(a, b)])
    for signature in signatures:
        edges.setdefault(signature, [])
    return _toposort({key: [b for _, b in pairs] for key, pairs in edges.items()})
