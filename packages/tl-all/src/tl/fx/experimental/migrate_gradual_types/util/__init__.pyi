# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.migrate_gradual_types.constraint import BinConstraintD as BinConstraintD
from tl_compiler.compat.experimental.migrate_gradual_types.constraint import BVar as BVar
from tl_compiler.compat.experimental.migrate_gradual_types.constraint import DVar as DVar
from tl_compiler.compat.experimental.migrate_gradual_types.constraint import TVar as TVar
from tl_compiler.compat.experimental.migrate_gradual_types.operation import op_leq as op_leq
from tl_compiler.compat.experimental.migrate_gradual_types.util import *
