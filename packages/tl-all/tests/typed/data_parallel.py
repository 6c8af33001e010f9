"""Training in several processes: groups, collectives, DistributedDataParallel, a sampler for each rank."""

import os
import tempfile
from contextlib import nullcontext

import tl as torch
import tl.distributed as dist
from tl import nn
from tl.distributed import ReduceOp
from tl.nn.parallel import DistributedDataParallel as DDP
from tl.utils.data import DataLoader, TensorDataset
from tl.utils.data.distributed import DistributedSampler


def mean_over_ranks(value: torch.Tensor) -> torch.Tensor:
    result = value.detach().clone()
    dist.all_reduce(result, op=dist.ReduceOp.SUM)
    return result / dist.get_world_size()


def train(rank: int, world_size: int, file: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=world_size)
    torch.manual_seed(rank)
    device = torch.device("cpu")
    model = DDP(nn.Linear(4, 1).to(device), device_ids=None, find_unused_parameters=False)
    data = TensorDataset(torch.randn(16, 4), torch.randn(16, 1))
    sampler: DistributedSampler[tuple[torch.Tensor, ...]] = DistributedSampler(
        data, num_replicas=world_size, rank=rank
    )
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = torch.zeros(())
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for i, (x, y) in enumerate(loader):
            with model.no_sync() if i % 2 == 0 else nullcontext():
                loss = nn.functional.mse_loss(model(x), y)
                loss.backward()
            if i % 2 == 1:
                optimizer.step()
                optimizer.zero_grad()
        print(epoch, mean_over_ranks(loss).item())
    gathered = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, torch.ones(1) * dist.get_rank())
    work = dist.broadcast(torch.zeros(2), src=0, async_op=True)
    if work is not None:
        work.wait()
    objects: list[object] = [None] * world_size
    dist.all_gather_object(objects, {"rank": rank})
    group = dist.new_group([0])
    dist.reduce(torch.ones(1), dst=0, op=ReduceOp.MAX, group=group)
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), os.path.join(os.path.dirname(file), "model.pt"))
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    print(dist.is_available(), dist.is_initialized())
    with tempfile.TemporaryDirectory() as folder:
        train(0, 1, os.path.join(folder, "store"))


if __name__ == "__main__":
    main()
