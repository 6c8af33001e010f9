"""Warnings that tl does not compile to TorchScript, once per process and feature."""

from warnings import warn

_warned_features: set[str] = set()


def say(feature: str, stacklevel: int = 3) -> None:
    """Warns on the first use of a feature that its argument runs as Python."""
    if feature not in _warned_features:
        _warned_features.add(feature)
        warn(
            f"{feature}: tl compiles nothing to TorchScript; the argument runs as Python and is returned",
            UserWarning,
            stacklevel=stacklevel,
        )
