# Written by `python -m tools.facade_stubs --write`.
from tl_backends.backends.mha import *
from tl_backends.backends.mha import _Settings as _Settings
