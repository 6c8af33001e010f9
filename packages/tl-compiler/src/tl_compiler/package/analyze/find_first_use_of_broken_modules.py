"""Where modules that can't be packaged are used first."""

from ..package_exporter import PackagingError

__all__ = ["find_first_use_of_broken_modules"]


def find_first_use_of_broken_modules(exc: PackagingError) -> dict[str, list[str]]:
    """A way of dependencies to each module with an error.

    Args:
        exc: what the exporter raised.

    Returns:
        For each module the names from what was saved down to it.

    Example:
        >>> find_first_use_of_broken_modules(error)  # doctest: +SKIP
    """
    graph = exc.dependency_graph
    return {
        name: graph.first_path(name) for name, attrs in graph.nodes.items() if attrs.get("error") is not None
    }
