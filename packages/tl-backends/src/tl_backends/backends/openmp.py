"""OpenMP. tl has a thread pool of its own in its place."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether the kernels use OpenMP: False.

    Example:
        >>> from tl_backends.backends import openmp
        >>> openmp.is_available()
        False
    """
    return False
