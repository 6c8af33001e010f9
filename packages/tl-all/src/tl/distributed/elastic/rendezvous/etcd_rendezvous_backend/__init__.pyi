# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.rendezvous.etcd_rendezvous_backend import *
