"""The short cut through encoders when nothing is trained."""

from tl_backends.switch import Switch

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]


class _Settings:
    fastpath = Switch("backends.mha.fastpath", True)


_settings = _Settings()


def get_fastpath_enabled() -> bool:
    """Whether `TransformerEncoder` may leave padding out of its computation.

    Example:
        >>> set_fastpath_enabled(False)
        >>> get_fastpath_enabled()
        False
        >>> set_fastpath_enabled(True)
    """
    return _settings.fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Allows `TransformerEncoder` to leave padding out of its computation, or forbids it.

    Where it is allowed, an encoder with `enable_nested_tensor` that is evaluated without gradients and is given a
    `src_key_padding_mask` gives zeros for padding; where it is forbidden, padding is computed as in training.

    Args:
        value: whether it is allowed.

    Example:
        >>> from tl_backends.backends import mha
        >>> mha.set_fastpath_enabled(True)
    """
    _settings.fastpath = value
