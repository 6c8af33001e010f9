"""Conjugate and negative bits: views whose elements are conjugated or negated when they are read.

>>> import tl_core as tl
>>> with_conj_neg_bits(tl.ones(2), neg=True)
tensor([-1., -1.])
"""

from __future__ import annotations

from tl_core import _C
from tl_core._C import Tensor


def conj_neg_bits_of(t: Tensor) -> dict[str, bool]:
    """The bits that are set, as the keyword arguments of `with_conj_neg_bits`."""
    return {name: True for name, there in (("conj", t.is_conj()), ("neg", t.is_neg())) if there}


def with_conj_neg_bits(t: Tensor, *, conj: bool = False, neg: bool = False) -> Tensor:
    """A view of the tensor, conjugated, with the other sign, or both. RuntimeError for the negative of bool.

    Args:
        t: the tensor.
        conj: whether it is conjugated.
        neg: whether its sign is changed.
    """
    t = t.conj() if conj else t
    return _C._neg_view(t) if neg else t
