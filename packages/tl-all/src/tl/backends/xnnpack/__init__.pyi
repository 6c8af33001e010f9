# Written by `python -m tools.facade_stubs --write`.
from tl_backends.backends.xnnpack import *
