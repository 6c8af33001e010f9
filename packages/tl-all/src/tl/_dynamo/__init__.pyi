# Written by `python -m tools.facade_stubs --write`.
from typing import Any

from tl_compiler.compat.dynamo import ExplainOutput as ExplainOutput
from tl_compiler.compat.dynamo import ExportResult as ExportResult
from tl_compiler.compat.dynamo import OptimizedModule as OptimizedModule
from tl_compiler.compat.dynamo import allow_in_graph as allow_in_graph
from tl_compiler.compat.dynamo import assume_constant_result as assume_constant_result
from tl_compiler.compat.dynamo import disable as disable
from tl_compiler.compat.dynamo import disallow_in_graph as disallow_in_graph
from tl_compiler.compat.dynamo import error_on_graph_break as error_on_graph_break
from tl_compiler.compat.dynamo import explain as explain
from tl_compiler.compat.dynamo import export as export
from tl_compiler.compat.dynamo import forbid_in_graph as forbid_in_graph
from tl_compiler.compat.dynamo import graph_break as graph_break
from tl_compiler.compat.dynamo import is_compiling as is_compiling
from tl_compiler.compat.dynamo import is_dynamo_supported as is_dynamo_supported
from tl_compiler.compat.dynamo import is_inductor_supported as is_inductor_supported
from tl_compiler.compat.dynamo import list_backends as list_backends
from tl_compiler.compat.dynamo import lookup_backend as lookup_backend
from tl_compiler.compat.dynamo import mark_dynamic as mark_dynamic
from tl_compiler.compat.dynamo import mark_static as mark_static
from tl_compiler.compat.dynamo import mark_static_address as mark_static_address
from tl_compiler.compat.dynamo import maybe_mark_dynamic as maybe_mark_dynamic
from tl_compiler.compat.dynamo import nonstrict_trace as nonstrict_trace
from tl_compiler.compat.dynamo import on_compile_end as on_compile_end
from tl_compiler.compat.dynamo import on_compile_start as on_compile_start
from tl_compiler.compat.dynamo import optimize as optimize
from tl_compiler.compat.dynamo import optimize_assert as optimize_assert
from tl_compiler.compat.dynamo import patch_dynamo_config as patch_dynamo_config
from tl_compiler.compat.dynamo import register_backend as register_backend
from tl_compiler.compat.dynamo import run as run
from tl_compiler.compat.dynamo import set_stance as set_stance
from tl_compiler.compat.dynamo import substitute_in_graph as substitute_in_graph

from . import _trace_wrapped_higher_order_op as _trace_wrapped_higher_order_op
from . import config as config
from . import exc as exc
from . import output_graph as output_graph

reset: Any
reset_code_caches: Any
