# Written by `python -m tools.facade_stubs --write`.
from tl_nn.compat.recurrent import _apply_permutation as _apply_permutation
from tl_nn.compat.recurrent import _rnn_impls as _rnn_impls
from tl_nn.compat.recurrent import apply_permutation as apply_permutation
from tl_nn.modules.rnn import *
