"""Code of functions some of whose arguments are containers: they are flattened where the function begins."""

from __future__ import annotations

from typing import Any, NamedTuple

from tl_core import pytree
from tl_core.pytree import TreeSpec

from . import _pytree as fx_pytree
from .code_generation import CodeGen

__all__ = ["_PyTreeCodeGen", "_PyTreeInfo"]


class _PyTreeInfo(NamedTuple):
    """How a function takes and gives containers.

    Args:
        orig_args: the names of its arguments, `self` among them where it was a method.
        in_spec: the structure of the arguments.
        out_spec: that of the result; None: the result is what the graph returns.
    """

    orig_args: list[str]
    in_spec: TreeSpec
    out_spec: TreeSpec | None


class _PyTreeCodeGen(CodeGen):
    """Writes a function that takes containers, for a graph whose inputs are their leaves.

    Args:
        pytree_info: the containers.
    """

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info: _PyTreeInfo = pytree_info

    def process_inputs(self, *args: Any) -> Any:
        """The leaves of the arguments of a call.

        Args:
            args: the arguments.

        Returns:
            The leaves.
        """
        return pytree.tree_leaves(args)

    def process_outputs(self, outputs: Any) -> Any:
        """What a call returns where the output node has the value `outputs`.

        Args:
            outputs: its leaves.

        Returns:
            The result.
        """
        if self.pytree_info.out_spec is None:
            return outputs
        leaves = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        return pytree.tree_unflatten(leaves, self.pytree_info.out_spec)

    def _has_keywords(self) -> bool:
        """Whether the structure is that of a pair of args and kwargs."""
        spec = self.pytree_info.in_spec
        kinds = [child.type for child in spec.children_specs]
        return spec.type is tuple and kinds == [tuple, dict]

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line of `def`, and the one that takes the arguments apart.

        Args:
            free_vars: the inputs of the graph, as they are written.
            maybe_return_annotation: ` -> type`, or nothing.

        Returns:
            The lines.
        """
        arguments = list(self.pytree_info.orig_args)
        lines = super().gen_fn_def(list(arguments), maybe_return_annotation)
        names = [text.partition(":")[0].partition("=")[0].strip() for text in free_vars]
        if arguments[:1] == ["self"]:
            names.insert(0, "self")
        if not names:
            return lines
        inputs = f"[{', '.join(arguments)}], self._in_spec"
        if self._has_keywords():
            count = self.pytree_info.in_spec.children_specs[0].num_children
            keys = self.pytree_info.in_spec.children_specs[1].context
            own = arguments[1:] if arguments[:1] == ["self"] else arguments
            names = names[1:] if arguments[:1] == ["self"] else names
            keywords = ", ".join(f"{key!r}:{name}" for key, name in zip(keys, own[count:], strict=True))
            inputs = f"([{', '.join(own[:count])}], {{{keywords}}}), self._in_spec"
        return f"{lines}\n    {', '.join([*names, ''])}= fx_pytree.tree_flatten_spec({inputs})"

    def generate_output(self, output_args: Any) -> str:
        """The line of `return`.

        Args:
            output_args: what the output node returns.

        Returns:
            The line.
        """
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args)
        return f"return pytree.tree_unflatten({output_args!r}, self._out_spec)"

    def additional_globals(self) -> list[tuple[str, Any]]:
        """The modules that these lines name.

        Returns:
            Pairs of name and module.
        """
        return [("pytree", pytree), ("fx_pytree", fx_pytree)]
