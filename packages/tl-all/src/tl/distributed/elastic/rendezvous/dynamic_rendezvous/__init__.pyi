# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.rendezvous.dynamic_rendezvous import *
from tl_distributed.elastic.rendezvous.dynamic_rendezvous import _Beats as _Beats
from tl_distributed.elastic.rendezvous.dynamic_rendezvous import _Heart as _Heart
