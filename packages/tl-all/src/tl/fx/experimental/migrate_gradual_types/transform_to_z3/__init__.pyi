# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.migrate_gradual_types.transform_to_z3 import *
