"""Messages, memory and time of one step of a cut transformer.

The time of a pipeline's rank is that of its products, of its work that memory bounds, of the sums over tensor-parallel
ranks and of the messages to its neighbours. The bubble prolongs all of it. The sum of the gradients follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .machine import Machine
from .transformer import Transformer

HALF, FULL = 2, 4  # bytes of an element
_OPTIMIZER = 12  # bytes of an element: a copy of the weight and two moments in float32
_ACTIVATIONS = 34  # bytes of a layer, token and width that a pass without recomputing stores
_CHECKPOINT = 14  # bytes of an element in a file: the weight in half precision, and the optimizer's


@dataclass(frozen=True)
class Plan:
    """The cut of a training job.

    Args:
        mesh: the number of ranks by dimension, from the outermost: `dp`, `pp` and `tp`.
        batch: the sequences of a step.
        microbatch: the sequences that a pipeline works on at a time.
        chunks: the stages of a rank.
        recomputes: whether the backward pass runs the forward pass again.
        shards_parameters: whether data-parallel ranks share the parameters (ZeRO-3, FSDP).
    """

    mesh: Mapping[str, int]
    batch: int
    microbatch: int = 1
    chunks: int = 1
    recomputes: bool = True
    shards_parameters: bool = False

    def __post_init__(self) -> None:
        unknown = sorted(set(self.mesh) - {"dp", "pp", "tp"})
        if unknown or any(size < 1 for size in self.mesh.values()):
            raise ValueError(f"mesh: expected sizes of dp, pp and tp, got {dict(self.mesh)}")
        if self.batch % (self.size("dp") * self.microbatch):
            raise ValueError(
                f"batch {self.batch} isn't a multiple of {self.size('dp')} data-parallel ranks x microbatches of "
                f"{self.microbatch}"
            )

    def size(self, dimension: str) -> int:
        """The number of ranks of a dimension."""
        return self.mesh.get(dimension, 1)

    def world(self) -> int:
        """The number of ranks."""
        return self.size("dp") * self.size("pp") * self.size("tp")

    def microbatches(self) -> int:
        """The microbatches of a step."""
        return self.batch // (self.size("dp") * self.microbatch)

    def is_inside(self, dimension: str, machine: Machine) -> bool:
        """True if the ranks of a dimension are on one machine."""
        within = 1
        for name in reversed(list(self.mesh)):
            within *= self.mesh[name]
            if name == dimension:
                break
        return within <= machine.ranks


@dataclass
class Estimate:
    """The cost of a step for one rank.

    Args:
        seconds: by part: `products`, `memory`, `tp`, `pp`, `bubble` and `dp`.
        messages: by dimension, the number that a rank sends.
        sent: by dimension, the bytes.
        level: by dimension, `inside` or `between` machines.
        memory: bytes by part: `parameters`, `gradients`, `optimizer` and `activations`.
        bubble: the idle time of a pipeline, as a part of its work.
        speed: the floating-point operations of a rank in a second.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)
    sent: dict[str, float] = field(default_factory=dict)
    level: dict[str, str] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)
    bubble: float = 0.0
    speed: float = 0.0

    def total(self) -> float:
        """The seconds of a step."""
        return sum(self.seconds.values())


def estimate(model: Transformer, plan: Plan, machine: Machine) -> Estimate:
    """The cost of a step.

    Args:
        model: the model.
        plan: its cut.
        machine: the machines of the job.

    Returns:
        Messages, memory and time of one rank.

    Example:
        >>> from tl_distributed.planning.machine import machine
        >>> from tl_distributed.planning.transformer import MODELS
        >>> plan = Plan({"dp": 8, "pp": 35, "tp": 8}, 1920)
        >>> estimate(MODELS["530b"], plan, machine("a100x8")).level
        {'tp': 'inside', 'pp': 'between', 'dp': 'between'}
    """
    result = Estimate()
    _count_messages(result, model, plan, machine)
    _weigh(result, model, plan)
    work = model.operations(plan.batch, plan.recomputes) / plan.world()
    tensor, layers = plan.size("tp"), model.layers / plan.size("pp")
    tokens = plan.microbatches() * plan.microbatch * model.sequence
    # A layer reads and writes its activations about three times; a half of them is shared by tensor-parallel ranks.
    moved = 3 * _ACTIVATIONS * tokens * model.hidden * (0.5 + 0.5 / tensor) * layers
    seconds = result.seconds
    seconds["products"] = work / machine.speed(model.hidden)
    seconds["memory"] = moved / machine.memory
    for dimension in ("tp", "pp", "dp"):
        if dimension in result.sent:
            rate = machine.inside if result.level[dimension] == "inside" else machine.between
            seconds[dimension] = result.sent[dimension] / rate
    result.bubble = (plan.size("pp") - 1) / (plan.chunks * plan.microbatches())
    in_pipeline = sum(seconds.get(name, 0.0) for name in ("products", "memory", "tp", "pp"))
    seconds["bubble"] = in_pipeline * result.bubble
    if plan.shards_parameters and "dp" in seconds:
        seconds["dp"] = _visible_seconds(seconds["dp"], in_pipeline, plan.recomputes)
    result.speed = work / result.total()
    return result


