"""Tensors, their operators and kernels: the core of tl, and all of it that needs no other package."""

import sys as _sys
from importlib import import_module as _import_module
from math import e, inf, nan, pi
from os import environ as _environ
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Ahead of the operators that these functions stand for: a checker keeps the first of a name.
    from tl_core.functional import *

from tl_core import _C, overrides, storage
from tl_core._C import *  # type: ignore[assignment]
from tl_core._C import (
    Generator,
    Tensor,
    can_cast,
    device,
    dtype,
    layout,
    memory_format,
    promote_types,
    result_type,
)
from tl_core.api import tensor_methods as _tensor  # gives Tensor its Python half
from tl_core.base import forks as _forks  # handlers of forks
from tl_core.base import former_names as _former_names
from tl_core.base import operator_hooks as _operator_hooks
from tl_core.base import return_types
from tl_core.base.errors import OutOfMemoryError
from tl_core.base.public_names import listed_names as _listed_names
from tl_core.base.type_info import finfo, iinfo
from tl_core.dispatch import overridable as _overridable
from tl_core.dispatch.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from tl_core.functional import *
from tl_core.functions.checks import (
    _assert,
    _check,
    _check_index,
    _check_is_size,
    _check_not_implemented,
    _check_tensor_all,
    _check_tensor_all_with,
    _check_type,
    _check_value,
    _check_with,
)
from tl_core.functions.contractions import *  # type: ignore[assignment]
from tl_core.functions.distances import *
from tl_core.functions.finite_differences import *
from tl_core.functions.index_conversion import *
from tl_core.functions.lowrank import *
from tl_core.functions.norms import *
from tl_core.functions.split_copies import *  # type: ignore[assignment]
from tl_core.functions.statistics import *
from tl_core.functions.unique import *
from tl_core.random import *
from tl_core.settings.determinism import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode,
    use_deterministic_algorithms,
)
from tl_core.settings.machine import (
    cpu_capability,
    get_num_interop_threads,
    get_num_threads,
    set_flush_denormal,
    set_num_interop_threads,
    set_num_threads,
)
from tl_core.settings.nan_check import numerics
from tl_core.settings.precision import get_float32_matmul_precision, set_float32_matmul_precision
from tl_core.settings.warn_always import is_warn_always_enabled, set_warn_always
from tl_core.storage import *
from tl_core.storage import UntypedStorage
from tl_core.tensors.defaults import (
    get_default_device,
    get_default_dtype,
    set_default_device,
    set_default_dtype,
    set_default_tensor_type,
)
from tl_core.tensors.dlpack import from_dlpack, to_dlpack
from tl_core.tensors.parameter import Buffer, Parameter
from tl_core.tensors.printing import set_printoptions
from tl_core.tensors.size import Size
from tl_core.tensors.tensor_types import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from tl_core.version import __version__

half, double, cdouble = float16, float64, complex128  # noqa: F405
float, cfloat, chalf = float32, complex64, complex32  # noqa: F405
short, int, long = int16, int32, int64  # noqa: F405
newaxis = None

if TYPE_CHECKING:
    from tl_core._C import (
        _add_bytes,
        _conj,
        _convert_weight_to_int4pack_for_cpu,
        _dequantize_bytes,
        _foreach_abs,
        _foreach_add,
        _foreach_add_,
        _foreach_addcmul,
        _foreach_addcmul_,
        _foreach_clone,
        _foreach_copy_,
        _foreach_div,
        _foreach_lerp_,
        _foreach_maximum,
        _foreach_mul,
        _foreach_mul_,
        _foreach_neg,
        _foreach_sqrt,
        _foreach_sub,
        _foreach_sub_,
        _foreach_zero_,
        _fused_adagrad_,
        _fused_adam_,
        _fused_adamw_,
        _fused_sgd_,
        _int8_convolution,
        _int8_linear,
        _int8_linear_dynamic,
        _log_softmax,
        _neg_view,
        _pack_int8,
        _quantize_bytes,
        _quantized_embedding_bag,
        _softmax,
        _weight_int4pack_mm_for_cpu,
        _weight_int8pack_mm,
    )
    from tl_core.extensions.headers import get_include
    from tl_core.sparse_layouts.construction import *
    from tl_core.sparse_layouts.functions import (
        dsmm,
        hsmm,
        hspmm,
        saddmm,
        smm,
        spmm,
        sspaddmm,
    )

