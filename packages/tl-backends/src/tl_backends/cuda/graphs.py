"""Recorded work of CUDA devices, to be replayed."""

from typing import Any, Self

from tl_backends.absent_device import CUDA

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]


class CUDAGraph:
    """Recorded work.

    Raises:
        RuntimeError: there is no device.
    """

    def __init__(self, keep_graph: bool = False):
        raise CUDA.runtime_error("CUDAGraph")

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        """Begins to record."""
        raise CUDA.error("CUDAGraph.capture_begin")

    def capture_end(self) -> None:
        """Ends the record."""
        raise CUDA.error("CUDAGraph.capture_end")

    def replay(self) -> None:
        """Does the recorded work."""
        raise CUDA.error("CUDAGraph.replay")

    def reset(self) -> None:
        """Forgets the recorded work."""
        raise CUDA.error("CUDAGraph.reset")

    def pool(self) -> Any:
        """What the memory of the recorded work is called."""
        raise CUDA.error("CUDAGraph.pool")

    def enable_debug_mode(self) -> None:
        """Keeps what `debug_dump` writes."""
        raise CUDA.error("CUDAGraph.enable_debug_mode")

    def debug_dump(self, debug_path: str) -> None:
        """Writes the recorded work to a file."""
        raise CUDA.error("CUDAGraph.debug_dump")


class graph:
    """A `with` block whose work is recorded."""

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
        enable_annotations: bool = False,
        check_input_liveness: bool = False,
    ):
        raise CUDA.runtime_error("graph")

    def __enter__(self) -> Self:
        raise CUDA.error("graph")

    def __exit__(self, *error: object) -> None:
        pass


def graph_pool_handle() -> Any:
    """A new name for the memory of recorded work."""
    raise CUDA.runtime_error("graph_pool_handle")


def is_current_stream_capturing() -> bool:
    """Whether work is being recorded: False."""
    return False


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """Functions that replay what was recorded of others."""
    raise CUDA.error("make_graphed_callables")
