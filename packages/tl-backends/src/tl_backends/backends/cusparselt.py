"""cuSPARSELt. tl doesn't have it."""

__all__ = ["get_max_alg_id", "is_available", "version"]


def version() -> int | None:
    """The version of cuSPARSELt: None, as it isn't there.

    Example:
        >>> from tl_backends.backends import cusparselt
        >>> cusparselt.version()
    """
    return None


def is_available() -> bool:
    """Whether cuSPARSELt is there: False.

    Example:
        >>> from tl_backends.backends import cusparselt
        >>> cusparselt.is_available()
        False
    """
    return False


def get_max_alg_id() -> int | None:
    """The number of its algorithms: None, as it isn't there.

    Example:
        >>> from tl_backends.backends import cusparselt
        >>> cusparselt.get_max_alg_id()
    """
    return None