def _visible_seconds(sharing: float, computing: float, recomputes: bool) -> float:
    """The seconds of shared parameters that no computation hides.

    A third is the gathering before the forward pass, which goes on beside it. The other two thirds go on beside the
    backward pass.
    """
    forward = computing / (4 if recomputes else 3)
    backward = computing - forward
    return max(0.0, sharing / 3 - forward) + max(0.0, 2 * sharing / 3 - backward)


def _count_messages(result: Estimate, model: Transformer, plan: Plan, machine: Machine) -> None:
    tensor, pipeline, data = plan.size("tp"), plan.size("pp"), plan.size("dp")
    microbatches = plan.microbatches()
    activation = plan.microbatch * model.sequence * model.hidden * HALF
    own = model.parameters() / (tensor * pipeline)
    if tensor > 1:  # two sums in each layer and pass
        sums = (6 if plan.recomputes else 4) * microbatches * model.layers // pipeline
        _add(
            result,
            plan,
            machine,
            "tp",
            2 * (tensor - 1) * sums,
            2 * (tensor - 1) / tensor * activation * sums,
        )
    if pipeline > 1:  # one each way; each tensor-parallel rank sends its part
        count = 2 * microbatches * plan.chunks
        _add(result, plan, machine, "pp", count, count * activation / tensor)
    if data > 1:
        gradients = 2 * (data - 1) / data * own * HALF
        passes = microbatches * 1.5 if plan.shards_parameters else 1  # gathered twice and reduced
        count = round(2 * (data - 1) * passes)
        _add(result, plan, machine, "dp", count, gradients * passes)


def _add(result: Estimate, plan: Plan, machine: Machine, dimension: str, count: int, sent: float) -> None:
    result.messages[dimension], result.sent[dimension] = count, sent
    result.level[dimension] = "inside" if plan.is_inside(dimension, machine) else "between"


def _weigh(result: Estimate, model: Transformer, plan: Plan) -> None:
    """The bytes of a rank; data-parallel ranks share the state of the optimizer."""
    own = model.parameters() / (plan.size("tp") * plan.size("pp"))
    shard = own / plan.size("dp") if plan.shards_parameters else own
    in_flight = min(plan.size("pp"), plan.microbatches())
    a_layer = plan.microbatch * model.sequence * model.hidden
    per_layer = HALF * a_layer if plan.recomputes else _ACTIVATIONS * a_layer / plan.size("tp")
    result.memory = {
        "parameters": HALF * shard,
        "gradients": FULL * shard,
        "optimizer": _OPTIMIZER * own / plan.size("dp"),
        "activations": per_layer * model.layers / plan.size("pp") * in_flight,
    }


def checkpoint_bytes(model: Transformer) -> float:
    """The bytes of a checkpoint with the state of the optimizer."""
    return _CHECKPOINT * float(model.parameters())


def table(model: Transformer, plan: Plan, result: Estimate) -> list[str]:
    """An estimate as lines of text.

    Args:
        model: the model.
        plan: its cut.
        result: the estimate.
    """
    mesh = " x ".join(f"{name} {size}" for name, size in plan.mesh.items())
    lines = [
        (
            f"{model.parameters() / 1e9:.1f} B parameters on {plan.world()} ranks: {mesh}, "
            f"{plan.microbatches()} microbatches of {plan.microbatch}"
        )
    ]
    lines += [
        f"{name}: {result.messages[name]} messages, {result.sent[name] / 1e9:.4g} GB, {result.level[name]} machines"
        for name in result.messages
    ]
    memory = ", ".join(f"{name} {size / 2**30:.4g} GiB" for name, size in result.memory.items())
    lines.append(f"memory: {memory}, together {sum(result.memory.values()) / 2**30:.4g} GiB")
    parts = ", ".join(f"{name} {seconds:.4g}" for name, seconds in result.seconds.items())
    lines.append(f"seconds: {parts}, together {result.total():.4g}; bubble {100 * result.bubble:.1f} %")
    lines.append(f"speed: {result.speed / 1e12:.4g} TFLOP/s a rank")
    return lines
