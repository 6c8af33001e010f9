# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.migrate_gradual_types.constraint_generator import *
