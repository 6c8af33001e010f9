"""How operators take sparse tensors: a rule each, made of operators that have derivatives.

The core hands `call` an operator whose row names no kernel for sparse tensors, or whose kernel does not take those that
it got. A rule stands above the layer of derivatives, which therefore come from what it is made of.
"""

from tl_core.sparse_layouts.rule_table import call
from tl_core.sparse_layouts.rules import binary, creation, products, reductions, structure, unary

__all__ = ["binary", "call", "creation", "products", "reductions", "structure", "unary"]
