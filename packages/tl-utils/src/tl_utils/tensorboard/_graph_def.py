"""TensorBoard's form of a graph."""

from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

__all__ = ["UniqueNames", "graph_def", "node_def"]

_PRODUCER = 22


class UniqueNames:
    """Names that differ: one that is used already gets a number."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def of(self, name: str) -> str:
        """A name that no node has yet."""
        count = self._used[name] = self._used.get(name, 0) + 1
        return name if count == 1 else f"{name}.{count - 1}"


def node_def(name: str, op: str, inputs: list[str], shape: Any = None, attributes: str = "") -> NodeDef:
    """A node: its name, its operator, its inputs."""
    attr = {"attr": AttrValue(s=attributes.encode())}
    if shape is not None:
        dims = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in shape])
        attr["_output_shapes"] = AttrValue(list=AttrValue.ListValue(shape=[dims]))
    return NodeDef(name=name, op=op, input=inputs, attr=attr)


def graph_def(nodes: list[NodeDef], verbose: bool) -> tuple[GraphDef, RunMetadata]:
    """The nodes as a graph of a CPU. `verbose` prints them."""
    if verbose:
        print("\n".join(f"{node.op} {node.name}({', '.join(node.input)})" for node in nodes))
    stats = RunMetadata(step_stats=StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")]))
    return GraphDef(node=nodes, versions=VersionDef(producer=_PRODUCER)), stats
