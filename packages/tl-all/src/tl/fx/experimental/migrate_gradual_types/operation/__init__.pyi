# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.migrate_gradual_types.operation import *
from tl_compiler.compat.experimental.migrate_gradual_types.operation import op_imp as op_imp
