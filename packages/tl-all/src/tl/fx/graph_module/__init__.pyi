# Written by `python -m tools.facade_stubs --write`.
from typing import Any

from tl_compiler.fx.graph_module import *
from tl_compiler.fx.graph_module import _Public as _Public
from tl_compiler.fx.graph_module import _Reference as _Reference
from tl_compiler.fx.pytree_code import _PyTreeCodeGen as _PyTreeCodeGen

reduce_graph_module: Any
reduce_package_graph_module: Any
