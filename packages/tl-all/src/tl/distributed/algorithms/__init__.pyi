# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.algorithms import Join as Join
from tl_distributed.algorithms import Joinable as Joinable
from tl_distributed.algorithms import JoinHook as JoinHook

from . import ddp_comm_hooks as ddp_comm_hooks
from . import join as join
from . import model_averaging as model_averaging
