"""The two-way table between the reference's class paths, which files hold, and ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tl_core

__all__ = ["QUANTIZED", "STORAGES", "StorageType", "ours", "reference", "storage_name"]


@dataclass(frozen=True)
class StorageType:
    """A storage class of the reference: its name, and the element type it says."""

    name: str
    dtype: Any


_TYPED = {
    "Bool": "bool",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Float": "float32",
    "Double": "float64",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}
#: The reference's class paths of storages, and what each of them holds.
STORAGES = {
    f"torch.{name}Storage": StorageType(f"{name}Storage", getattr(tl_core, d)) for name, d in _TYPED.items()
}
STORAGES["torch.storage.UntypedStorage"] = StorageType("UntypedStorage", tl_core.uint8)
STORAGES["torch.UntypedStorage"] = STORAGES["torch.storage.UntypedStorage"]
_STORAGE_OF = {kind.dtype: path for path, kind in STORAGES.items() if "Untyped" not in path}
#: What files hold the integers of quantized tensors in, by element type.
QUANTIZED = {
    "quint8": StorageType("QUInt8Storage", tl_core.uint8),
    "qint8": StorageType("QInt8Storage", tl_core.int8),
    "qint32": StorageType("QInt32Storage", tl_core.int32),
}
STORAGES |= {f"torch.{kind.name}": kind for kind in QUANTIZED.values()}

_SCHEMES = (
    *("per_tensor_affine", "per_tensor_symmetric"),
    *("per_channel_affine", "per_channel_symmetric", "per_channel_affine_float_qparams"),
)
_EXACT = {
    "torch.Tensor": "tl_core.Tensor",
    "torch.Size": "tl_core.Size",
    "torch.device": "tl_core.device",
    "torch.Generator": "tl_core.Generator",
    "torch.nn.parameter.Parameter": "tl_core.Parameter",
    "torch.nn.parameter.Buffer": "tl_core.Buffer",
    "torch.serialization._get_layout": "tl_checkpoint.rebuild.layout",
    "torch._utils._rebuild_tensor_v2": "tl_core._tensor._rebuild_tensor_v2",
    "torch._utils._rebuild_sparse_tensor": "tl_core._tensor._rebuild_sparse_tensor",
    "torch._utils._rebuild_parameter": "tl_core.parameter._rebuild_parameter",
    "torch._tensor._rebuild_from_type_v2": "tl_core._tensor._rebuild_from_type",
    "torch._C._VariableFunctionsClass": "tl_checkpoint.rebuild.functions",
    "torch.distributed.checkpoint.filesystem._StorageInfo": "tl_checkpoint.distributed.metadata_file.StorageInfo",
}
_EXACT |= {f"torch.{name}": f"tl_quantization.dtypes.{name}" for name in _SCHEMES}
_EXACT["torch.nn.modules.loss.LinearCrossEntropyLoss"] = (
    "tl_nn.modules.linear_cross_entropy.LinearCrossEntropyLoss"
)
# The hooks of a pickled module: files name them by the module that had them first.
_EXACT |= {
    f"torch.nn.modules.persistent.{name}": f"tl_nn.modules.state_dict.{name}"
    for name in ("_IncompatibleKeys", "_InPlaceHook", "_WrappedHook")
}
_EXACT["torch._C._nn.log_sigmoid"] = "tl_nn.functional.logsigmoid"
# The longest prefix wins. Modules of tl-nn have the names that the reference's have.
_PREFIXES = {
    "torch.nn.": "tl_nn.",
    "torch.optim.": "tl_nn.optim.",
    "torch.ao.quantization.": "tl_quantization.",
    "torch.ao.nn.": "tl_quantization.nn.",
    "torch.amp.": "tl_amp.",
    "torch._C._nn.": "tl_nn.functional.",
    "torch.autograd.": "tl_autograd.",
    "torch.distributed.checkpoint.": "tl_checkpoint.distributed.",
    "torch.utils.data.": "tl_data.",
    "torch.": "tl_core.",
}
# What stands in another module than the reference's, from which it can be imported as well.
_MOVED = {
    "tl_core.grad_mode.": "torch.autograd.grad_mode.",
    "tl_core.sparse_layouts.tensor_types.": "torch.sparse.",
    "tl_core.tensor_types.": "torch.",
    "tl_nn.modules.multihead_attention.": "torch.nn.modules.activation.",
    "tl_nn.optim.adafactor.": "torch.optim.",
    "tl_quantization.nn.quantized.modules.stubs.": "torch.ao.nn.quantized.modules.",
}
_PACKAGES = ("tl_nn.functional.", "tl_nn.optim.lr_scheduler.")  # one module each in the reference
_ONLY_NN = ("gelu", "linear", "log_sigmoid", "scaled_dot_product_attention", "softplus", "softshrink")
_EXACT_BACK = {our: their for their, our in _EXACT.items()}
_EXACT_BACK |= {f"tl_core.{name}": f"torch._C._nn.{name}" for name in _ONLY_NN}
_BACK = _MOVED | {our: their for their, our in _PREFIXES.items() if not their.startswith("torch._C.")}
_PREFIXES_BACK = dict(sorted(_BACK.items(), key=lambda pair: -len(pair[0])))


def _translated(path: str, exact: dict[str, str], prefixes: dict[str, str]) -> str:
    if path in exact:
        return exact[path]
    for prefix, other in prefixes.items():
        if path.startswith(prefix):
            return other + path[len(prefix) :]
    return path


def ours(path: str) -> str:
    """Our path for one that a file holds.

    >>> ours("torch.nn.modules.linear.Linear")
    'tl_nn.modules.linear.Linear'
    """
    return _translated(path, _EXACT, _PREFIXES)


def reference(path: str) -> str:
    """The path that files hold for one of ours.

    >>> reference("tl_nn.modules.linear.Linear")
    'torch.nn.modules.linear.Linear'
    """
    for package in _PACKAGES:
        if path.startswith(package):
            path = package + path.rsplit(".", 1)[1]
    return _translated(path, _EXACT_BACK, _PREFIXES_BACK)


def storage_name(dtype: Any) -> str | None:
    """The path of the storage class for an element type; None where the reference has none."""
    return _STORAGE_OF.get(dtype)
