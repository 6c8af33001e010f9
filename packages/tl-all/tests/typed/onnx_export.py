"""Export to ONNX: names, dynamic sizes, the model of the program, a file."""

import tempfile
from pathlib import Path

import tl as torch
from tl import Tensor, nn
from tl.onnx import OnnxExporterError, ONNXProgram


class Pooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(16, 4)
        self.linear = nn.Linear(4, 2)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.embedding(tokens)
        if mask is not None:
            x = x * mask.unsqueeze(-1)
        scores: Tensor = self.linear(x.mean(dim=1))
        return scores


def export(model: nn.Module, folder: Path) -> ONNXProgram:
    tokens = torch.zeros(2, 5, dtype=torch.long)
    program = torch.onnx.export(
        model,
        (tokens,),
        input_names=["tokens"],
        output_names=["scores"],
        dynamic_shapes=({0: "batch", 1: "length"},),
        opset_version=18,
        dynamo=True,
    )
    assert program is not None
    program.save(folder / "model.onnx")
    return program


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            program = export(Pooled().eval(), Path(folder))
        except OnnxExporterError as error:
            print(error)
            return
        (scores,) = program.call_reference(torch.ones(3, 7, dtype=torch.long))
        print(scores.shape, torch.onnx.is_in_onnx_export(), len(list(Path(folder).iterdir())))


if __name__ == "__main__":
    main()
