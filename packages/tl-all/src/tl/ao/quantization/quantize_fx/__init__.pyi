# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.graph_steps import _check_is_graph_module as _check_is_graph_module
from tl_quantization.compat.graph_steps import _convert_fx as _convert_fx
from tl_quantization.compat.graph_steps import _convert_standalone_module_fx as _convert_standalone_module_fx
from tl_quantization.compat.graph_steps import _fuse_fx as _fuse_fx
from tl_quantization.compat.graph_steps import _prepare_fx as _prepare_fx
from tl_quantization.compat.graph_steps import _prepare_standalone_module_fx as _prepare_standalone_module_fx
from tl_quantization.compat.graph_steps import _swap_ff_with_fxff as _swap_ff_with_fxff
from tl_quantization.quantize_fx import *
