# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.base.constants import default_pg_timeout as default_pg_timeout
from tl_distributed.base.constants import default_store_timeout as default_store_timeout
