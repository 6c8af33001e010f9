"""The command `tl`, and interpreters with the variable `TL_AS_TORCH`."""

import io
import os
import pty
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tl_commands import command_line, explain, main
from tl_commands.table import COMMANDS

import tl
from tl.version import tl as version

# It lies beside the package, in a checkout and in an environment.
START_LINE = (Path(tl.__file__).parents[1] / "tl_as_torch.pth").read_text()


def start(value: str, program: str) -> str:
    """A program that runs the start line of an interpreter with the variable first."""
    return f"import os\nos.environ['TL_AS_TORCH'] = {value!r}\nexec({START_LINE!r})\n{program}"


def test_list_of_commands(python, capsys):
    assert main([]) == 0
    overview = capsys.readouterr().out
    assert all(f"  {name} " in overview for name in COMMANDS)
    assert python("-m", "tl") == python("-m", "tl", "--help") == overview


def test_version_loads_nothing_of_tl(execute):
    loaded = "print('tl_core' in sys.modules, 'argparse' in sys.modules)"
    program = f"import sys, tl_commands\ntl_commands.main(['--version'])\n{loaded}"
    assert execute(program) == f"tl {version}\nFalse False\n"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "torch"])
def test_help_has_the_name_of_the_command(name, python):
    # An interpreter of its own: a runner of programs makes torch a name of tl.
    assert python("-m", "tl", name, "--help").startswith(f"usage: tl {name} ")


def test_unknown_command(capsys):
    assert main(["rum"]) == 2
    assert capsys.readouterr().err == "tl: there is no command 'rum'; did you mean 'run'?\n"
    assert main(["xyzzy"]) == 2
    assert "`tl --help` lists the commands" in capsys.readouterr().err
    assert main(["train.py"]) == 2
    assert (
        capsys.readouterr().err == "tl: there is no command 'train.py'; `tl torch train.py` runs a program\n"
    )


def test_a_command_of_a_missing_package(execute):
    program = """
import sys
sys.modules["tl_distributed"] = None
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "tl_profiler":
            raise ModuleNotFoundError("No module named 'tl_profiler'", name=name)
sys.meta_path.insert(0, Missing())
import tl_commands
print(tl_commands.main(["profile", "train.py"]))
"""
    text = "tl profile needs the package tl-profiler, which is not installed: pip install tl-profiler"
    assert sorted(execute(program).splitlines()) == ["1", text]


def test_wrong_calls_name_the_command(python):
    text = python("-m", "tl", "run", "--nproc-per-node", "x", "train.py", code=2)
    assert text.startswith("tl run: --nproc-per-node must be")
    text = python("-m", "tl", "profile", "nothing.py", code=2)
    assert text == "tl profile: there is no file 'nothing.py' to run\n"
    assert python("-m", "tl", "torch", "nothing.py", code=2).startswith("tl torch: cannot open nothing.py")


def test_the_profile_lists_its_files(python, tmp_path):
    program, page = tmp_path / "short.py", tmp_path / "page.html"
    program.write_text("import tl\nprint(tl.ones(2).sum().item())\n")
    text = python("-m", "tl", "profile", "--html", str(page), str(program))
    assert f"tl profile: {page} has " in text and page.stat().st_size > 1000


def test_an_exported_program_is_no_file_of_weights(tmp_path, capsys):
    path = tmp_path / "program.pt2"
    tl.export.save(tl.export.export(tl.nn.Linear(2, 2), (tl.ones(1, 2),)), path)
    assert main(["inspect", str(path)]) != 0
    assert (
        "an exported program, without a pickled object: torch.export.load reads it" in capsys.readouterr().err
    )
    with pytest.raises(RuntimeError, match=r"torch\.export\.load reads it"):
        tl.load(path)


@pytest.mark.parametrize("command", ["inspect", "verify"])
def test_an_archive_of_torchscript_is_no_file_of_weights(command, tmp_path, capsys):
    path = tmp_path / "program.ts"
    tl.jit.save(tl.jit.script(tl.nn.Linear(2, 2)), path)
    assert main([command, str(path)]) == 1
    text = "the file is a TorchScript archive, which holds a program: torch.jit.load reads it"
    assert capsys.readouterr().err == f"{path}: {text}\n"


def test_the_help_of_the_runner_into_a_closed_pipe(execute):
    program = """
import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
ended = subprocess.run([sys.executable, "-m", "tl", "torch", "--help"], stdout=writer, stderr=subprocess.PIPE)
print(ended.returncode, ended.stderr)
"""
    assert execute(program) == "1 b''\n"


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
@pytest.mark.parametrize("command", [("profile",), ("simulate", "--world", "2"), ("run",)])
def test_a_program_that_lacks_torch_shows_the_variable(command, python):
    text = python("-m", "tl", *command, "program.py", files={"program.py": "import torch\n"}, code=1)
    assert "ModuleNotFoundError: No module named 'torch'\n" in text
    assert text.count("torch is not installed; with TL_AS_TORCH=1 in the environment") == 1


def messages_of_pages():
    """The first message of each page of the catalogue, by the name of the page."""
    for page in explain.pages():
        lines = page.text.partition("Traceback (most recent call last):\n")[2].splitlines()
        yield page.name, "\n".join(lines[:3])


def test_each_message_of_the_catalogue_has_its_page():
    found = {name: explain.page_of(message).name for name, message in messages_of_pages()}
    assert len(found) >= 50
    # Both pages show the same message. The first one links to the second.
    assert found.pop("vmap-control-flow") == "vmap-item"
    assert {name: page for name, page in found.items() if name != page} == {}
    assert explain.page_of("KeyError: 'weights'") is None


