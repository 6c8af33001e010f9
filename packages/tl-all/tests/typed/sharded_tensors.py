"""Distributed tensors: meshes, placements, tensor parallelism, functions on pieces."""

import tl as torch
import tl.distributed as dist
from tl import Tensor, nn
from tl.distributed import DeviceMesh, init_device_mesh
from tl.distributed.tensor import (
    DTensor,
    Partial,
    Placement,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
)
from tl.distributed.tensor.experimental import implicit_replication, local_map
from tl.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)


def distribute(x: Tensor, mesh: DeviceMesh, placements: list[Placement]) -> DTensor:
    return distribute_tensor(x, mesh, placements)


def halve(x: Tensor) -> Tensor:
    return x / 2


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(8, 16)
        self.norm = nn.LayerNorm(16)
        self.down = nn.Linear(16, 8)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.down(self.norm(self.up(x)).relu())
        return y


def shard_weights(name: str, module: nn.Module, mesh: DeviceMesh) -> None:
    for key, parameter in module.named_parameters(recurse=False):
        module.register_parameter(key, nn.Parameter(distribute_tensor(parameter, mesh, [Shard(0)])))


def main() -> None:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    x = distribute(torch.ones(4, 2), mesh, [Shard(0), Replicate()])
    local: Tensor = x.to_local()
    print(local.shape, x.placements, x.device_mesh.ndim, mesh["tp"].size(), mesh.get_local_rank("dp"))
    y = x.redistribute(placements=[Replicate(), Replicate()])
    term = DTensor.from_local(torch.ones(2), mesh, [Partial("sum"), Replicate()])
    print(y.full_tensor().sum().item(), term.full_tensor().shape, Shard(1).dim)
    print(local_map(halve, out_placements=[Shard(0), Replicate()])(x).full_tensor().sum().item())
    with implicit_replication():
        print((x + torch.ones(4, 2)).shape)
    plan: dict[str, ParallelStyle] = {
        "up": ColwiseParallel(output_layouts=Replicate()),
        "norm": SequenceParallel(),
        "down": RowwiseParallel(input_layouts=Replicate()),
    }
    model = parallelize_module(MLP(), mesh["tp"], {k: v for k, v in plan.items() if k != "norm"})
    with loss_parallel():
        print(model(torch.ones(2, 8)).shape)
    print(sum(1 for _ in distribute_module(nn.Linear(4, 4), mesh["dp"], shard_weights).parameters()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
