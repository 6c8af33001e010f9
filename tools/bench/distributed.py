"""Several processes: collectives, messages, data-parallel steps, the launcher, the store. The clock is the wall's."""

from __future__ import annotations

from dataclasses import replace

from tools.bench.cases import Case, Group

COLLECTIVES = Group("distributed: collectives")
ARENA = Group("distributed: in a bucket of the arena")
NETWORK = Group("distributed: over the network transport")
DATA_PARALLEL = Group("distributed: data-parallel steps")
LINK = Group("distributed: over a link of 4 Gbit/s")
START = Group("distributed: start and meeting")
FAKE = Group("distributed: a fake world")

SIZES = {"1 KB": 256, "1 MB": 1 << 18, "25 MB": 25 << 18, "100 MB": 25 << 20}
BOUNDS = {
    2: {"1 KB": 0.05, "1 MB": 0.25, "25 MB": 0.4, "100 MB": 0.4},
    4: {"1 KB": 0.05, "1 MB": 0.15, "25 MB": 0.7},
}
ARENA_BOUNDS = {"1 MB": 0.12, "25 MB": 0.2, "100 MB": 0.2}


def world(size: int, setup: str, run: str, more: str = "") -> str:
    """The setup that makes a world of so many ranks, and takes the names of its inputs."""
    made = f"ranks = Ranks(torch, {size}, {setup!r}, {run!r}{more})\n"
    return f"from tools.bench.ranks import Ranks\nranks = None\n{made}globals().update(ranks.names)\n"


def case(
    group: Group,
    name: str,
    size: int,
    setup: str,
    run: str,
    bound: float | None,
    others: str = "",
    more: str = "",
) -> Case:
    """A statement that all ranks run, or rank 0 while the others run `others`."""
    return Case(group, name, world(size, setup, others or run, more), run, bound, rounds=2, clock="wall")


def zeros(count: int) -> str:
    """Zeros: their sum stays what it is."""
    return f"x = torch.zeros({count})\n"


def in_arena(count: int) -> str:
    """The same where buckets of gradients lie, if there is such a place."""
    return (
        f"x = torch.zeros({count})\n"
        "link = getattr(dist.group.WORLD, 'communicator', None)\n"
        f"x = link().native.arena_empty({count}, x) if link else x\n"
    )


ALL_REDUCE = "dist.all_reduce(x)"
CASES = [
    case(COLLECTIVES, f"all_reduce {name}, {size} ranks", size, zeros(SIZES[name]), ALL_REDUCE, bound)
    for size, bounds in BOUNDS.items()
    for name, bound in bounds.items()
]
CASES += [
    case(ARENA, f"all_reduce {name}, 2 ranks", 2, in_arena(SIZES[name]), ALL_REDUCE, bound)
    for name, bound in ARENA_BOUNDS.items()
]

PARTS = "out = torch.zeros(2 * x.numel())\nhalf = x[: x.numel() // 2].clone()\ny = torch.zeros_like(x)\n"
OTHERS = {
    "all_gather": "dist.all_gather_into_tensor(out, x)",
    "reduce_scatter": "dist.reduce_scatter(half, [x[: half.numel()], x[half.numel() :]])",
    "broadcast": "dist.broadcast(x, 0)",
    "all_to_all": "dist.all_to_all_single(y, x)",
}
for _size, _bound in (("1 KB", 0.1), ("25 MB", 0.5)):
    CASES += [
        case(COLLECTIVES, f"{name} {_size}, 2 ranks", 2, zeros(SIZES[_size]) + PARTS, run, _bound)
        for name, run in OTHERS.items()
    ]
    # A message back, so that none is sent before the one before has come.
    CASES.append(
        case(
            COLLECTIVES,
            f"send {_size} and back, 2 ranks",
            2,
            zeros(SIZES[_size]),
            "dist.send(x, 1)\ndist.recv(x, 1)",
            _bound,
            others="dist.recv(x, 0)\ndist.send(x, 0)",
        )
    )

OVER_TCP = ", TL_DISTRIBUTED_TRANSPORT='tcp'"
CASES += [
    case(NETWORK, f"all_reduce {name}, 2 ranks", 2, zeros(SIZES[name]), ALL_REDUCE, bound, more=OVER_TCP)
    for name, bound in (("1 KB", None), ("1 MB", None), ("25 MB", 1.1), ("100 MB", 1.1))
]

