"""XNNPACK. tl doesn't have it."""

from tl_backends.switch import Fixed, attach

__all__ = ["enabled"]

enabled: bool

attach(__name__, enabled=Fixed("backends.xnnpack.enabled", False))
