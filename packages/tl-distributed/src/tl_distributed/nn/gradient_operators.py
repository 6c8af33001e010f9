"""The operators of `torch.ops._c10d_functional_autograd`: collectives with gradients, whose group is a name."""

from __future__ import annotations

from collections.abc import Sequence

from tl_core import Tensor, library

from . import functional_collectives

__all__: list[str] = []

_OPERATORS = library.Library("_c10d_functional_autograd", "DEF")


def _all_gather_into_tensor(input: Tensor, group_size: int, group_name: str) -> Tensor:
    return functional_collectives.all_gather_tensor_autograd(input, 0, group_name)


def _reduce_scatter_tensor(input: Tensor, reduce_op: str, group_size: int, group_name: str) -> Tensor:
    return functional_collectives.reduce_scatter_tensor_autograd(input, reduce_op, 0, group_name)


def _all_to_all_single(
    input: Tensor, output_split_sizes: Sequence[int], input_split_sizes: Sequence[int], group_name: str
) -> Tensor:
    return functional_collectives.all_to_all_single_autograd(
        input, list(output_split_sizes), list(input_split_sizes), group_name
    )


_ROWS = (
    (
        "all_gather_into_tensor(Tensor input, int group_size, str group_name) -> Tensor",
        _all_gather_into_tensor,
    ),
    (
        "reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor",
        _reduce_scatter_tensor,
    ),
    (
        (
            "all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, "
            "str group_name) -> Tensor"
        ),
        _all_to_all_single,
    ),
)
for _schema, _function in _ROWS:
    _OPERATORS.define(_schema)
    _OPERATORS.impl(_schema.partition("(")[0], _function, "CompositeImplicitAutograd")
