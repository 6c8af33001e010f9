# Written by `python -m tools.facade_stubs --write`.
from tl_core.compat.native_operators import _linalg_eigvals as _linalg_eigvals
from tl_core.compat.native_operators import linalg_cond as linalg_cond
from tl_core.compat.native_operators import linalg_diagonal as linalg_diagonal
from tl_core.compat.native_operators import linalg_matrix_norm as linalg_matrix_norm
from tl_core.compat.native_operators import linalg_matrix_rank as linalg_matrix_rank
from tl_core.compat.native_operators import linalg_norm as linalg_norm
