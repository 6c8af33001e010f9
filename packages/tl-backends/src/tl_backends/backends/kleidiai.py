"""KleidiAI, kernels for ARM processors. tl doesn't have it."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether KleidiAI is there: False.

    Example:
        >>> from tl_backends.backends import kleidiai
        >>> kleidiai.is_available()
        False
    """
    return False
