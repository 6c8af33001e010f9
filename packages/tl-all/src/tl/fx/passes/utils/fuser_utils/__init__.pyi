# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.graph import Graph as Graph
from tl_compiler.fx.graph_module import GraphModule as GraphModule
from tl_compiler.fx.node import Node as Node
from tl_compiler.fx.passes.tools_common import legalize_graph as legalize_graph
from tl_compiler.fx.passes.utils.common import lift_subgraph_as_module as lift_subgraph_as_module
from tl_compiler.fx.passes.utils.fuser_utils import *
