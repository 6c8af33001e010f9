# Written by `python -m tools.facade_stubs --write`.
from tl_backends.cuda.random import *
