"""The record of the C interface notices every change, and a frozen one refuses all but additions at the end."""

import pytest

from tools import abi

HEADER = """
#define TL_API_MINOR {minor}
/* a comment with ; and {{ }} */
typedef enum TlKind {{ TL_A = 0, TL_B, TL_C = 8 }} TlKind;
typedef struct TlPoint {{
  uint32_t x, y; // both
  union {{ int64_t i; double f; }} u;
}} TlPoint;
typedef int (*TlCall)(void* ctx,
                      int n);
typedef struct TlApi {{
  size_t struct_size;
  uint32_t major, minor;
  int (*first)(const int64_t* sizes, void (*body)(void* ctx), void* ctx);
  void* (*second)(void);
{more}}} TlApi;
"""


class Workbench:
    def __init__(self, folder):
        self.header, self.record = folder / "c_api.h", folder / "abi" / "v1.txt"
        self.pins = None

    def header_is(self, *, minor=0, more="", replace=("", "")):
        self.header.write_text(HEADER.format(minor=minor, more=more).replace(*replace))

    def run(self, *arguments):
        return abi.main(list(arguments), [self.header], self.record, self.pins)


@pytest.fixture
def bench(tmp_path):
    made = Workbench(tmp_path)
    made.header_is()
    return made


def test_names_types_and_order_are_read(bench):
    found = abi.parse(bench.header.read_text())
    assert [f[1] for f in found if f[0] == "TlApi"] == ["struct_size", "major", "minor", "first", "second"]
    assert ("TlApi", "second", "void* (*)(void)") in found
    assert ("TlPoint", "y", "uint32_t") in found
    assert ("TlPoint", "u", "union { int64_t i; double f; }") in found
    assert ("enum", "TL_B", "1") in found
    assert ("enum", "TL_C", "8") in found
    assert ("typedef", "TlCall", "int (*)(void* ctx, int n)") in found


def test_what_was_written_agrees(bench):
    assert bench.run("freeze") == 0
    assert bench.run("diff") == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"replace": ("second)(void)", "second)(int x)")}, "changed: TlApi second"),
        ({"replace": ("  void* (*second)(void);\n", "")}, "gone: TlApi second"),
        ({"more": "  int (*third)(void);\n"}, "new: TlApi third"),
        ({"replace": ("uint32_t major, minor", "uint32_t minor, major")}, "moved: TlApi"),
        ({"replace": ("TL_C = 8", "TL_C = 9")}, "changed: enum TL_C"),
    ],
)
def test_a_change_without_the_record_fails(bench, capsys, change, words):
    bench.run("freeze")
    bench.header_is(**change)
    assert bench.run("diff") == 1
    assert words in capsys.readouterr().out


def test_a_draft_may_change(bench):
    bench.run("freeze")
    bench.header_is(replace=("second)(void)", "second)(int x)"))
    assert bench.run("freeze") == 0
    assert bench.run("diff") == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"minor": 1, "replace": ("second)(void)", "second)(int x)")}, "changed"),
        ({"minor": 1, "replace": ("  void* (*second)(void);\n", "")}, "gone"),
        (
            {"minor": 1, "replace": ("  void* (*second)", "  int (*third)(void);\n  void* (*second)")},
            "inserted",
        ),
        ({"minor": 1, "replace": ("} u;", "} u;\n  int z;")}, "grown: TlPoint"),
        ({"minor": 0, "more": "  int (*third)(void);\n"}, "not newer"),
    ],
)
def test_a_frozen_interface_refuses(bench, capsys, change, words):
    bench.run("freeze", "--final")
    before = bench.record.read_text()
    bench.header_is(**change)
    assert bench.run("freeze") == 1
    assert words in capsys.readouterr().err
    assert bench.record.read_text() == before


