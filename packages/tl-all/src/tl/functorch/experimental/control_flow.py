"""`functorch.experimental.control_flow`: branches and loops that graphs keep."""

from tl_compiler.higher_order.cond import cond
from tl_compiler.higher_order.loops import map  # noqa: A004 - its name there

__all__ = ["cond", "map"]
