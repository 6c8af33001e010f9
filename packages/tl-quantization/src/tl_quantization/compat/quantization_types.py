"""Types of patterns, under the former name of their module."""

from __future__ import annotations

from ..utils import Pattern as Pattern
from ..utils import QuantizerCls as QuantizerCls
