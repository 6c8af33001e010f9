"""Programs of TorchScript for phones: a program is frozen, which leaves out its parameters and known branches."""

from __future__ import annotations

from enum import Enum
from typing import Any

from tl_compiler import jit

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


def optimize_for_mobile(script_module: Any, optimization_blocklist: set[Any] | None = None,
                        preserved_methods: list[Any] | None = None, backend: str = "CPU") -> Any:  # fmt: skip
    """Returns a program frozen.

    Args:
        script_module: the module.
        optimization_blocklist: optimizations to leave out, of which only `CONV_BN_FUSION` has an effect.
        preserved_methods: methods that stay beside `forward`.
        backend: `CPU`; tl has no `Vulkan` and no `Metal`.

    Raises:
        TypeError: it is no compiled module, or the backend is unknown.
        RuntimeError: the backend is `Vulkan` or `Metal`, or the module lacks a preserved method.

    Example:
        >>> import tl_nn
        >>> frozen = optimize_for_mobile(jit.script(tl_nn.Linear(2, 2).eval()))
        >>> len(list(frozen.parameters()))
        0
    """
    folds = MobileOptimizerType.CONV_BN_FUSION not in (optimization_blocklist or ())
    if not isinstance(script_module, jit.ScriptModule):
        raise TypeError(f"Got {type(script_module)}, but ScriptModule is expected.")
    if backend.lower() not in _BACKENDS:
        raise TypeError(f"Unknown backend, must be one of 'CPU', 'Vulkan' or 'Metal', got {backend!r}")
    if backend.lower() != "cpu":
        raise RuntimeError(f"optimize_for_mobile: tl computes on the CPU and has no backend {backend!r}")
    names = [m if isinstance(m, str) else m.__name__ for m in preserved_methods or ()]
    return jit.freeze(script_module.eval(), names, folds)


def generate_mobile_module_lints(script_module: Any) -> list[dict[str, str]]:
    """Returns what a phone wouldn't need in a program: parameters with gradients, dropout, batch norms.

    Args:
        script_module: the module.

    Returns:
        A dictionary with a name and a message for each.

    Raises:
        TypeError: it is no compiled module.

    Example:
        >>> import tl_nn
        >>> lints = generate_mobile_module_lints(jit.script(tl_nn.Linear(2, 2)))
        >>> [lint["name"] for lint in lints]
        ['BUNDLED_INPUT', 'REQUIRES_GRAD', 'REQUIRES_GRAD']
    """
    if not isinstance(script_module, jit.ScriptModule):
        raise TypeError(f"Got {type(script_module)}, but ScriptModule is expected.")
    lints = [
        (
            LintCode.BUNDLED_INPUT,
            "No bundled input for forward, please add one before saving the module.",
        )
    ]
    for name, parameter in script_module.named_parameters():
        if parameter.requires_grad:
            lints.append(
                (
                    LintCode.REQUIRES_GRAD,
                    f"Param {name} requires grad, please set torch.no_grad() to reduce memory usage.",
                )
            )
    for operator in jit.export_opnames(script_module):
        if "dropout" in operator:
            lints.append(
                (LintCode.DROPOUT, f"Operator {operator} exists, remove dropout or set the module to eval.")
            )
        if "batch_norm" in operator:
            lints.append(
                (LintCode.BATCHNORM, f"Operator {operator} exists, fuse it with the convolution before.")
            )
    return [{"name": code.name, "message": message} for code, message in lints]