def test_a_frozen_interface_grows_at_its_end(bench):
    bench.run("freeze", "--final")
    bench.header_is(minor=1, more="#if TL_API_TARGET >= 1\n  int (*third)(void);\n#endif\n")
    assert bench.run("freeze") == 0
    assert bench.run("diff") == 0
    lines = bench.record.read_text().splitlines()
    assert "TlApi third 1.1 int (*)(void)" in lines
    assert "TlApi second 1.0 void* (*)(void)" in lines
    assert "state frozen" in lines


def test_an_entry_of_a_newer_minor_is_hidden(bench, capsys):
    bench.run("freeze", "--final")
    for more in ("  int (*third)(void);\n", "#if TL_API_TARGET >= 2\n  int (*third)(void);\n#endif\n"):
        bench.header_is(minor=1, more=more)
        assert bench.run("freeze") == 1
        assert "seen by all: TlApi third 1.1" in capsys.readouterr().err


def test_macros_are_recorded(bench, capsys):
    bench.header_is(more="")
    text = bench.header.read_text() + "#define TL_BIT (1 << 3)\n#define TL_PAIR(a, b) \\\n  ((a) + (b))\n"
    bench.header.write_text(text)
    assert bench.run("freeze") == 0
    lines = bench.record.read_text().splitlines()
    assert "macro TL_BIT 1.0 (1 << 3)" in lines
    assert "macro TL_PAIR 1.0 (a, b) ((a) + (b))" in lines
    bench.header.write_text(text.replace("1 << 3", "1 << 4"))
    assert bench.run("diff") == 1
    assert "changed: macro TL_BIT" in capsys.readouterr().out


def test_a_draft_has_a_digest(bench, capsys):
    line = "#define TL_API_DIGEST UINT64_C(0x0)\n"
    bench.header.write_text(bench.header.read_text() + line)
    assert bench.run("freeze") == 0
    first = bench.header.read_text()
    assert line not in first and bench.run("diff") == 0
    bench.header.write_text(first.replace("void* (*second)(void)", "void* (*second)(int x)"))
    assert bench.run("diff") == 1
    assert "digest: the headers state" in capsys.readouterr().out
    assert bench.run("freeze") == 0 and bench.run("diff") == 0
    assert abi.stated_digest([bench.header]) != abi.DIGEST.search(first)[0]


def test_the_end_of_each_minor_is_pinned(bench, tmp_path, capsys):
    pins = tmp_path / "layout.cpp"
    bench.pins = [pins]
    pins.write_text("static_assert(offsetof(TlApi, first) == 2 * kWord);\n")
    bench.run("freeze")
    assert bench.run("diff") == 1
    assert "not pinned: no static_assert states the offset of TlApi second 1.0" in capsys.readouterr().out
    pins.write_text(pins.read_text() + "static_assert(offsetof(TlApi, second) == 3 * kWord);\n")
    assert bench.run("diff") == 0
    more = "#if TL_API_TARGET >= 1\n  int (*third)(void);\n  int (*fourth)(void);\n#endif\n"
    bench.header_is(minor=1, more=more)
    bench.run("freeze")
    assert bench.run("diff") == 1
    words = capsys.readouterr().out
    assert "offset of TlApi fourth 1.1" in words and "third" not in words


def test_descriptions_of_arguments_are_stepped(tmp_path, monkeypatch):
    monkeypatch.setattr(abi, "ROOT", tmp_path)
    file = tmp_path / "client.cpp"
    file.write_text("int kind(const TlOperatorInfo* info) {\n  return info->args[0].kind;\n}\n")
    assert abi.indexed([tmp_path]) == ["indexed: client.cpp:2 has to step by tl_argument"]
    file.write_text("const TlArgInfo* a = tl_argument(extension, info->args, 0);\n")
    assert abi.indexed([tmp_path]) == []


def test_all_headers_are_recorded():
    folder = abi.HEADERS[0].parent
    assert {h.name for h in abi.HEADERS} == {h.name for h in folder.glob("*.h")}
