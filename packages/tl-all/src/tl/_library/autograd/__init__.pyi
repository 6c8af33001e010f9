# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.custom_operator import *
from tl_autograd.custom_operator import _Keywords as _Keywords
from tl_autograd.custom_operator import _Plain as _Plain
from tl_autograd.custom_operator import _Spread as _Spread
