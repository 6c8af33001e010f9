"""Sharded parameters: fully_shard, mixed precision, offloading, state dicts, checkpoint directories."""

import tempfile
from typing import Any

import tl as torch
import tl.distributed as dist
import tl.distributed.checkpoint as dcp
from tl import Tensor, nn
from tl.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from tl.distributed.fsdp import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, OffloadPolicy, fully_shard


class Block(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x)
        return x + y.relu()


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(8) for _ in range(2)])
        self.head = nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        y: Tensor = self.head(x)
        return y


def shard(model: Model, mesh: dist.DeviceMesh, offload: bool) -> None:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    memory: OffloadPolicy = CPUOffloadPolicy(pin_memory=False) if offload else OffloadPolicy()
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy, offload_policy=memory)
    fully_shard(model, mesh=mesh, mp_policy=policy, reshard_after_forward=False)


def main() -> None:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    mesh = dist.init_device_mesh("cpu", (1,), mesh_dim_names=("dp",))
    model = Model()
    shard(model, mesh, False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss = torch.zeros(())
    for step in range(2):
        if isinstance(model, FSDPModule):
            model.set_requires_gradient_sync(step == 1)
        loss = model(torch.ones(4, 8)).square().mean()
        loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    print(float(norm) > 0, loss.item() > 0)
    state: dict[str, Any] = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    with tempfile.TemporaryDirectory() as folder:
        dcp.save({"model": model.state_dict()}, checkpoint_id=folder)
        dcp.load({"model": model.state_dict()}, checkpoint_id=folder)
    print(set_model_state_dict(model, state, options=StateDictOptions(full_state_dict=True)).missing_keys)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
