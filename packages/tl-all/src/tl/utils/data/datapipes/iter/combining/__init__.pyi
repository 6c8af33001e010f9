# Written by `python -m tools.facade_stubs --write`.
from tl_data.compat.datapipes.iter.combining import *
from tl_data.compat.datapipes.iter.combining import _Everywhere as _Everywhere
from tl_data.compat.datapipes.iter.combining import _OneBranch as _OneBranch
from tl_data.compat.datapipes.iter.combining import _Part as _Part
from tl_data.compat.datapipes.iter.combining import _Parted as _Parted
