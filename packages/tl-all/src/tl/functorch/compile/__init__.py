"""`functorch.compile`: functions whose forward and backward passes are graphs before they run."""

from tl_compiler.aot.aot_autograd import (
    aot_function,
    aot_module,
    aot_module_simplified,
    compiled_function,
    compiled_module,
)
from tl_compiler.aot.compilers import (
    debug_compile,
    default_decompositions,
    draw_graph,
    draw_graph_compile,
    make_boxed_compiler,
    make_boxed_func,
    memory_efficient_fusion,
    nnc_jit,
    nop,
    print_compile,
    pythonkey_decompose,
    ts_compile,
)
from tl_compiler.aot.graph_names import (
    get_aot_compilation_context,
    get_aot_graph_name,
    get_graph_being_compiled,
)
from tl_compiler.aot.partitioners import default_partition, min_cut_rematerialization_partition
from tl_core.subclasses import config

__all__ = [
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "compiled_function",
    "compiled_module",
    "config",
    "debug_compile",
    "default_decompositions",
    "default_partition",
    "draw_graph",
    "draw_graph_compile",
    "get_aot_compilation_context",
    "get_aot_graph_name",
    "get_graph_being_compiled",
    "make_boxed_compiler",
    "make_boxed_func",
    "memory_efficient_fusion",
    "min_cut_rematerialization_partition",
    "nnc_jit",
    "nop",
    "print_compile",
    "pythonkey_decompose",
    "ts_compile",
]
