# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.to import _parse_to as _parse_to
from tl_nn.utils.rnn import pad_sequence as pad_sequence
