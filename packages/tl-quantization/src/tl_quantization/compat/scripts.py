"""The mode of TorchScript, which quantizes the code of a scripted program. The functions raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "convert_dynamic_jit",
    "convert_jit",
    "fuse_conv_bn_jit",
    "prepare_dynamic_jit",
    "prepare_jit",
    "quantize_dynamic_jit",
    "quantize_jit",
    "script_qconfig",
    "script_qconfig_dict",
]


def _missing(name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{name} quantizes the code of a scripted program, which isn't there; quantize the module with "
            "quantize_fx or quantize_pt2e, before scripting"
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Raises NotImplementedError: {name} needs the code of a scripted program."
    return call


script_qconfig = _missing("script_qconfig")
script_qconfig_dict = _missing("script_qconfig_dict")
fuse_conv_bn_jit = _missing("fuse_conv_bn_jit")
prepare_jit = _missing("prepare_jit")
prepare_dynamic_jit = _missing("prepare_dynamic_jit")
convert_jit = _missing("convert_jit")
convert_dynamic_jit = _missing("convert_dynamic_jit")
quantize_jit = _missing("quantize_jit")
quantize_dynamic_jit = _missing("quantize_dynamic_jit")
_prepare_jit = _missing("_prepare_jit")
_convert_jit = _missing("_convert_jit")
_quantize_jit = _missing("_quantize_jit")


def _check_is_script_module(model: Any) -> None:
    if not hasattr(model, "_c"):
        raise ValueError(f"input must be a script module, but got {type(model)}")


def _check_forward_method(model: Any) -> None:
    if not model._c._has_method("forward"):
        raise ValueError("input script module does not have forward method")
