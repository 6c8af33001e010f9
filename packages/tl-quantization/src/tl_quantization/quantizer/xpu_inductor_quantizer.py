"""The quantizer for Intel's graphics processors, whose models need such a device."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx import GraphModule

from .x86_inductor_quantizer import X86InductorQuantizer

__all__ = ["XPUInductorQuantizer", "get_default_xpu_inductor_quantization_config"]

_REASON = (
    "integer kernels of the device 'xpu' aren't in tl, which computes on the CPU: use X86InductorQuantizer"
)


def get_default_xpu_inductor_quantization_config() -> Any:
    """Raises an error that names the device.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(f"get_default_xpu_inductor_quantization_config: {_REASON}")


class XPUInductorQuantizer(X86InductorQuantizer):
    """The name of PyTorch's quantizer for the device `xpu`. A model can't be annotated.

    Raises:
        NotImplementedError: always, with the name of the device.
    """

    def __init__(self) -> None:
        raise NotImplementedError(f"XPUInductorQuantizer: {_REASON}")

    def annotate(self, model: GraphModule) -> GraphModule:
        """Raises an error that names the device."""
        raise NotImplementedError(f"XPUInductorQuantizer: {_REASON}")
