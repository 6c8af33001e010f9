# Written by `python -m tools.facade_stubs --write`.
from tl_nn.utils.rnn import *
from tl_nn.utils.rnn import _Fields as _Fields
