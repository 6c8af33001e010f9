# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.graph import Graph as Graph
from tl_compiler.fx.graph_module import GraphModule as GraphModule
from tl_compiler.fx.node import Node as Node
from tl_compiler.fx.passes.dialect.common.cse_pass import *
from tl_compiler.fx.passes.infra.pass_base import PassBase as PassBase
from tl_compiler.fx.passes.infra.pass_base import PassResult as PassResult
