"""Models and tensors on several processes: distributed tensors, sharded training, pipelines, remote calls.

The clock is that of the CPU where both sides compute, and the wall's where a rank waits for another one.
"""

from __future__ import annotations

from dataclasses import replace

from tools.bench.cases import Case, Group
from tools.bench.distributed import case, world

TENSORS = Group("distributed tensors")
TRAINING = Group("sharded training")
PIPELINES = Group("pipelines")
CALLS = Group("remote calls")

MESH = """\
import importlib
D = importlib.import_module(f"{torch.__name__}.distributed.tensor")
meshes = importlib.import_module(f"{torch.__name__}.distributed.device_mesh")
mesh = meshes.init_device_mesh("cpu", (dist.get_world_size(),))
"""
SMALL = """\
A = D.distribute_tensor(torch.randn(8, 8), mesh, [D.Shard(0)])
R = D.distribute_tensor(torch.randn(8, 8), mesh, [D.Replicate()])
G = D.distribute_tensor(torch.randn(8, 8), mesh, [D.Shard(0)]).requires_grad_()
"""
LARGE = "x = D.distribute_tensor(torch.randn(2048, 2048), mesh, [D.Shard(0)])\n"
LAYERS = """\
P = importlib.import_module(f"{torch.__name__}.distributed.tensor.parallel")
model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512))
P.parallelize_module(model, mesh, {"0": P.ColwiseParallel(), "2": P.RowwiseParallel()})
x = torch.randn(8, 512)
"""
CASES = [
    replace(case(TENSORS, name, 2, MESH + SMALL, run, bound), clock="cpu")
    for name, run, bound in (
        ("add 8x8", "A + A", 0.5),
        ("mm 8x8", "A @ R", 0.5),
        ("(A*A).sum().backward() 8x8", "(G * G).sum().backward()", 0.4),
    )
]
CASES += [
    case(TENSORS, "redistribute 16 MB, Shard(0) to Replicate()", 2, MESH + LARGE, "x.full_tensor()", 0.4),
    case(
        TENSORS,
        "redistribute 16 MB, Shard(0) to Shard(1)",
        2,
        MESH + LARGE,
        "x.redistribute(placements=[D.Shard(1)])",
        0.5,
    ),
    case(TENSORS, "MLP 512-2048-512, batch 8, forward", 2, MESH + LAYERS, "model(x)", 0.5),
]

MODEL = """\
model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(4)))
x = torch.randn(32, 1024)
F = importlib.import_module(f"{torch.__name__}.distributed.fsdp")
"""
WRAPS = {
    "DDP": "model = torch.nn.parallel.DistributedDataParallel(model)\n",
    "FSDP2": "for layer in model:\n    F.fully_shard(layer)\nF.fully_shard(model)\n",
    "FSDP1": (
        "policy = F.wrap.ModuleWrapPolicy({torch.nn.Linear})\n"
        'cpu = torch.device("cpu")\n'
        "model = F.FullyShardedDataParallel(model, auto_wrap_policy=policy, device_id=cpu)\n"
    ),
}
STEP = "model(x).sum().backward()\noptimizer.step()\noptimizer.zero_grad()"
OPTIMIZER = "optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)\n"
CASES += [
    replace(
        case(
            TRAINING,
            f"step of 4 x Linear(1024), batch 32, 2 ranks: {name}",
            2,
            MESH + MODEL + wrap + OPTIMIZER,
            STEP,
            bound,
        ),
        clock="cpu",
    )
    for (name, wrap), bound in zip(WRAPS.items(), (None, 0.5, 0.5), strict=True)
]

STAGE = """\
import importlib
S = importlib.import_module(f"{torch.__name__}.distributed.pipelining")
model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(2)))
stage = S.PipelineStage(model, dist.get_rank(), 2, torch.device("cpu"))
schedule = S.Schedule1F1B(stage, 8, loss_fn=lambda output, target: (output - target).square().mean())
x, y = torch.randn(256, 1024), torch.randn(256, 1024)
"""
CASES.append(
    case(
        PIPELINES,
        "1F1B, 2 stages, 8 microbatches of 32x1024",
        2,
        STAGE,
        "schedule.step(x)",
        0.85,
        others="schedule.step(target=y)",
    )
)

WORKER = """\
import importlib, operator, tempfile, time
rpc = importlib.import_module(f"{torch.__name__}.distributed.rpc")
name = [f"file://{tempfile.mkdtemp()}/meet"]
dist.broadcast_object_list(name)
options = rpc.TensorPipeRpcBackendOptions(init_method=name[0])
rpc.init_rpc(f"worker{dist.get_rank()}", rank=dist.get_rank(), world_size=2, rpc_backend_options=options)
at_end.append(lambda: rpc.shutdown(graceful=False))
"""
CASES += [
    Case(
        CALLS,
        f"rpc_sync, {size} there and back",
        world(2, WORKER + f"x = torch.zeros({count})\n", "time.sleep(0.1)"),
        "rpc.rpc_sync('worker1', operator.pos, (x,))",
        bound,
        rounds=2,
        builds=1,
        clock="wall",
    )
    for size, count, bound in (("4 B", 1, 0.3), ("1 MB", 1 << 18, 0.5), ("64 MB", 1 << 24, 0.5))
]
