# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.utils import *
from tl_distributions.utils import _LazyProperty as _LazyProperty
