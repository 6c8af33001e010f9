"""Stopping in the code of a graph."""

from __future__ import annotations

from tl_compiler.fx.graph_module import GraphModule

__all__ = ["set_trace"]


def set_trace(gm: GraphModule) -> GraphModule:
    """Puts a breakpoint at the beginning of the generated code.

    Args:
        gm: the module.

    Returns:
        The module, with new code.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> print(set_trace(symbolic_trace(lambda x: x.neg())).code.strip())
        def forward(self, x):
            import pdb; pdb.set_trace()
            neg = x.neg();  x = None
            return neg
    """

    def insert(body: list[str]) -> list[str]:
        return ["import pdb; pdb.set_trace()\n", *body]

    with gm.graph.on_generate_code(
        make_transformer=lambda before: lambda body: insert(before(body) if before else body)
    ):
        gm.recompile()
    return gm
