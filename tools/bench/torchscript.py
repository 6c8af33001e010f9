"""Programs of TorchScript: reading archives, running them, tracing and compiling models.

The archives that are read are those of tl-compiler's tests, which PyTorch wrote, so both sides read the same bytes. The
programs that run are compiled or traced, written and read by each side.

With `--peer-module tl` both sides are tl's. The group `TorchScript, against eager modules` then compares a program with
its module.
"""

from __future__ import annotations

from tools.bench.cases import Case, Group
from tools.bench.training import GPT, LENET, MLP, RESNET, START
from tools.packages import ROOT

LOADS = Group("TorchScript, load", mean=1.3)
RUNS = Group("TorchScript, run", mean=0.55)
EAGER = Group("TorchScript, against eager modules", mean=1.1)
COMPILES = Group("TorchScript, trace and script")

ARCHIVES = ROOT / "packages" / "tl-compiler" / "tests" / "archives"
READ = """\
import io, pathlib
data = pathlib.Path({path!r}).read_bytes()
"""
NAMES = (
    "perceptron_script",
    "control",
    "frozen",
    "image_trace",
    "lstm_trace",
    "gru_trace",
    "transformer_trace",
)

# A class whose source the compiler can read: that of a file.
CONTROL = (
    START
    + '''\
import atexit, importlib.util, pathlib, shutil, sys, tempfile
folder = tempfile.mkdtemp()
atexit.register(shutil.rmtree, folder)

def module_of(name, text):
    """A module of Python with a source file."""
    path = pathlib.Path(folder, name + ".py")
    path.write_text(f"import {torch.__name__} as torch\\nfrom torch import Tensor\\n".replace(
        "from torch", f"from {torch.__name__}") + text)
    spec = importlib.util.spec_from_file_location(name, path)
    result = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(result)
    return result

'''
)
CONTROLLED = """\
class Control(torch.nn.Module):
    def forward(self, x: Tensor, n: int):
        total = torch.zeros_like(x)
        values: list[int] = []
        for i in range(n):
            if i % 2 == 0:
                total = total + x * i
            else:
                total = total - x
            values.append(i)
        return total, len(values)
"""
RECURRENT = """\
class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = torch.nn.LSTM(32, 64, 2, batch_first=True)

    def forward(self, x: Tensor):
        return self.cells(x)[0][:, -1]
"""
WRITE = """\
import io
model = model.eval()
with torch.no_grad():
    program = {program}
    buffer = io.BytesIO()
    torch.jit.save(program, buffer)
    loaded = torch.jit.load(io.BytesIO(buffer.getvalue()))
"""
TRACED, SCRIPTED = "torch.jit.trace(model, arguments, check_trace=False)", "torch.jit.script(model)"
IMAGE = "arguments = (torch.randn(1, {channels}, {size}, {size}),)\n"

# The setup of each model, with its arguments, and how it is compiled.
MODELS = {
    "MLP, scripted": (MLP + "arguments = (x[:8],)\n", SCRIPTED),
    "a loop over numbers, scripted": (
        CONTROL
        + f"model = module_of('bench_control', {CONTROLLED!r}).Control()\narguments = (torch.randn(16), 20)\n",
        SCRIPTED,
    ),
    "LeNet, scripted": (LENET + IMAGE.format(channels=1, size=28), SCRIPTED),
    "ResNet-18, 64x64, traced": (RESNET + "model = resnet18()\n" + IMAGE.format(channels=3, size=64), TRACED),
    "GPT of 2 layers of 64, traced": (
        GPT.replace("t > 1", "True")
        + "model = GPT(layers=2, width=64, heads=4)\narguments = (torch.randint(0, 96, (1, 32)),)\n",
        TRACED,
    ),
    "LSTM of 2 layers of 64, scripted": (
        CONTROL
        + f"model = module_of('bench_recurrent', {RECURRENT!r}).Recurrent()\narguments = (torch.randn(4, 16, 32),)\n",
        SCRIPTED,
    ),
    "encoder layer of 64, traced": (
        START
        + "model = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)\narguments = (torch.randn(2, 16, 64),)\n",
        TRACED,
    ),
}
_RUN, _PLAIN = "with torch.no_grad():\n    loaded(*arguments)", "with torch.no_grad():\n    model(*arguments)"
RESNET18 = RESNET + "model = resnet18().eval()\nx = torch.randn(1, 3, 64, 64)\n"
# Blocks of a file, whose source the compiler reads.
SOURCE18 = (
    CONTROL
    + f"blocks = {RESNET.removeprefix(START)!r}\n"
    + "text = 'nn, F = torch.nn, torch.nn.functional\\n' + blocks\n"
    + "model = module_of('bench_resnet', text).resnet18().eval()\n"
)

CASES = [
    *(
        Case(
            LOADS,
            name.replace("_", ", "),
            READ.format(path=str(ARCHIVES / f"{name}.pt")),
            "torch.jit.load(io.BytesIO(data))",
        )
        for name in NAMES
    ),
    *(Case(RUNS, name, setup + WRITE.format(program=how), _RUN) for name, (setup, how) in MODELS.items()),
    *(
        Case(EAGER, name, setup + WRITE.format(program=how), _RUN, peer=_PLAIN)
        for name, (setup, how) in MODELS.items()
    ),
    Case(
        COMPILES,
        "ResNet-18, 64x64: trace",
        RESNET18,
        "torch.jit.trace(model, (x,))",
        bound=0.3,
    ),
    Case(COMPILES, "ResNet-18: script", SOURCE18, "torch.jit.script(model)", bound=0.5),
]
