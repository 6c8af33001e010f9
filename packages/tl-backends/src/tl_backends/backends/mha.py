"""The short cut through multi-head attention when nothing is trained."""

from tl_backends.switch import Switch

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]


class _Settings:
    fastpath = Switch("backends.mha.fastpath", True)


_settings = _Settings()


def get_fastpath_enabled() -> bool:
    """Whether MultiheadAttention and TransformerEncoder may take the short cut.

    Example:
        >>> set_fastpath_enabled(False)
        >>> get_fastpath_enabled()
        False
        >>> set_fastpath_enabled(True)
    """
    return _settings.fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Allows MultiheadAttention and TransformerEncoder to take the short cut, or forbids it."""
    _settings.fastpath = value
