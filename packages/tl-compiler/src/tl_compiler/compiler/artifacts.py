"""What compilers keep between processes: nothing. Code is generated in microseconds, when a function runs."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CacheInfo", "load_cache_artifacts", "save_cache_artifacts"]


class CacheInfo(NamedTuple):
    """What was saved or loaded, by kind: nothing.

    Args:
        artifacts: the names of artifacts by their kind.
    """

    artifacts: dict[str, list[str]]

    @property
    def inductor_artifacts(self) -> list[str]:
        """Generated code."""
        return self.artifacts.get("inductor", [])

    @property
    def autotune_artifacts(self) -> list[str]:
        """Measurements of variants."""
        return self.artifacts.get("autotune", [])

    @property
    def aot_autograd_artifacts(self) -> list[str]:
        """Graphs of forward and backward."""
        return self.artifacts.get("aot_autograd", [])

    @property
    def pgo_artifacts(self) -> list[str]:
        """Profiles."""
        return self.artifacts.get("pgo", [])

    def empty(self) -> bool:
        """Whether there is nothing."""
        return not any(self.artifacts.values())


def save_cache_artifacts() -> tuple[bytes, CacheInfo] | None:
    """What was compiled, to be loaded by another process: None, as generated code is not kept.

    Example:
        >>> save_cache_artifacts() is None
        True
    """
    return None


def load_cache_artifacts(serialized_artifacts: bytes) -> CacheInfo | None:
    """Loads what `save_cache_artifacts` gave: None, as nothing that it could give can be loaded.

    Args:
        serialized_artifacts: the bytes.

    Raises:
        TypeError: it isn't bytes.

    Example:
        >>> load_cache_artifacts(pathlib.Path("artifacts").read_bytes())  # doctest: +SKIP
    """
    if not isinstance(serialized_artifacts, (bytes, bytearray)):
        raise TypeError(f"load_cache_artifacts expects bytes, got {type(serialized_artifacts)}")
    return None
