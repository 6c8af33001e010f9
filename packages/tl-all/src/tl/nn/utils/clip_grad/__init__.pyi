# Written by `python -m tools.facade_stubs --write`.
from tl_nn.utils.clip_grad import *
from tl_nn.utils.clip_grad import clip_grads_with_norm_ as __clip_grads_with_norm__
from tl_nn.utils.clip_grad import get_total_norm as __get_total_norm_

_clip_grads_with_norm_ = __clip_grads_with_norm__
_get_total_norm = __get_total_norm_
