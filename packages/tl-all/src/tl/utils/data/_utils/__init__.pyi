# Written by `python -m tools.facade_stubs --write`.
from tl_data.compat._utils import MP_STATUS_CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL
