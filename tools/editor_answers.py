"""`python -m tools.editor_answers`: the answers of a language server while a program that uses tl is written.

The server is pyright's, which editors run. It reads the installed packages. The exit status is 1 if an answer lacks a
name or a text that a user of the editor needs.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

PROGRAM = """import tl as torch
import tl.nn.functional as F
from tl import nn
from tl.utils.data import DataLoader

x = torch.rand(4, 8)
best = x.topk(2)
model = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""


class Question(NamedTuple):
    """A line at the end of the program, and the answer to a request at its end.

    Args:
        request: completion, hover, definition or signatureHelp.
        line: the line. The position of a hover or a definition is its last name.
        needs: the texts of the answer.
        lacks: the names that it must not offer.
    """

    request: str
    line: str
    needs: tuple[str, ...]
    lacks: tuple[str, ...] = ()


QUESTIONS = [
    Question(
        "completion", "x.", ("backward", "float", "numpy", "cpu", "to", "shape", "topk", "requires_grad_")
    ),
    Question("completion", "best.", ("values", "indices")),
    Question("completion", "F.", ("relu", "cross_entropy", "scaled_dot_product_attention"), ("annotations",)),
    Question("completion", "torch.linalg.", ("svd", "solve", "eigh"), ("annotations", "Any")),
    Question(
        "completion", "torch.utils.data.", ("DataLoader", "random_split", "Dataset"), ("arena", "spool")
    ),
    Question("completion", "model.", ("parameters", "state_dict", "load_state_dict", "append", "train")),
    Question("completion", "optimizer.", ("step", "zero_grad", "param_groups", "state_dict")),
    Question("completion", "nn.Conv", ("Conv1d", "Conv2d", "ConvTranspose2d")),
    Question("hover", "F.cross_entropy", ("input: Tensor", "label_smoothing", "-> Tensor")),
    Question("hover", "nn.Linear", ("in_features: int", "bias: bool")),
    Question("hover", "torch.einsum", ("equation", "operands", "-> Tensor")),
    Question("hover", "x.backward", ("retain_graph",)),
    Question("signatureHelp", "nn.Conv2d(", ("in_channels", "kernel_size", "padding_mode")),
    Question("signatureHelp", "torch.optim.AdamW(", ("lr", "weight_decay")),
    Question("signatureHelp", "DataLoader(", ("batch_size", "num_workers")),
    Question("definition", "nn.Linear", ("tl_nn",)),
    Question("definition", "torch.einsum", ("tl",)),
    Question("definition", "F.relu", ("tl",)),
]


class Server:
    """A language server for a folder, as a context manager.

    Args:
        folder: the folder of the program.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.numbers = itertools.count(1)

    def __enter__(self) -> Self:
        command = ["pyright-langserver", "--stdio"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        root = self.folder.as_uri()
        formats = {"contentFormat": ["markdown"]}
        abilities = {"textDocument": {"hover": formats}, "workspace": {"configuration": True}}
        self.ask("initialize", {"processId": None, "rootUri": root, "capabilities": abilities,
                                "workspaceFolders": [{"uri": root, "name": "program"}]})  # fmt: skip
        self.send("initialized", {})
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()

    def send(self, method: str, parameters: Any, **rest: Any) -> None:
        """Sends a message."""
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": parameters, **rest}).encode()
        self.write(body)

    def write(self, body: bytes) -> None:
        """Writes a message with its length."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """Reads the next message."""
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while line := stream.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        if not length:
            raise SystemExit("the language server ended")
        message: dict[str, Any] = json.loads(stream.read(length))
        return message

    def ask(self, method: str, parameters: Any) -> Any:
        """The result of a request. Requests of the server for settings get the interpreter's path."""
        number = next(self.numbers)
        self.send(method, parameters, id=number)
        while True:
            message = self.read()
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']['message']}")
                return message["result"]
            if "id" in message and "method" in message:
                self.reply(message)

    def reply(self, message: dict[str, Any]) -> None:
        """Answers a request of the server."""
        result: Any = None
        if message["method"] == "workspace/configuration":
            result = [{"pythonPath": sys.executable} for _ in message["params"]["items"]]
        self.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())


def texts(value: Any) -> Iterator[str]:
    """All texts in an answer."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)


def answer(server: Server, file: Path, question: Question) -> list[str]:
    """The names of a completion, or the texts of another answer."""
    text = f"{PROGRAM}{question.line}\n"
    document = {"uri": file.as_uri()}
    server.send("textDocument/didOpen", {"textDocument": {**document, "languageId": "python", "version": 1,
                                                          "text": text}})  # fmt: skip
    back = question.request in ("hover", "definition")
    position = {"line": PROGRAM.count("\n"), "character": len(question.line) - back}
    result = server.ask(f"textDocument/{question.request}", {"textDocument": document, "position": position})
    if question.request == "completion":
        items = result["items"] if isinstance(result, dict) else result or []
        return [item["label"] for item in items]
    return [*texts(result)]


def problems(question: Question, found: list[str]) -> list[str]:
    """The texts that an answer lacks, and the names that it must not have."""
    if question.request == "completion":
        missing = [name for name in question.needs if name not in found]
        wrong = [name for name in question.lacks if name in found]
    else:
        missing = [text for text in question.needs if not any(text in part for part in found)]
        wrong = []
    return [f"lacks {name}" for name in missing] + [f"offers {name}" for name in wrong]


def main() -> int:
    """Asks all questions and prints the answers that fall short."""
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        with Server(folder) as server:
            for number, question in enumerate(QUESTIONS):
                found = answer(server, folder / f"program_{number}.py", question)
                lines = problems(question, found)
                faults += bool(lines)
                print(
                    *(f"{question.request} of {question.line!r}: {line}" for line in lines), sep="\n", end=""
                )
                if lines:
                    print("\n   ", " ".join(found)[:300])
    print(f"{len(QUESTIONS) - faults} of {len(QUESTIONS)} answers are complete")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
