# Written by `python -m tools.facade_stubs --write`.
from tl_data.compat.datapipes.iter.combining import *
from tl_data.compat.datapipes.iter.combining import _Part as _Part
from tl_data.compat.datapipes.iter.combining import _Parted as _Parted
