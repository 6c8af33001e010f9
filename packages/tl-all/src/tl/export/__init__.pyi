# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.export import *

from . import custom_obj as custom_obj
from . import custom_ops as custom_ops
from . import decomp_utils as decomp_utils
from . import dynamic_shapes as dynamic_shapes
from . import experimental as experimental
from . import exported_program as exported_program
from . import graph_signature as graph_signature
from . import passes as passes
