"""Graphs of a program: compile, export, symbolic tracing with fx, and functions that stay outside of graphs."""

import tempfile
from pathlib import Path
from typing import Any

import tl as torch
from tl import Tensor, fx, nn
from tl.export import Dim, ExportedProgram, export
from tl.fx import GraphModule, symbolic_trace


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 2)
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.act(self.linear(x))
        return y


@torch.compile
def scaled(x: Tensor, factor: float) -> Tensor:
    return x * factor


@torch.compile(fullgraph=True, dynamic=False, backend="eager")
def shifted(x: Tensor) -> Tensor:
    return x + 1


@torch.compiler.disable
def outside(x: Tensor) -> Tensor:
    return x.clone()


class Counter(fx.Interpreter):
    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.n_calls = 0

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.n_calls += 1
        return super().call_module(target, args, kwargs)


def replace_relu(module: nn.Module) -> GraphModule:
    traced: GraphModule = symbolic_trace(module)
    for node in traced.graph.nodes:
        if node.op == "call_module" and isinstance(traced.get_submodule(str(node.target)), nn.ReLU):
            with traced.graph.inserting_after(node):
                new = traced.graph.call_function(torch.sigmoid, args=(node.args[0],))
            node.replace_all_uses_with(new)
            traced.graph.erase_node(node)
    traced.recompile()
    return traced


def main() -> None:
    torch.manual_seed(0)
    model = MLP().eval()
    x = torch.randn(3, 4)
    compiled = torch.compile(model, backend="eager")
    print(compiled(x).shape, scaled(x, 2.0).sum().item(), shifted(x).shape, outside(x).shape)
    batch = Dim("batch", min=1, max=64)
    program: ExportedProgram = export(model, (x,), dynamic_shapes={"x": {0: batch}})
    print(program.graph_signature, program.module()(torch.randn(5, 4)).shape)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt2"
        torch.export.save(program, path)
        again = torch.export.load(path)
        print(len(list(again.graph.nodes)), again.state_dict.keys())
    counter = Counter(symbolic_trace(model))
    counter.run(x)
    print(counter.n_calls, replace_relu(model).code)
    print(torch.allclose(model(x), compiled(x)), torch.compiler.is_compiling())


if __name__ == "__main__":
    main()
