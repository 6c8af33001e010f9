# Written by `python -m tools.facade_stubs --write`.
from tl_data.elastic.cycling_iterator import *
