"""Locks, tracebacks, cycles of references, and what says that it isn't there."""

from __future__ import annotations

import gc
import re
import threading
import traceback

import pytest

import tl_core
import tl_nn
from tl_compiler import jit
from tl_utils import _traceback, backcompat, mkldnn, mobile_optimizer
from tl_utils.compat.hipify import hipify_python
from tl_utils.file_baton import FileBaton
from tl_utils.jit import log_extract
from tl_utils.viz import _cycles


def test_batons(tmp_path):
    path = str(tmp_path / "lock")
    baton, other = FileBaton(path, 0.005), FileBaton(path, 0.005, warn_after_seconds=0.01)
    assert baton.try_acquire()
    assert not other.try_acquire()
    timer = threading.Timer(0.1, baton.release)
    timer.start()
    with pytest.warns(UserWarning, match="has been there"):
        other.wait()
    timer.join()
    assert other.try_acquire()
    other.release()


def test_where_a_program_is():
    here = _traceback.CapturedTraceback.extract()
    assert "test_where_a_program_is" in here.format()[-1]
    assert "test_where_a_program_is" not in "".join(_traceback.CapturedTraceback.extract(skip=1).format())
    first, nothing = _traceback.CapturedTraceback.format_all([here, None])
    assert first == here.format()
    assert nothing == []
    here.cleanup()
    assert here.format() == []
    try:
        raise KeyError
    except KeyError as error:
        text = _traceback.format_traceback_short(error.__traceback__)
    assert re.fullmatch(r".*test_small_modules.py:\d+ in test_where_a_program_is", text)
    assert _traceback.shorten_filename("/a/b/c.py", base="/a") == "b/c.py"
    assert _traceback.shorten_filename("rel.py", base="/a") == "rel.py"


def test_lines_of_code_made_at_run_time():
    source = "def f():\n    raise KeyError  # in here\n"
    names = {"__compile_source__": source}
    exec(source, names)
    with pytest.raises(KeyError) as result, _traceback.report_compile_source_on_error():
        names["f"]()
    assert "in here" in "".join(traceback.format_tb(result.value.__traceback__))


def test_cycles_that_hold_tensors(capsys):
    pages = []
    gc.collect()
    stop = _cycles.observe_tensor_cycles(pages.append)
    try:
        holder = {"x": tl_core.ones(3)}
        holder["self"] = holder
        del holder
        gc.collect()
    finally:
        stop()
    assert len(pages) == 1
    assert "Tensor (3,)" in pages[0]
    assert "[&#x27;x&#x27;]" in pages[0]
    gc.collect()
    stop_warning = _cycles.warn_tensor_cycles()
    try:
        holder = [tl_core.ones(4)]
        holder.append(holder)
        del holder
        gc.collect()
        gc.collect()  # frees what the first one kept for the observer
        assert not gc.garbage
        gc.collect()
    finally:
        stop_warning()
    assert capsys.readouterr().err.count("held 1 tensors, 16 bytes") == 1
    assert gc.get_debug() == 0


def test_graphs_of_references():
    x = tl_core.ones(2)
    outer = {"inner": [x]}
    nodes = _cycles.create_graph([outer, outer["inner"], x, "other"], context=lambda o: "said")
    assert [n.label for n in nodes] == ["dict", "list", "Tensor (2,)"]
    assert nodes[0].referrents == [("['inner']", 1)]
    assert [n.root for n in nodes] == [False, False, True]
    assert 'n1 -> n2 [label="[0]"]' in _cycles.to_dot(nodes)
    assert "said" in _cycles.to_html(nodes)


def test_words_as_a_regular_expression():
    words = ["__CUDACC__", "CUDA", "cuda", "cub", "cubs", "a+b", "a", "ab", "x*"]
    trie = hipify_python.Trie()
    assert trie.export_to_regex() is None
    for word in words:
        trie.add(word)
    pattern = re.compile(trie.export_to_regex())
    assert all(pattern.fullmatch(word) and trie.search(word) for word in words)
    for other in ("cud", "cubss", "aab", "", "x", "a+"):
        assert not pattern.fullmatch(other)
        assert not trie.search(other)
    assert set(trie.dump()) == {w[0] for w in words}


@pytest.mark.parametrize(
    "call",
    [
        lambda: hipify_python.hipify("."),
        lambda: mkldnn.to_mkldnn(tl_nn.Linear(1, 1)),
        lambda: log_extract.load_graph_and_inputs(""),
        lambda: log_extract.run_test(None, None),
        lambda: log_extract.run_baseline_no_fusion(None, None),
        lambda: log_extract.run_nnc(None, None, False),
        lambda: log_extract.run_nvfuser(None, None),
        lambda: backcompat.broadcast_warning.set_enabled(True),
    ],
)
def test_what_is_not_there_says_so(call):
    with pytest.raises(NotImplementedError, match=r"\w+: .{20}"):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mobile_optimizer.optimize_for_mobile(1), "ScriptModule is expected"),
        (
            lambda: mobile_optimizer.optimize_for_mobile(jit.script(tl_nn.Linear(1, 1)), backend="tpu"),
            "'CPU', 'Vulkan' or 'Metal'",
        ),
        (lambda: mobile_optimizer.generate_mobile_module_lints(1), "ScriptModule is expected"),
        (lambda: mkldnn.to_mkldnn(1), "must be a Module"),
        (lambda: mkldnn.to_mkldnn(tl_nn.Linear(1, 1), tl_core.int8), "dtype must be"),
    ],
)
def test_wrong_types_are_named_first(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_what_needs_no_torchscript(tmp_path):
    assert not backcompat.keepdim_warning.get_enabled()
    backcompat.keepdim_warning.enabled = False
    (tmp_path / "log").write_text("<GRAPH_EXPORT>\ngraph(%x):\n")
    with pytest.raises(ValueError, match="ends within a graph"):
        log_extract.extract_ir(str(tmp_path / "log"))


def test_programs_for_phones():
    model = tl_nn.Sequential(tl_nn.Linear(2, 2), tl_nn.Dropout(0.5)).eval()
    program = jit.script(model)
    x = tl_core.ones(1, 2)
    frozen = mobile_optimizer.optimize_for_mobile(program)
    assert not list(frozen.parameters()) and tl_core.equal(frozen(x), model(x))
    names = [lint["name"] for lint in mobile_optimizer.generate_mobile_module_lints(program)]
    assert names == ["BUNDLED_INPUT", "REQUIRES_GRAD", "REQUIRES_GRAD", "DROPOUT", "DROPOUT"]
    with pytest.raises(RuntimeError, match="has no backend 'Metal'"):
        mobile_optimizer.optimize_for_mobile(program, backend="Metal")
