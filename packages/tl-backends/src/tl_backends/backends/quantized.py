"""The engine that runs quantized operators. tl has none yet."""

from tl_backends.switch import Fixed, Switch, attach

__all__ = ["engine", "supported_engines"]

engine: str
supported_engines: list[str]

attach(
    __name__,
    engine=Switch("backends.quantized.engine", "none", choices=("none",)),
    supported_engines=Fixed("backends.quantized.supported_engines", ["none"]),
)
