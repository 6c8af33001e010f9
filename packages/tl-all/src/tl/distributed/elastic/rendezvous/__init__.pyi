# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.rendezvous import *

from . import api as api
from . import c10d_rendezvous_backend as c10d_rendezvous_backend
from . import dynamic_rendezvous as dynamic_rendezvous
from . import etcd_rendezvous as etcd_rendezvous
from . import etcd_rendezvous_backend as etcd_rendezvous_backend
from . import etcd_server as etcd_server
from . import etcd_store as etcd_store
from . import registry as registry
from . import static_tcp_rendezvous as static_tcp_rendezvous
from . import utils as utils
