"""Enumerations that are classes of C++ in PyTorch: their numbers, and files that go from one program to the other."""

import copy
import io
import pickle
import zipfile

import pytest

import tl
from tl_checkpoint.class_names import resolve
from tl_checkpoint.object_unpickler import unpickle

NUMBERS = {  # of PyTorch 2.13, by module and name in its pickles
    "torch._C._monitor Aggregation": "VALUE=0 MEAN=2 COUNT=3 SUM=4 MAX=5 MIN=6",
    "torch._C._functorch RandomnessType": "Error=0 Same=1 Different=2",
    "torch._C._functorch TransformType": "Torch=0 Grad=2 Jvp=3 Functionalize=4 Vmap=1",
    "torch._C._profiler ActiveProfilerType": "NONE=0 LEGACY=1 KINETO=2 NVTX=3 ITT=4 PRIVATEUSE1=5",
    "torch._C._profiler ProfilerActivity": "CPU=0 XPU=1 MTIA=4 CUDA=2 HPU=3 PrivateUse1=5",
    "torch._C._profiler ProfilerState": (
        "Disabled=0 CPU=1 CUDA=2 NVTX=3 ITT=4 PRIVATEUSE1=5 KINETO=6 KINETO_GPU_FALLBACK=7 "
        "KINETO_PRIVATEUSE1_FALLBACK=8 KINETO_PRIVATEUSE1=9"
    ),
    "torch._C._profiler RecordScope": (
        "FUNCTION=0 BACKWARD_FUNCTION=1 TORCHSCRIPT_FUNCTION=2 KERNEL_FUNCTION_DTYPE=3 CUSTOM_CLASS=4 "
        "BUILD_FEATURE=5 LITE_INTERPRETER=6 USER_SCOPE=7 STATIC_RUNTIME_OP=8 STATIC_RUNTIME_MODEL=9"
    ),
    "torch._C._profiler _EventType": "TorchOp=0 Backend=1 Vulkan=2 Allocation=3 PyCall=5 PyCCall=6 Kineto=7",
    "torch._C _ConvBackend": (
        "CudaDepthwise2d=0 CudaDepthwise3d=1 Cudnn=2 CudnnTranspose=3 Empty=4 Miopen=5 MiopenDepthwise=6 "
        "MiopenTranspose=7 Mkldnn=8 MkldnnEmpty=10 NnpackSpatial=11 Overrideable=12 Slow2d=13 Slow3d=14 "
        "SlowDilated2d=15 SlowDilated3d=16 SlowTranspose2d=17 SlowTranspose3d=18 Winograd3x3Depthwise=19 "
        "Xnnpack2d=20 Mps=21"
    ),
    "torch._C _TorchDispatchModeKey": "FUNCTIONAL=2 PROXY=1 FAKE=0",
    "torch.distributed.distributed_c10d DebugLevel": "OFF=0 INFO=1 DETAIL=2",
    "torch._C._autograd DeviceType": (
        "CPU=0 CUDA=1 MKLDNN=2 OPENGL=3 OPENCL=4 IDEEP=5 HIP=6 FPGA=7 MAIA=8 XLA=9 Vulkan=10 Metal=11 XPU=12 "
        "MPS=13 MTIA=19 Meta=14 HPU=15 VE=16 Lazy=17 IPU=18 PrivateUse1=20"
    ),
    "torch._C._distributed_c10d ReduceOp.RedOpType": (
        "SUM=0 AVG=1 PRODUCT=2 MIN=3 MAX=4 BAND=5 BOR=6 BXOR=7 PREMUL_SUM=8"
    ),
}
OUTER = {"RedOpType": "torch.distributed.distributed_c10d ReduceOp"}  # which pickles without dotted names say


def kind_of(path):
    """The class of ours."""
    module, name = path.split()
    outer, *inner = name.split(".")
    result = resolve(f"{module}.{outer}")
    return getattr(result, inner[0]) if inner else result


def as_pytorch(path, number, protocol):
    """The pickle that PyTorch writes of a value."""
    module, name = path.split()
    last = name.rpartition(".")[2]
    if protocol >= 4:
        texts = b"".join(b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name))
        kind = texts + pickle.STACK_GLOBAL
    elif last in OUTER:
        outer = OUTER[last].replace(" ", "\n")
        attribute = b"X" + len(last).to_bytes(4, "little") + last.encode() + pickle.TUPLE2
        kind = f"c__builtin__\ngetattr\nc{outer}\n".encode() + attribute + pickle.REDUCE
    else:
        kind = f"c{module}\n{name}\n".encode()
    return (
        b"\x80"
        + bytes([protocol])
        + kind
        + b")"
        + pickle.NEWOBJ
        + b"K"
        + bytes([number])
        + pickle.BUILD
        + b"."
    )


class Native(type):
    """A class of PyTorch, whose values keep the number that they are told; attributes are classes in it."""

    def __getattr__(cls, name):
        return Native(f"{cls.__name__}.{name}", (Value,), {})


class Value:
    def __setstate__(self, number):
        self.number = number


class PyTorch(pickle.Unpickler):
    def find_class(self, module, name):
        if module.startswith("torch"):
            return Native(f"{module} {name}", (Value,), {})
        return super().find_class(module, name)


def written(value, protocol):
    """What PyTorch would make of a value in a file of ours: the class, the number."""
    file = io.BytesIO()
    tl.save(value, file, pickle_protocol=protocol)
    archive = zipfile.ZipFile(file)
    (name,) = (each for each in archive.namelist() if each.endswith("data.pkl"))
    text = PyTorch(io.BytesIO(archive.read(name))).load()
    return type(text).__name__, text.number


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("path", NUMBERS)
def test_values_go_both_ways(path, protocol):
    kind = kind_of(path)
    in_files = OUTER.get(path.rpartition(".")[2])
    expected = f"{in_files}.{path.rpartition('.')[2]}" if in_files else path
    for word in NUMBERS[path].split():
        name, number = word.split("=")
        read = unpickle(io.BytesIO(as_pytorch(path, int(number), protocol)), persistent=None)
        assert read == kind[name] and (read.name, int(read)) == (name, int(number))
        assert written(kind[name], protocol) == (expected, int(number))


@pytest.mark.parametrize("path", NUMBERS)
def test_values_are_equal_by_number(path):
    kind = kind_of(path)
    for member in kind.__members__.values():
        copied = pickle.loads(pickle.dumps(member))
        assert copied == member and hash(copied) == hash(member) == hash(int(member)) and copied in {member}
        assert repr(copied) == f"<{kind.__name__}.{member.name}: {member.value}>"
        assert copy.deepcopy(member) is member and kind(member.value) is member
    assert member != next(iter(kind.__members__.values()))
    with pytest.raises(ValueError, match=f"77 is not a valid {kind.__qualname__}"):
        kind(77)


def test_a_value_from_a_file_reduces(tmp_path):
    tl.save({"op": tl.distributed.ReduceOp.MAX}, tmp_path / "op.pt")
    op = tl.load(tmp_path / "op.pt", weights_only=False)["op"]
    tl.distributed.init_process_group("gloo", store=tl.distributed.HashStore(), rank=0, world_size=1)
    tensor = tl.ones(2)
    tl.distributed.all_reduce(tensor, op=op)
    tl.distributed.destroy_process_group()
    assert tensor.tolist() == [1, 1]
