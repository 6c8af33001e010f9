# Written by `python -m tools.facade_stubs --write`.
from tl_data.compat.datapipes.iter.sharding import *