# Operators whose names begin with an underscore, as the reference has them: `_foreach_add_`, `_fused_adam_`.
globals().update(
    {name: f for name, f in vars(_C).items() if name[0] == "_" and getattr(f, "__module__", "") == "tl_core"}
)

# Names that are loaded when they are first asked for, by the module that has them.
_LATER = {
    **dict.fromkeys(
        (
            "sparse_bsc_tensor",
            "sparse_bsr_tensor",
            "sparse_compressed_tensor",
            "sparse_coo_tensor",
            "sparse_csc_tensor",
            "sparse_csr_tensor",
        ),
        "tl_core.sparse_layouts.construction",
    ),
    **dict.fromkeys(
        ("dsmm", "hsmm", "hspmm", "saddmm", "smm", "spmm", "sspaddmm"),
        "tl_core.sparse_layouts.functions",
    ),
    **dict.fromkeys(
        (
            "_validate_compressed_sparse_indices",
            "_validate_sparse_coo_tensor_args",
            "_validate_sparse_compressed_tensor_args",
            "_validate_sparse_csr_tensor_args",
            "_validate_sparse_csc_tensor_args",
            "_validate_sparse_bsr_tensor_args",
            "_validate_sparse_bsc_tensor_args",
        ),
        "tl_core.sparse_layouts.invariants",
    ),
    "get_include": "tl_core.extensions.headers",
    "_sparse_broadcast_to": "tl_core.sparse_layouts.rules.structure",
}

# Modules that are loaded when a program first reads their attribute, so that no attribute depends on what ran before.
_LATER_MODULES = {
    **{
        name: name
        for name in (
            "array_api",
            "fft",
            "futures",
            "library",
            "masked",
            "nested",
            "signal",
            "special",
            "testing",
        )
    },
    "nn_functions": "functions.nn",
    "ops": "operators.packets",
    "return_types": "base.return_types",
}
# Public modules that an import of the package loads.
_LOADED_MODULES = ("functional", "linalg", "overrides", "random", "sparse", "storage")

_overridable.add_modules("torch", "tl_core", "tl_core.symbolic.arithmetic", "tl_core.functions.private")
for _name in ("functional", "fft", "linalg", "sparse", "special"):
    _overridable.add_modules(f"torch.{_name}", f"tl_core.{_name}")
# Modules that methods of Tensor load when a program first needs them.
_former_names.serve()
_operator_hooks.makers.update(
    {
        "array namespace": "tl_core:array_api",
        "operator of Python": "tl_core.operators.packets:python_packet",
        "wrapper subclasses": "tl_core.subclasses:wrappers",
    }
)
# Operators that rooms above the packets define.
_operator_hooks.add_python_operators("tl_core.nested.operators", "tl_core.compat.composites")
_operator_hooks.namespaces["prims"] = "tl_core.compat.prims"


def __getattr__(name: str) -> object:
    if name in _LATER_MODULES:
        return _import_module(f"tl_core.{_LATER_MODULES[name]}")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_elsewhere(name)}")
    value = globals()[name] = getattr(_import_module(_LATER[name]), name)
    return value


def _elsewhere(name: str) -> str:
    if name.startswith("_"):
        return ""
    from tl_core.base.optional import name_elsewhere  # `import tl` probes private names, and does without

    return name_elsewhere(name)


def __dir__() -> list[str]:
    return _listed_names(_sys.modules[__name__], {*_LATER, *_LATER_MODULES, *_LOADED_MODULES})


if "TORCH_LOGS" in _environ:
    from tl_core.base import component_logging

    component_logging.configure_from_environment()
