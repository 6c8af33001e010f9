"""The switches of gradient recording; they live in tl_core."""

from __future__ import annotations

from tl_core import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


class set_multithreading_enabled:
    """Accepted as a context manager and a function; a backward runs on the thread that asks for it,
    whatever the mode."""

    def __init__(self, mode: bool):
        self.mode = bool(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass

    def clone(self) -> set_multithreading_enabled:
        """Another context with the same setting."""
        return type(self)(self.mode)
