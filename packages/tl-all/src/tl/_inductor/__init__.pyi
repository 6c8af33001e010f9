# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.inductor import AOTICompiledModel as AOTICompiledModel
from tl_compiler.compat.inductor import aot_compile as aot_compile
from tl_compiler.compat.inductor import aoti_compile_and_package as aoti_compile_and_package
from tl_compiler.compat.inductor import aoti_load_package as aoti_load_package
from tl_compiler.compat.inductor import compile as compile
from tl_compiler.compat.inductor import config as config
from tl_compiler.compat.inductor import cudagraph_mark_step_begin as cudagraph_mark_step_begin
from tl_compiler.compat.inductor import list_mode_options as list_mode_options
from tl_compiler.compat.inductor import list_options as list_options
