# Written by `python -m tools.facade_stubs --write`.
from tl_nn._reduction import check as check
from tl_nn._reduction import get_enum as get_enum
from tl_nn._reduction import legacy_get_enum as legacy_get_enum
from tl_nn._reduction import legacy_get_string as legacy_get_string
from tl_nn._reduction import reduce_losses as reduce_losses
from tl_nn._reduction import reduction_code as reduction_code
from tl_nn._reduction import reduction_name as reduction_name
from tl_nn._reduction import resolve_reduction as resolve_reduction
