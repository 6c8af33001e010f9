# Written by `python -m tools.facade_stubs --write`.
from tl_core.masked import *
from tl_core.masked.private_functions import _canonical_dim as _canonical_dim
from tl_core.masked.private_functions import _reduction_identity as _reduction_identity
from tl_core.masked.private_functions import _where as _where

from . import maskedtensor as maskedtensor
