# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.graph_module import GraphModule as GraphModule
from tl_compiler.fx.node import Node as Node
from tl_compiler.fx.passes.infra.partitioner import *
from tl_compiler.fx.passes.operator_support import OperatorSupportBase as OperatorSupportBase
from tl_compiler.fx.passes.utils.fuser_utils import fuse_by_partitions as fuse_by_partitions
