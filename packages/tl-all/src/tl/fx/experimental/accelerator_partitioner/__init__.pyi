# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.accelerator_partitioner import *
from tl_compiler.compat.experimental.partitioner_utils import Device as Device
from tl_compiler.compat.experimental.partitioner_utils import NodeLatency as NodeLatency
from tl_compiler.compat.experimental.partitioner_utils import Partition as Partition
from tl_compiler.compat.experimental.partitioner_utils import PartitionerConfig as PartitionerConfig
from tl_compiler.compat.experimental.partitioner_utils import PartitionMode as PartitionMode
from tl_compiler.compat.experimental.partitioner_utils import get_extra_size_of as get_extra_size_of
from tl_compiler.compat.experimental.partitioner_utils import (
    get_latency_of_partitioned_graph as get_latency_of_partitioned_graph,
)
from tl_compiler.compat.experimental.partitioner_utils import (
    get_partition_to_latency_mapping as get_partition_to_latency_mapping,
)
from tl_compiler.fx.graph_module import GraphModule as GraphModule
from tl_compiler.fx.node import Node as Node
from tl_compiler.fx.passes.split_module import split_module as split_module
