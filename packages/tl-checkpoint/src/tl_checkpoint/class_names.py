"""The two-way table between PyTorch's class paths, which files hold, and tl's paths."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import tl_core
from tl_core.base.name_table import NATIVE_NAMESPACES, home_of, real_name_of

__all__ = ["QUANTIZED", "STORAGES", "StorageType", "own_path", "reference", "resolve", "storage_name"]


@dataclass(frozen=True)
class StorageType:
    """A storage class of PyTorch: its name, and its element type."""

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
#: PyTorch's class paths of storages, and their storage types.
STORAGES = {
    f"torch.{name}Storage": StorageType(f"{name}Storage", getattr(tl_core, d)) for name, d in _TYPED.items()
}
STORAGES["torch.storage.UntypedStorage"] = StorageType("UntypedStorage", tl_core.uint8)
STORAGES["torch.UntypedStorage"] = STORAGES["torch.storage.UntypedStorage"]
_STORAGE_OF = {kind.dtype: path for path, kind in STORAGES.items() if "Untyped" not in path}
#: Storage types for the integers of quantized tensors, by element type.
QUANTIZED = {
    "quint8": StorageType("QUInt8Storage", tl_core.uint8),
    "qint8": StorageType("QInt8Storage", tl_core.int8),
    "qint32": StorageType("QInt32Storage", tl_core.int32),
    "quint4x2": StorageType("QUInt4x2Storage", tl_core.quint4x2),
    "quint2x4": StorageType("QUInt2x4Storage", tl_core.quint2x4),
}
STORAGES |= {f"torch.{kind.name}": kind for kind in QUANTIZED.values()}

_SCHEMES = (
    *("per_tensor_affine", "per_tensor_symmetric"),
    *("per_channel_affine", "per_channel_symmetric", "per_channel_affine_float_qparams"),
)
# Names of files that no module of the API has, or that have another meaning when a file is read.
_EXACT = {
    "torch.nn.parameter.Parameter": "tl_core.Parameter",
    "torch.nn.parameter.Buffer": "tl_core.Buffer",
    "torch.serialization._get_layout": "tl_checkpoint.rebuild.layout",
    "torch._utils._rebuild_tensor_v2": "tl_core.api.tensor_pickling._rebuild_tensor_v2",
    "torch._utils._rebuild_sparse_tensor": "tl_core.api.tensor_pickling._rebuild_sparse_tensor",
    "torch._utils._rebuild_parameter": "tl_core.tensors.parameter._rebuild_parameter",
    "torch._utils._rebuild_wrapper_subclass": "tl_core.subclasses.wrappers.rebuild",
    "torch._tensor._rebuild_from_type_v2": "tl_core.api.tensor_pickling._rebuild_from_type",
    "torch._C._VariableFunctionsClass": "tl_checkpoint.rebuild.functions",
    "torch._dynamo.decorators._DimRange": "tl_core.symbolic.dim_range.DimRange",
    "torch.nested._internal.nested_tensor.NestedTensor": "tl_core.nested.tensor.NestedTensor",
    "torch.jit._script.unpackage_script_module": "tl_compiler.package.script_records.unpackage_script_module",
    "torch.ao.quantization.observer._PartialWrapper": "tl_quantization.observer_base._Partial",
    "torch._C._ConvBackend": "tl_core.compat.convolution_backends._ConvBackend",
    "torch._C._TorchDispatchModeKey": "tl_core.subclasses.python_dispatch.TorchDispatchModeKey",
    "torch._C._autograd.DeviceType": "tl_autograd.profiler_kinds.DeviceType",
    "torch._C._monitor.Aggregation": "tl_utils.monitor.Aggregation",
    "torch._C._nn.log_sigmoid": "tl_nn.functional.logsigmoid",
    "torch.distributed.checkpoint.filesystem._StorageInfo": "tl_checkpoint.distributed.metadata_file.StorageInfo",
    "torch.nn.modules.loss.LinearCrossEntropyLoss": "tl_nn.modules.linear_cross_entropy.LinearCrossEntropyLoss",
}
_EXACT |= {f"torch.{name}": f"tl_quantization.dtypes.{name}" for name in _SCHEMES}
_EXACT |= {
    f"torch._C._profiler.{name}": f"tl_autograd.profiler_kinds.{name.lstrip('_')}"
    for name in ("ActiveProfilerType", "ProfilerActivity", "ProfilerState", "RecordScope", "_EventType")
}
# The hooks of a pickled module in older files, which have the path of the module that had them first.
_EXACT |= {
    f"torch.nn.modules.persistent.{name}": f"tl_nn.modules.state_dict.{name}"
    for name in ("_IncompatibleKeys", "_InPlaceHook", "_WrappedHook")
}
_EXACT |= {
    f"torch.nn.modules.module.{name}": f"tl_nn.modules.state_dict.{name}"
    for name in ("_IncompatibleKeys", "_WrappedHook")
}  # written too, as PyTorch reads only these
_BUILTIN = "torch._C._nn."  # functions of nn.functional that are written in C++
_NATIVE = {f"torch._C.{own.rpartition('.')[2]}": own for own in NATIVE_NAMESPACES}
_PACKAGES = ("tl_nn.functional.", "tl_nn.optim.lr_scheduler.")  # one module each in PyTorch
_EXACT_BACK = {own: torch_path for torch_path, own in _EXACT.items()}


def own_path(path: str) -> str:
    """tl's path for a path in a file.

    >>> own_path("torch.nn.modules.linear.Linear")
    'tl_nn.modules.linear.Linear'
    """
    if path in _EXACT:
        return _EXACT[path]
    if path.startswith(_BUILTIN):
        return f"tl_nn.functional.{path.removeprefix(_BUILTIN)}"
    module, _, name = path.rpartition(".")
    if module in _NATIVE:
        return f"{_NATIVE[module]}.{name}"
    return real_name_of(path.removeprefix("torch.")) if path.startswith("torch.") else path


def reference(path: str) -> str:
    """The path in files for one of tl's paths.

    >>> reference("tl_nn.modules.linear.Linear")
    'torch.nn.modules.linear.Linear'
    """
    for package in _PACKAGES:
        if path.startswith(package):
            path = package + path.rsplit(".", 1)[1]
    if path in _EXACT_BACK:
        return _EXACT_BACK[path]
    module, _, name = path.rpartition(".")
    if module in NATIVE_NAMESPACES:
        return f"torch._C.{module.rpartition('.')[2]}.{name}"
    home = home_of(module)
    return path if home is None else f"torch.{home}.{name}".replace("..", ".")


def resolve(path: str) -> Any:
    """tl's class or function for a path in a file; it may be in another module than the path.

    Args:
        path: PyTorch's path, as in the file.

    Returns:
        The object.

    Raises:
        ImportError: no installed package has it.

    Example:
        >>> resolve("torch.distributed.distributed_c10d.ReduceOp").__name__
        'ReduceOp'
    """
    module, _, name = own_path(path).rpartition(".")
    while module:
        try:
            return getattr(import_module(module), name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
        except AttributeError:
            pass
        module = module.rpartition(".")[0]
    raise ImportError(f"no module of it has {name}")


def storage_name(dtype: Any) -> str | None:
    """The path of the storage class for an element type; None if PyTorch has none."""
    return _STORAGE_OF.get(dtype)
