"""Conjugates and negatives as views: their elements are carried out when they are read.

>>> import tl_core as tl
>>> marked(tl.ones(2), neg=True)
tensor([-1., -1.])
"""

from __future__ import annotations

from tl_core import _C
from tl_core._C import Tensor


def marks_of(t: Tensor) -> dict[str, bool]:
    """What is done to the elements when they are read, as `marked` takes it."""
    return {name: True for name, there in (("conj", t.is_conj()), ("neg", t.is_neg())) if there}


def marked(t: Tensor, *, conj: bool = False, neg: bool = False) -> Tensor:
    """A view of the tensor, conjugated, with the other sign, or both. RuntimeError for the negative of bool."""
    t = t.conj() if conj else t
    return _C._neg_view(t) if neg else t
