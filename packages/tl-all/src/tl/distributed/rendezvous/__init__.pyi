# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.base.constants import default_store_timeout as default_store_timeout
from tl_distributed.stores.file_store import FileStore as FileStore
from tl_distributed.stores.rendezvous import Handler as Handler
from tl_distributed.stores.rendezvous import Meeting as Meeting
from tl_distributed.stores.rendezvous import all_meet_by as all_meet_by
from tl_distributed.stores.rendezvous import register_rendezvous_handler as register_rendezvous_handler
from tl_distributed.stores.rendezvous import rendezvous as rendezvous
from tl_distributed.stores.store import HashStore as HashStore
from tl_distributed.stores.store import PrefixStore as PrefixStore
from tl_distributed.stores.store import Store as Store
from tl_distributed.stores.tcp_store import TCPStore as TCPStore
