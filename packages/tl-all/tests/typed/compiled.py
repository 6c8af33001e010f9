"""Compiled programs: options, a backend of your own, stances, frozen models, graphs of steps."""

from collections.abc import Callable

import tl as torch
from tl import Tensor, nn
from tl.fx import GraphModule


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        y: Tensor = self.norm(self.linear(x) * scale).relu()
        return y


def count_nodes(graph: GraphModule, examples: list[Tensor]) -> Callable[..., tuple[Tensor, ...]]:
    print(len(examples) > 0, any(node.op == "output" for node in graph.graph.nodes))
    forward: Callable[..., tuple[Tensor, ...]] = graph.forward
    return forward


@torch.compile(mode="reduce-overhead", dynamic=True)
def gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def main() -> None:
    torch.manual_seed(0)
    model, x = Block().eval(), torch.randn(2, 4)
    compiled = torch.compile(model, backend=count_nodes, fullgraph=True)
    print(torch.equal(compiled(x), model(x)), gelu(x).shape, torch.compiler.list_backends() != [])
    model.compile(backend="eager")
    with torch.compiler.set_stance("force_eager"):
        print(model(x, scale=2.0).shape)
    frozen = torch.compiler.freeze(Block().eval(), (x,))
    print(frozen(x).shape)
    torch.compiler.reset()
    torch._dynamo.config.cache_size_limit = 8
    print(torch.compiler.is_compiling(), torch.compiler.is_exporting())


if __name__ == "__main__":
    main()
