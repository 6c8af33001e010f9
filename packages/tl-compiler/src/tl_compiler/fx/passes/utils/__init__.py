"""What passes share."""

from .common import HolderModule, compare_graphs, lift_subgraph_as_module
from .matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["HolderModule", "InternalMatch", "SubgraphMatcher", "compare_graphs", "lift_subgraph_as_module"]
