# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.partitioner_utils import *
from tl_compiler.fx.node import Node as Node
from tl_compiler.fx.node import map_arg as map_arg
