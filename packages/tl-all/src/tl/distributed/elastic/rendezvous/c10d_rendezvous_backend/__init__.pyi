# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.rendezvous.api import RendezvousConnectionError as RendezvousConnectionError
from tl_distributed.elastic.rendezvous.api import RendezvousParameters as RendezvousParameters
from tl_distributed.elastic.rendezvous.api import RendezvousStateError as RendezvousStateError
from tl_distributed.elastic.rendezvous.c10d_rendezvous_backend import *
from tl_distributed.elastic.rendezvous.c10d_rendezvous_backend import DEFAULT_PORT as DEFAULT_PORT
from tl_distributed.elastic.rendezvous.dynamic_rendezvous import RendezvousBackend as RendezvousBackend
from tl_distributed.stores.file_store import FileStore as FileStore
from tl_distributed.stores.store import Store as Store
from tl_distributed.stores.tcp_store import TCPStore as TCPStore
