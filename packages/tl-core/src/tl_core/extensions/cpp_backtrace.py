"""The native calls that led here."""

from __future__ import annotations

from tl_core import _C

__all__ = ["get_cpp_backtrace"]


def get_cpp_backtrace(frames_to_skip: int = 0, maximum_number_of_frames: int = 64) -> str:
    """The native frames of the current thread, the innermost first, a line each.

    A frame is its library and, where the library exports it, the function; what is hidden has an address only.

    Args:
        frames_to_skip: how many of the innermost ones are left out.
        maximum_number_of_frames: how many of the others are told.

    Returns:
        str

    Raises:
        ValueError: a number is negative.

    Example:
        >>> get_cpp_backtrace(maximum_number_of_frames=1).startswith("frame #0: ")
        True
    """
    for name, value in (
        ("frames_to_skip", frames_to_skip),
        ("maximum_number_of_frames", maximum_number_of_frames),
    ):
        if value < 0:
            raise ValueError(f"get_cpp_backtrace(): {name} must not be negative, got {value}")
    frames = _C._native_frames()[frames_to_skip:][:maximum_number_of_frames]
    return "".join(f"frame #{i}: {frame}\n" for i, frame in enumerate(frames))
