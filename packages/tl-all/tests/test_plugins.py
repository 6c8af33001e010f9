"""Names that other people's packages add."""

import pytest

ENTRIES = """
# other groups are none of our affair
[console_scripts]
npu = my_npu:main

[tl.plugins]
npu = my_npu
nn.fancy = my_npu.fancy

[tl.names]
twice = my_npu:twice
nn.parallel.MyParallel = my_npu.fancy:MyParallel
nn.functional.triple = my_npu.fancy:triple
zeros = my_npu:twice  [extra]
nn.Linear = my_npu:twice
"""

FILES = {
    "my_npu-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: my-npu\nVersion: 1.0\n",
    "my_npu-1.0.dist-info/entry_points.txt": ENTRIES,
    "my_npu/__init__.py": "def twice(x): return 2 * x\ndef __getattr__(name):\n    raise AttributeError(name)\n",
    "my_npu/fancy.py": "class MyParallel: pass\ndef triple(x): return 3 * x\n"
    "if __name__ == '__main__': print('main')\n",
}


@pytest.fixture
def with_plugin(execute):
    return lambda program: execute(program, files=FILES)


def test_modules(with_plugin):
    with_plugin("import tl, tl.npu, my_npu\nassert tl.npu is my_npu\nassert my_npu.__spec__.name == 'my_npu'")
    with_plugin("import tl\nfound = tl.npu\nimport my_npu\nassert found is my_npu")
    with_plugin(
        "from tl.nn import fancy\nimport tl, my_npu.fancy\nassert tl.nn.fancy is fancy is my_npu.fancy"
    )
    with_plugin("import tl.npu.fancy\nimport my_npu.fancy\nassert tl.npu.fancy is my_npu.fancy")


def test_objects(with_plugin):
    with_plugin("import tl, my_npu\nassert tl.twice is my_npu.twice")
    with_plugin("from tl import twice\nimport my_npu\nassert twice is my_npu.twice")
    with_plugin("import tl.nn, my_npu.fancy\nassert tl.nn.functional.triple is my_npu.fancy.triple")
    with_plugin("import tl.nn, my_npu.fancy\nassert tl.nn.parallel.MyParallel is my_npu.fancy.MyParallel")


def test_the_packages_of_tl_come_first(with_plugin):
    with_plugin(
        "import tl, tl_core, tl_nn\nassert tl.zeros is tl_core.zeros\nassert tl.nn.Linear is tl_nn.Linear"
    )


def test_they_are_looked_for_only_when_needed(with_plugin):
    with_plugin(
        "import sys, tl\ntl.nn.Linear, tl.cuda.is_available()\nassert 'importlib.metadata' not in sys.modules"
    )


def test_running_one(python):
    assert python("-m", "tl.nn.fancy", files=FILES) == "main\n"


def test_two_that_define_the_same_name(execute):
    other = {
        "other-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n",
        "other-1.0.dist-info/entry_points.txt": "[tl.names]\ntwice = zzz:twice\n",
    }
    program = """
import warnings, tl, my_npu
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert tl.twice is my_npu.twice
assert "two plug-ins define tl.twice: my_npu:twice and zzz:twice" in str(caught[0].message)
"""
    execute(program, files={**FILES, **other})


def test_a_distribution_that_is_shadowed_does_not_count(execute):
    shadowed = {
        "later/my_npu-0.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: my-npu\nVersion: 0.9\n",
        "later/my_npu-0.9.dist-info/entry_points.txt": "[tl.names]\nold = my_npu:old\ntwice = my_npu:old\n",
    }
    program = "import sys; sys.path += ['later', 'nowhere', 'program.py']\nimport tl, my_npu\n"
    program += "assert tl.twice is my_npu.twice and not hasattr(tl, 'old')"
    execute(program, files={**FILES, **shadowed})
