# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.migrate_gradual_types.constraint import *
from tl_compiler.compat.experimental.migrate_gradual_types.constraint import _Parts as _Parts
