"""Errors between processes."""


class DistError(RuntimeError):
    """An error of the communication between processes."""


class DistBackendError(DistError):
    """An error of a backend.

    Attributes:
        missing_ranks: the ranks in the world that did not arrive before a timeout, where the backend names them.

    Example:
        >>> DistBackendError("the barrier failed").missing_ranks
        ()
    """

    missing_ranks: tuple[int, ...] = ()


class DistNetworkError(DistError):
    """An error of the network."""


class DistStoreError(DistError):
    """An error of a store, such as a key that didn't come in time."""


class QueueEmptyError(DistStoreError):
    """A queue of a store has no value."""
