"""Whether two libraries' outcomes of one call agree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tools.peer_schemas.drawing import Call, tensors_of

__all__ = ["difference"]

# Relative and absolute bounds of each type; a call is compared by the coarsest type among its arguments.
BOUNDS = {
    "float64": (1e-9, 1e-11),
    "complex128": (1e-9, 1e-11),
    "float32": (2e-4, 1e-5),
    "complex64": (2e-4, 1e-5),
    "float16": (3e-3, 1e-3),
    "bfloat16": (2e-2, 1e-2),
}


def difference(call: Call, peer: tuple[str, Any], own: tuple[str, Any]) -> tuple[str, str] | None:
    """The kind of a difference and its text; None if the outcomes agree.

    Args:
        call: the arguments.
        peer: PyTorch's outcome, as `worker.Runner.outcome` returns it.
        own: tl's.
    """
    if own[0] == "absent":
        return "absent", ""
    if peer[0] == own[0] == "returns":
        text = _unequal(peer[1], own[1], _bounds(call))
        return None if text is None else ("other result", text)
    if peer[0] == "returns":
        return "refused", f"{own[1][0][0]}: {own[1][1]}"
    if own[0] == "returns":
        return "accepted", f"{peer[1][0][0]}: {peer[1][1]}"
    types, own_types = peer[1][0], own[1][0]
    if types[0].strip("_") in [name.strip("_") for name in own_types]:
        return None
    return "other exception", f"{types[0]}: {peer[1][1][:90]} | {own_types[0]}: {own[1][1][:90]}"


def _bounds(call: Call) -> tuple[float, float]:
    dtypes = {t.dtype for t in tensors_of([*call.args, *call.kwargs.values()])}
    return max((BOUNDS[d] for d in dtypes if d in BOUNDS), default=(0.0, 0.0))


def _unequal(peer: Any, own: Any, bounds: tuple[float, float]) -> str | None:
    if isinstance(peer, list):
        if not isinstance(own, list) or len(peer) != len(own):
            return "another number of results"
        texts: Iterable[str | None] = (_unequal(p, o, bounds) for p, o in zip(peer, own, strict=True))
        return next((text for text in texts if text is not None), None)
    if isinstance(peer, str) or isinstance(own, str):
        return None if peer == own else f"{peer} against {own}"
    (dtype, expected), (own_dtype, array) = peer, own
    if dtype != own_dtype:
        return f"dtype {dtype} against {own_dtype}"
    if expected.shape != array.shape:
        return f"shape {expected.shape} against {array.shape}"
    relative, absolute = max(bounds, BOUNDS.get(dtype, (0.0, 0.0)))
    if np.allclose(expected, array, relative, absolute, equal_nan=True):
        return None
    return f"elements {expected.ravel()[:6]} against {array.ravel()[:6]}"
