"""Programs as graphs."""

import sys

from tl_core.base import operator_hooks
from tl_core.base.public_names import listed_names

from .version import __version__

__all__ = ["__version__"]

operator_hooks.makers["symbolic_fakes"] = "tl_compiler.tracer.symbolic_fakes:SymbolicFakes"
operator_hooks.makers["shape_env"] = "tl_compiler.symbolic.shape_env:ShapeEnv"
operator_hooks.makers["make_fx"] = "tl_compiler.tracer.make_fx:traced_operator"
operator_hooks.makers["compile"] = "tl_compiler.compiler.compile:compile"
operator_hooks.makers["decompose"] = "tl_compiler.export.decompose:decompose_program"
operator_hooks.makers["reduce_graph_module"] = "tl_compiler.fx.retracing:reduce_graph_module"
operator_hooks.makers["script_function"] = "tl_compiler.scripting.scripting:script_function"
operator_hooks.makers["write_program"] = "tl_compiler.script.writing:write_program"
operator_hooks.makers["compile_in_place"] = "tl_compiler.scripting.scripting:compile_in_place"
operator_hooks.makers["reduce_package_graph_module"] = "tl_compiler.fx.retracing:reduce_package_graph_module"


def __dir__() -> list[str]:
    return listed_names(sys.modules[__name__])
