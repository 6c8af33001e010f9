"""Parameters, lengths, comments and opening lines of C++ functions, as the scanner finds them."""

from pathlib import Path

import pytest

from tools import cpp_functions

PATH = Path("a.cpp")


def found(text):
    """(name, parameters) of the functions of a text."""
    return [(f.name, f.parameters) for f in cpp_functions.functions_in(PATH, text)]


def test_the_repository_keeps_the_bounds():
    over = [figure for figure in cpp_functions.figures() if figure.is_over]
    assert [(figure.what, figure.found) for figure in over] == []


def test_the_repository_has_functions():
    functions = [f for p in cpp_functions.sources() for f in cpp_functions.functions_in(p, p.read_text())]
    assert len(functions) > 5000


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        ("int f() { return 1; }", [("f", 0)]),
        ("int f(void) {}", [("f", 0)]),
        ("namespace a {\nint f(int a, const B<C, D>& b) {}\n}", [("f", 2)]),
        ("int f(int a, int b);", []),
        ("int f(int (*g)(int, int), D d = {1, 2}, E e = h(1, 2)) {}", [("f", 3)]),
        ("template <class A, class B = C<A, 1>>\nauto f(A a) -> B<A> {}", [("f", 1)]),
        ("template <class A>\n  requires(A::a, A::b)\nvoid f(A a, A b) {}", [("f", 2)]),
        ("static const A table[] = {f(1, 2), {3}};\nvoid f(A a) {}", [("f", 1)]),
        ("enum class A : int { B, C };\nint f(A a) {}", [("f", 1)]),
        ("TL_MACRO(x)\nTL_OTHER(return g(1, 2);)\nvoid f() {}", [("f", 0)]),
        ("TL_INLINE void f(int a) noexcept(g(1, 2)) {}", [("f", 1)]),
        ("__attribute__((target(x, y))) void f(int a) {}", [("f", 1)]),
        ("A::A(int a, int b) : a_(a), b_{b, 1}, c_(g(2)) {}", [("A", 2)]),
        ("A::~A() {}", [("~A", 0)]),
        ("bool operator<(A a, A b) {}", [("operator<", 2)]),
        ("A operator()(int a) const {}", [("operator()", 1)]),
        ("A& A::operator=(A&& other) noexcept {}", [("operator=", 1)]),
        ("explicit operator bool() const {}", [("operator bool", 0)]),
        ("void f() { auto g = [](int a, int b) { return a; }; struct B { void h() {} }; }", [("f", 0)]),
        ('void f() { g("}", \'}\', R"x({)x"); }\nvoid h() {}', [("f", 0), ("h", 0)]),
        ("#define A(x) void f(x) {\nvoid g() {}", [("g", 0)]),
        ("void f() {  // }\n}\nvoid g(/* int a, */ int b) {}", [("f", 0), ("g", 1)]),
        ('extern "C" {\nvoid f(int a) {}\n}', [("f", 1)]),
    ],
)
def test_functions_are_found_with_their_parameters(text, functions):
    assert found(text) == functions


def test_functions_of_classes_are_found():
    text = "class A : public B<(1 > 0)> {\n  A(int a) : a_{a} {}\n  int b{2};\n  int f(int, int) const {}\n};"
    assert found(text) == [("A", 1), ("f", 2)]


def test_a_function_is_as_long_as_from_its_name_to_its_brace():
    (f,) = cpp_functions.functions_in(PATH, "\n\ntemplate <class T>\nvoid f(T a,\n       T b) {\n  g();\n}\n")
    assert (f.line, f.lines) == (4, 4)


@pytest.mark.parametrize(
    ("text", "has_comment"),
    [
        ("// What it does.\nvoid f() {\n}", True),
        ("// What it does.\ntemplate <class T>\nvoid f() {\n}", True),
        ("void f() {\n  g();  // why\n}", True),
        ("void f() { /* why */ }", True),
        ("// Another.\n\nvoid f() {\n}", False),
        ("void f() {\n}\n// Another.", False),
        ('void f() {\n  g("// text");\n}', False),
    ],
)
def test_comments_belong_to_functions_that_hold_or_follow_them(text, has_comment):
    (f,) = cpp_functions.functions_in(PATH, text)
    assert f.has_comment is has_comment


@pytest.mark.parametrize(
    ("text", "is_opened"),
    [
        ("// Sums by pairs of halves.\n#include <a>\n", True),
        ("// isa: all\n// Sums by pairs of halves.\n", True),
        ("// Sums.\n", False),
        ("// isa: all, by hand\n#include <a>\n", False),
        ("#include <a>\n// Sums by pairs of halves.\n", False),
        ("", False),
    ],
)
def test_a_file_opens_with_a_line_of_words(text, is_opened):
    assert cpp_functions.opens(text) is is_opened


def planted(root, text):
    """The figures of a repository with one file, by what they count."""
    folder = root / "packages" / "a" / "csrc"
    folder.mkdir(parents=True)
    (folder / "a.cpp").write_text(text)
    return [len(figure.found) for figure in cpp_functions.figures(root)]


def test_what_is_over_a_bound_is_counted(tmp_path):
    parameters = ", ".join(f"int a{i}" for i in range(12))
    long = "".join(f"  g({i});\n" for i in range(50))
    assert planted(tmp_path, f"void f({parameters}) {{}}\nvoid h() {{\n{long}}}\n") == [1, 0, 0, 1, 1, 1, 1]


def test_what_is_within_the_bounds_is_not_counted(tmp_path):
    parameters = ", ".join(f"int a{i}" for i in range(7))
    long = "".join(f"  g({i});\n" for i in range(43))
    text = f"// One file that is in order.\nvoid f({parameters}) {{}}\n\n// Long.\nvoid h() {{\n{long}}}\n"
    assert planted(tmp_path, text) == [0, 0, 0, 0, 0, 0, 0]


def test_a_long_file_and_a_heading_on_two_lines_are_counted(tmp_path):
    heading = "// ---- title\n// ------\n/* ---- in C\n * ------ */\n// ---- another ------\n"
    assert planted(tmp_path, f"// One file for a test.\n{heading}{'int a;' * 5}\n" + "\n" * 770)[:3] == [
        0,
        1,
        2,
    ]
