"""What says that nothing is compiled to TorchScript: once a process for each feature, however often it is asked for."""

from warnings import warn

_said: set[str] = set()


def say(feature: str, stacklevel: int = 3) -> None:
    """Warns that what was given to a feature runs as Python, if that hasn't been said yet."""
    if feature not in _said:
        _said.add(feature)
        warn(
            f"{feature}: tl has no TorchScript; what it is given runs as Python, and is given back",
            UserWarning,
            stacklevel=stacklevel,
        )
