"""The engine that runs quantized operators. tl has one, whatever it is called."""

from tl_backends.switch import Fixed, Switch, attach

__all__ = ["engine", "supported_engines"]

engine: str
"""Nothing to switch: quantized operators compute the same by every name. It takes those that PyTorch's engines have."""
supported_engines: list[str]
"""The names that `engine` takes beside "none": those that PyTorch has on x86."""

_ENGINES = ["qnnpack", "onednn", "x86", "fbgemm"]

attach(
    __name__,
    engine=Switch("backends.quantized.engine", "x86", choices=(*_ENGINES, "none")),
    supported_engines=Fixed("backends.quantized.supported_engines", _ENGINES),
)
