"""Settings of fx."""

__all__ = ["disable_progress", "verbose_progress"]

disable_progress = True
"""Whether the interpreter hides its progress."""

verbose_progress = False
"""Whether progress, where it is shown, names each node."""
