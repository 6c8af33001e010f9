# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compiler import InvalidBackend as InvalidBackend
from tl_compiler.compiler import allow_in_graph as allow_in_graph
from tl_compiler.compiler import assume_constant_result as assume_constant_result
from tl_compiler.compiler import compile as compile
from tl_compiler.compiler import cudagraph_mark_step_begin as cudagraph_mark_step_begin
from tl_compiler.compiler import disable as disable
from tl_compiler.compiler import explain as explain
from tl_compiler.compiler import freeze as freeze
from tl_compiler.compiler import is_compiling as is_compiling
from tl_compiler.compiler import is_dynamo_compiling as is_dynamo_compiling
from tl_compiler.compiler import is_exporting as is_exporting
from tl_compiler.compiler import list_backends as list_backends
from tl_compiler.compiler import load_cache_artifacts as load_cache_artifacts
from tl_compiler.compiler import load_compiled_function as load_compiled_function
from tl_compiler.compiler import reset as reset
from tl_compiler.compiler import save_cache_artifacts as save_cache_artifacts
from tl_compiler.compiler import set_stance as set_stance
from tl_compiler.compiler import substitute_in_graph as substitute_in_graph
from tl_compiler.compiler import wrap_numpy as wrap_numpy

from . import config as config
