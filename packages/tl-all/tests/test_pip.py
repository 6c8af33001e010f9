"""`tl pip`: libraries that ask for torch are installed without it."""

import zipfile

import pytest
from tl_commands import main, pip


def wheel(folder, name, version, *requirements):
    """Writes a wheel with one module of its name."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {each}\n" for each in requirements)
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for each, text in files.items():
            archive.writestr(each, text)


@pytest.fixture
def index(tmp_path):
    """A folder of wheels with a torch, as an index has it: with libraries for GPUs."""
    folder = tmp_path / "index"
    folder.mkdir()
    wheel(folder, "torch", "2.14.1", "gpu_runtime")
    wheel(folder, "torch", "2.7.0", "gpu_runtime")
    wheel(folder, "gpu_runtime", "1.0")
    wheel(folder, "vision", "0.29", "torch==2.14.1")
    wheel(folder, "vision", "0.22", "torch==2.7.0", "pictures>=2")
    wheel(folder, "pictures", "2.1")
    wheel(folder, "trainer", "1.5", "torch>=2.1", "vision", "pictures<3")
    wheel(folder, "newest", "3.0", "torch>=2.9")
    return folder


def install(index, target, *arguments):
    options = ["--no-index", "--find-links", str(index), "--target", str(target)]
    return main(["pip", "install", *options, *arguments])


def test_no_torch_comes_along(index, tmp_path):
    target = tmp_path / "target"
    assert install(index, target, "trainer") == 0
    modules = {path.stem for path in target.glob("*.py")}
    # the newest vision that works with the version of the API
    assert modules == {"trainer", "vision", "pictures"} and (target / "vision-0.22.dist-info").exists()


def test_requirements_from_a_file(index, tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("torch\npictures\n")
    target = tmp_path / "target"
    assert install(index, target, "-r", str(file)) == 0
    assert {path.stem for path in target.glob("*.py")} == {"pictures"}


def test_dry_run(index, tmp_path, capsys):
    target = tmp_path / "target"
    assert install(index, target, "--dry-run", "trainer") == 0
    words = capsys.readouterr().out.removeprefix("would install ").split()
    assert sorted(words) == ["pictures==2.1", "trainer==1.5", "vision==0.22"] and not target.exists()
    assert install(index, target, "torch") == 0
    assert "tl takes the place of torch" in capsys.readouterr().out


def test_a_library_for_a_newer_torch(index, tmp_path, capfd):
    assert install(index, tmp_path / "target", "newest") != 0
    assert "tl pip: torch has the version 2.7.0+tl here" in capfd.readouterr().err


def test_overrides(capsys):
    assert main(["pip", "overrides"]) == 0
    assert capsys.readouterr().out == pip.OVERRIDES


def test_an_environment_without_pip(monkeypatch, capsys):
    monkeypatch.setattr(pip, "find_spec", lambda name: None)
    assert main(["pip", "install", "trainer"]) == 1
    assert "uv pip install --override tl-overrides.txt" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["-t", "--target", "--proxy", "--no-binary", "-i", "--cert", "--timeout"])
def test_options_of_the_installation_keep_their_values(option):
    assert pip.installation_options(["trainer", option, "value", "--upgrade"]) == [
        option,
        "value",
        "--upgrade",
    ]


@pytest.mark.parametrize(
    "option", ["-r", "--requirement", "-e", "--editable", "-c", "--constraint", "--report"]
)
def test_options_of_requirements_leave_with_their_values(option):
    assert pip.installation_options([option, "value", "trainer", "--upgrade"]) == ["--upgrade"]
    assert pip.installation_options([f"{option}=value"]) == []
    assert option.startswith("--") or pip.installation_options([f"{option}value"]) == []
