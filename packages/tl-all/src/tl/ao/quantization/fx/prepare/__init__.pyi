# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.observed_graphs import _insert_obs_or_fq as _insert_obs_or_fq
from tl_quantization.compat.observed_graphs import _save_state as _save_state
from tl_quantization.graph.prepare import *
from tl_quantization.graph.prepare import _Work as _Work
