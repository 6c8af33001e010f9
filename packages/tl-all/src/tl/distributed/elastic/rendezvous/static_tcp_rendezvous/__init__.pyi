# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.rendezvous.static_tcp_rendezvous import *
