"""The error of programs of TorchScript."""

__all__ = ["Error"]


class Error(RuntimeError):
    """A program of TorchScript has raised an exception.

    Example:
        >>> issubclass(Error, RuntimeError)
        True
    """