PARAMETERS = {"120 parameters of 64x64": ([64] * 120, 64), "16 MB": ([2048], 2048)}
MODEL = """\
class Sum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.nn.ParameterList(torch.zeros(n, {width}) for n in {rows})
    def forward(self, x):
        return sum((w * x).sum() for w in self.weights)
model = Sum()
x = torch.ones({width})
"""
WRAP = "model = torch.nn.parallel.DistributedDataParallel(model)\n"
STEP = "model.zero_grad()\nmodel(x).backward()"
for _name, (_rows, _width) in PARAMETERS.items():
    _model = MODEL.format(rows=_rows, width=_width)
    CASES += [
        Case(DATA_PARALLEL, f"step alone, {_name}", _model, STEP, clock="wall"),
        case(DATA_PARALLEL, f"step with DDP, 2 ranks, {_name}", 2, _model + WRAP, STEP, None),
    ]

# A token bucket on the loopback of a network namespace of one's own, which takes the rights of the administrator. Both
# directions share it. The step should take what its computation or its transfer takes alone, whichever is longer.
BUCKET = """\
import ctypes, subprocess
NEW_NETWORK = 0x40000000
if ctypes.CDLL(None, use_errno=True).unshare(NEW_NETWORK):
    raise PermissionError("a network namespace takes the rights of the administrator")
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
bucket = ["rate", "4gbit", "burst", "256kb", "latency", "50ms"]
subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "tbf", *bucket], check=True)
"""
LAYERS = """\
model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024, bias=False) for _ in range(8)))
x = torch.randn({rows}, 1024)
"""
LAYERS_STEP = "model.zero_grad()\nmodel(x).sum().backward()"
WRAP_LAYERS = (
    "model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=4)\n"  # a layer a bucket
)
_timed = [("transfer alone, 32 MB", zeros(8 << 20), ALL_REDUCE)]
for _batch in (192, 512):  # the transfer takes longer, the computation does
    _model = LAYERS.format(rows=_batch)
    _timed.append((f"compute alone, {_batch} rows", _model, LAYERS_STEP))
    _timed.append((f"step with DDP, {_batch} rows", _model + WRAP_LAYERS, LAYERS_STEP))
for _name, _setup, _run in _timed:
    _made = world(2, _setup, _run, OVER_TCP)
    CASES.append(Case(LINK, f"{_name}, 2 ranks", BUCKET + _made, _run, rounds=2, clock="wall"))

LAUNCH = """\
import os, subprocess, sys, tempfile
folder = tempfile.mkdtemp()
program = os.path.join(folder, "program.py")
name = torch.__name__
with open(program, "w") as file:
    file.write(f"import {name}, {name}.distributed as dist\\ndist.init_process_group('gloo')\\n"
               f"dist.all_reduce({name}.ones(1))\\n")
command = [sys.executable, "-m", f"{name}.distributed.run", "--standalone"]
"""
STORE = """\
import importlib, resource
dist = importlib.import_module(f"{torch.__name__}.distributed")
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
keys = [f"rank{i}" for i in range(1000)]
"""
MEET = """\
server = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
clients = [dist.TCPStore("localhost", server.port, wait_for_workers=False) for _ in keys]
for key, client in zip(keys, clients):
    client.set(key, "here")
for client in clients:
    client.wait(keys)
for client in clients:
    client.multi_get(keys)
"""
CASES += [
    Case(
        START,
        f"launcher to the end of the first all_reduce, {size} ranks",
        LAUNCH + f"command += ['--nproc-per-node', '{size}', program]\n",
        "subprocess.run(command, check=True, capture_output=True)",
        bound=0.2,
        before="pass",
        rounds=1,
        clock="wall",
    )
    for size in (2, 4)
]
CASES.append(
    Case(
        START,
        "TCPStore: 1,000 clients connect, announce, wait, read all",
        STORE,
        MEET,
        bound=0.8,
        before="server = clients = client = None",
        rounds=2,
        clock="wall",
    )
)

FAKE_SETUP = """\
import importlib
dist = importlib.import_module(f"{{torch.__name__}}.distributed")
if torch.__name__ == "torch":
    from torch.testing._internal.distributed.fake_pg import FakeStore as Store
else:
    Store = dist.HashStore
dist.init_process_group("fake", store=Store(), rank=0, world_size={size})
class World:
    def __del__(self):
        dist.destroy_process_group()
world = World()
x = torch.zeros(4)
out = torch.zeros(4 * {size})
"""
GATHER = "dist.all_gather_into_tensor(out, x)"
CASES += [
    Case(FAKE, f"all_gather_into_tensor, world of {size}", FAKE_SETUP.format(size=size), GATHER)
    for size in (64, 4096)
]
CASES = [replace(each, clock="wall") for each in CASES]
