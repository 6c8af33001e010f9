"""Models that are averaged from time to time, rather than their gradients in each step."""

from . import averagers, hierarchical_model_averager, utils

__all__ = ["averagers", "hierarchical_model_averager", "utils"]
