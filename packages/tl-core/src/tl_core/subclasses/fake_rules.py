"""What fakes have to know of single operators: where results lie, and which depend on elements."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor

# Results are not known without elements.
NUMBER_OF_VALUES = frozenset({"_local_scalar_dense", "equal", "allclose", "is_nonzero"})
# Nor are the sizes of these operators, with all their overloads; `index` only where an index is a mask.
SHAPE_OF_VALUES = frozenset(
    {
        "nonzero", "nonzero_numpy", "argwhere", "masked_select", "unique", "_unique", "_unique2", "unique_dim",
        "unique_consecutive", "unique_dim_consecutive", "bincount", "to_sparse", "_to_sparse", "segment_lengths",
    }
)  # fmt: skip
# Nor those of these overloads: `where` of a condition alone, counts and positions in a tensor.
OVERLOADS_OF_VALUES = frozenset(
    {
        "where", "repeat_interleave.Tensor", "repeat_interleave.self_Tensor",
        "tensor_split.tensor_indices_or_sections",
    }
)  # fmt: skip
# Where an index is a mask, these still return what is like their first argument.
WRITE_AT_INDICES = frozenset({"index_put", "index_put_", "index_put.out", "_index_put_impl_"})
# Operators whose first tensor alone says where the result lies.
FIRST_TENSOR_DECIDES = frozenset(
    {
        "copy_", "copy", "copy.out", "_to_copy", "to_device", "resize_as_", "index.Tensor", "index.Tensor_out",
        "index_put", "index_put_", "index_put.out", "_index_put_impl_", "slice_scatter", "slice_scatter.out",
        "select_scatter", "_foreach_copy_", "set_", "gather", "type_as",
    }
)  # fmt: skip
# Tables in which indices are looked up, which may lie on the CPU if the table is on meta.
TABLES = frozenset({"embedding", "embedding_dense_backward", "_embedding_bag", "index_select"})


def has_mask(args: Any) -> bool:
    """Whether one of an index's tensors is a mask."""
    for arg in args:
        for item in arg if isinstance(arg, (list, tuple)) else ():
            if isinstance(item, Tensor) and item.dtype in (_C.bool, _C.uint8):
                return True
    return False


def depends_on_elements(name: str, args: Any) -> bool:
    """Whether the sizes of an operator's results depend on elements.

    Args:
        name: the operator's, without its namespace.
        args: what it is called with.
    """
    if name in OVERLOADS_OF_VALUES or name.partition(".")[0] in SHAPE_OF_VALUES:
        return True
    return name in ("index.Tensor", "index.Tensor_out") and has_mask(args)


def common_device(func: Any, tensors: list[Any]) -> Any:
    """Where the result lies of tensors on these devices; tensors without dimensions on the CPU go anywhere.

    Args:
        func: the operator.
        tensors: the arguments that are tensors.

    Raises:
        RuntimeError: two lie on different devices.
    """
    first = tensors[0].device
    if all(t.device == first for t in tensors) or func._native_name in FIRST_TENSOR_DECIDES:
        return first
    if (
        first.type == "meta"
        and func._native_name in TABLES
        and {t.device.type for t in tensors} == {"meta", "cpu"}
    ):
        return first
    device, device_is_number = None, True
    for t in tensors:
        is_number = t.dim() == 0 and t.device.type == "cpu"
        if device is None or (device_is_number and not is_number):
            device, device_is_number = t.device, is_number
        elif not is_number and t.device != device:
            raise RuntimeError(
                f"Unhandled FakeTensor Device Propagation for {func}, found two different devices {device}, {t.device}"
            )
    return device