def test_explanations(capsys, monkeypatch):
    assert main(["explain", "matmul-shapes"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# mat1 and mat2 shapes cannot be multiplied\n") and "## Fix\n" in text
    assert main(["explain", "mat1", "and mat2 shapes cannot be multiplied (8x32 and 33x10)"]) == 0
    assert capsys.readouterr().out == text
    monkeypatch.setattr(
        "sys.stdin", io.StringIO("Traceback ...\nRuntimeError: mat1 and mat2 shapes cannot be multiplied")
    )
    assert main(["explain", "-"]) == 0
    assert capsys.readouterr().out == text
    assert main(["explain", "nothing of this"]) == 1
    assert (
        capsys.readouterr().err == "tl explain: no page describes this error; `tl explain` lists the pages\n"
    )
    assert main(["explain"]) == 0
    assert "  matmul-shapes " in capsys.readouterr().out


@pytest.mark.parametrize("command", [("torch",), ("profile", "--table")])
def test_a_terminal_shows_the_page_of_an_error(command, tmp_path):
    (tmp_path / "program.py").write_text("import tl\ntl.ones(2, 3) @ tl.ones(2, 3)\n")
    terminal, child = pty.openpty()
    words = [sys.executable, "-m", "tl", *command, "program.py"]
    ended = subprocess.run(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=child, timeout=60)
    os.close(child)
    text = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert ended.returncode == 1
    assert text.splitlines()[-1] == "`tl explain matmul-shapes` describes causes and fixes"


def test_files_of_weights(tmp_path, capsys):
    path = str(tmp_path / "m.pt")
    tl.save({"weight": tl.ones(2, 3)}, path)
    assert main(["inspect", path]) == 0
    assert "weight" in capsys.readouterr().out
    assert main(["verify", path]) == 0
    assert main(["convert", path, "--to", str(tmp_path / "m.safetensors")]) == 0
    assert main(["inspect", str(tmp_path / "nothing.pt")]) == 1


def test_list_of_examples(python):
    text = python("-m", "tl.examples")
    assert "  gpt " in text and "corpus" not in text.split()[0::2][:20]
    assert "usage: tl examples gpt" in python("-m", "tl", "examples", "gpt", "--help")
    assert "invalid choice: 'nothing'" in python("-m", "tl", "examples", "nothing", code=2)


def test_a_program_from_the_standard_input(execute):
    program = """
import io, sys, tl.torch
sys.stdin = io.StringIO("import sys, torch; print(sys.argv, __name__, torch.__version__)")
tl.torch.main(["-", "a"])
"""
    assert execute(program) == "['-', 'a'] __main__ 2.7.0+tl\n"


def test_versions_of_the_runner(python):
    assert python("-m", "tl.torch", "--version") == f"python -m tl.torch: tl {version}, PyTorch's API 2.7.0\n"


def test_completion(monkeypatch, capsys):
    pytest.importorskip("shtab", reason="completion needs the extra of shtab")
    for shell in ("bash", "zsh", "tcsh"):
        assert main(["--print-completion", shell]) == 0
        text = capsys.readouterr().out
        assert all(name in text for name in COMMANDS)
    assert main(["--print-completion", "dos"]) == 2
    monkeypatch.setitem(__import__("sys").modules, "shtab", None)
    assert main(["--print-completion", "bash"]) == 1
    assert "pip install 'tl-all[completion]'" in capsys.readouterr().err


def test_the_failure_table_names_the_program(python):
    failing = "import torch\nraise SystemExit(3)\n"
    run = ("-m", "torch.distributed.run", "--nproc-per-node", "1", "fail.py")
    text = python("-m", "tl.torch", *run, files={"fail.py": failing}, code=3)
    assert "fail.py FAILED" in text


@pytest.mark.parametrize("value", ["", "0"])
def test_start_without_the_variable(execute, value):
    program = "import sys\nprint('tl_commands' in sys.modules, len(sys.meta_path))"
    unchanged = execute("import sys\nprint(False, len(sys.meta_path))")
    assert execute(start(value, program)) == unchanged


def test_the_first_import_of_torch_loads_tl(execute):
    program = """
import importlib.util, sys
assert importlib.util.find_spec("torch") is not None and "tl" not in sys.modules
from importlib.metadata import version
assert version("torch") == "2.7.0+tl"
import torch.nn, functorch
import tl
assert torch is tl and torch.nn is tl.nn and tl.__spec__.name == "tl"
assert importlib.util.find_spec("torch.linalg") is not None
print(torch.__version__)
"""
    assert execute(start("1", program)) == "2.7.0+tl\n"


def test_threads_that_import_torch_and_tl_at_once(execute):
    program = """
import importlib, threading
names = ("torch", "tl", "torch.nn", "tl_core", "functorch") * 4
threads = [threading.Thread(target=importlib.import_module, args=(name,)) for name in names]
for each in threads: each.start()
for each in threads: each.join()
import tl, torch
print(torch is tl)
"""
    assert execute(start("1", program)) == "True\n"


def test_an_installed_torch_stays_unless_forced(execute):
    files = {"torch/__init__.py": "name = 'another torch'\n"}
    program = "import torch\nprint(getattr(torch, 'name', None) or torch.__version__)"
    text = execute(start("1", program), files=files)
    assert "another torch" in text and "TL_AS_TORCH=1 has no effect: torch is installed" in text
    assert execute(start("force", program), files=files) == "2.7.0+tl\n"


def test_the_table_of_commands_is_complete():
    for command in COMMANDS.values():
        assert command.get_parser("tl x").prog == "tl x"
    assert command_line.version() == version
