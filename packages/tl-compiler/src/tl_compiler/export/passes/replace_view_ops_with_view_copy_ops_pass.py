"""Views as copies, for those who run a program where tensors don't share memory."""

from __future__ import annotations

from typing import Any

import tl_core.operators.packets
from tl_core.operators.packets import OpOverload

from ..pass_base import ExportPassBase

__all__ = ["ReplaceViewOpsWithViewCopyOpsPass", "get_view_copy_of_view_op", "is_view_op"]


def is_view_op(schema: Any) -> bool:
    """Whether an operator returns a view of an argument and writes to none.

    Args:
        schema: its schema.

    Returns:
        The answer.

    Example:
        >>> is_view_op(tl_core.ops.aten.select.int._schema), is_view_op(tl_core.ops.aten.add_.Tensor._schema)
        (True, False)
    """
    aliases = [a.alias_info for a in schema.arguments if a.alias_info is not None]
    return bool(aliases) and not any(alias.is_write for alias in aliases)


def get_view_copy_of_view_op(schema: Any) -> OpOverload | None:
    """The operator that returns a copy of what another returns a view of.

    Args:
        schema: the schema of the other.

    Returns:
        The operator; None where the other returns no view, or there is none.

    Example:
        >>> get_view_copy_of_view_op(tl_core.ops.aten.select.int._schema)
        <OpOverload(op='aten.select_copy', overload='int')>
    """
    space, _, name = schema.name.rpartition("::")
    if space not in ("", "aten") or not is_view_op(schema):
        return None
    packet = getattr(tl_core.operators.packets.aten, f"{name}_copy", None)
    return getattr(packet, schema.overload_name or "default", None)


class ReplaceViewOpsWithViewCopyOpsPass(ExportPassBase):
    """A pass that puts copies in the place of views.

    The program computes the same as long as nothing writes to a view: `run_decompositions` removes writes.
    """

    def call_operator(self, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
        """Records a call, of the copying operator where there is one.

        Args:
            op: the operator.
            args, kwargs: its arguments.
            meta: what is noted of the node.

        Returns:
            What stands for the result.
        """
        copying = get_view_copy_of_view_op(op._schema) if isinstance(op, OpOverload) else None
        return super().call_operator(op if copying is None else copying, args, kwargs, meta)
