"""What says that nothing is compiled: once a process for each feature, however often it is asked for."""

from warnings import warn

_said: set[str] = set()


def say(feature: str, stacklevel: int = 3) -> None:
    """Warns that what was given to a feature runs eagerly, if that hasn't been said yet."""
    if feature not in _said:
        _said.add(feature)
        warn(
            f"{feature}: tl has no compiler yet; what it is given runs eagerly",
            UserWarning,
            stacklevel=stacklevel,
        )
