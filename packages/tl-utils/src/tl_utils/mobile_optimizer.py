"""The interface of the optimizer of TorchScript programs for phones. Its functions raise an error."""

from __future__ import annotations

from enum import Enum
from typing import Any, NoReturn

from tl_nn import Module

__all__ = ["LintCode", "MobileOptimizerType", "generate_mobile_module_lints", "optimize_for_mobile"]

_BACKENDS = ("cpu", "vulkan", "metal")


class MobileOptimizerType(Enum):
    """The steps that could be left out.

    Example:
        >>> len(MobileOptimizerType) > 0
        True
    """

    CONV_BN_FUSION = 0
    FUSE_ADD_RELU = 1
    HOIST_CONV_PACKED_PARAMS = 2
    INSERT_FOLD_PREPACK_OPS = 3
    REMOVE_DROPOUT = 4
    VULKAN_AUTOMATIC_GPU_TRANSFER = 5


class LintCode(Enum):
    """The kinds of a lint.

    Example:
        >>> len(LintCode) > 0
        True
    """

    BUNDLED_INPUT = 1
    REQUIRES_GRAD = 2
    DROPOUT = 3
    BATCHNORM = 4


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: there is no TorchScript here, and no runtime for phones; `fx` fuses convolutions with batch norms "
        "(tl.fx.experimental.optimization) and `export` saves programs"
    )


def optimize_for_mobile(script_module: Any, optimization_blocklist: set[Any] | None = None,
                        preserved_methods: list[Any] | None = None, backend: str = "CPU") -> NoReturn:  # fmt: skip
    """Would optimize a TorchScript module for phones.

    Args:
        script_module: the module.
        optimization_blocklist: steps that are left out.
        preserved_methods: methods that are kept.
        backend: `CPU`, `Vulkan` or `Metal`.

    Raises:
        TypeError: it is no module, or the backend is unknown.
        NotImplementedError: otherwise: there is no TorchScript.
    """
    if not isinstance(script_module, Module):
        raise TypeError(f"Got {type(script_module)}, but ScriptModule is expected.")
    if backend.lower() not in _BACKENDS:
        raise TypeError(f"Unknown backend, must be one of 'CPU', 'Vulkan' or 'Metal', got {backend!r}")
    _refuse("optimize_for_mobile")


def generate_mobile_module_lints(script_module: Any) -> NoReturn:
    """Lists the lints of a TorchScript module for phones.

    Args:
        script_module: the module.

    Raises:
        TypeError: it is no module.
        NotImplementedError: otherwise: there is no TorchScript.
    """
    if not isinstance(script_module, Module):
        raise TypeError(f"Got {type(script_module)}, but ScriptModule is expected.")
    _refuse("generate_mobile_module_lints")
