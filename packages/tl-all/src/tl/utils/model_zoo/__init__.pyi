# Written by `python -m tools.facade_stubs --write`.
from typing import Any

from tl_utils.model_zoo import *

tqdm: Any
