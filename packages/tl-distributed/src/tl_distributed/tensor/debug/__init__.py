"""Tools that show what distributed tensors do: their collectives, and the pieces of each rank."""

from .comm_mode import CommDebugMode
from .visualize_sharding import visualize_sharding

__all__ = ["CommDebugMode", "visualize_sharding"]
