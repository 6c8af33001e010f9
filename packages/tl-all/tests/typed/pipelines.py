"""Pipelines of stages, and a sequence that is cut among ranks."""

import tl as torch
import tl.distributed as dist
from tl import Tensor, nn
from tl.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from tl.distributed.tensor.experimental import context_parallel


def loss_fn(output: Tensor, target: Tensor) -> Tensor:
    return (output - target).square().mean()


def main() -> None:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    stage = PipelineStage(nn.Linear(8, 1), stage_index=0, num_stages=1, device=torch.device("cpu"))
    losses: list[Tensor] = []
    schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=loss_fn)
    schedule.step(torch.ones(8, 8), target=torch.zeros(8, 1), losses=losses)
    print(len(losses), losses[0].item() >= 0)
    forward_only = ScheduleGPipe(PipelineStage(nn.Linear(8, 1), 0, 1, torch.device("cpu")), 2)
    print(forward_only.step(torch.ones(4, 8)).shape)
    mesh = dist.init_device_mesh("cpu", (1,), mesh_dim_names=("cp",))
    query = torch.ones(1, 2, 8, 4)
    with context_parallel(mesh["cp"], buffers=[query], buffer_seq_dims=[2]):
        print(nn.functional.scaled_dot_product_attention(query, query, query, is_causal=True).shape)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
