# Written by `python -m tools.facade_stubs --write`.
from tl_backends.backends.cuda import *
from tl_backends.backends.cuda import _Attention as _Attention
from tl_backends.backends.cuda import _FourierPlanCache as _FourierPlanCache
from tl_backends.backends.cuda import _Library as _Library
from tl_backends.backends.cuda import _Matmul as _Matmul
