"""FileCheck: what is found, in order, and what must be absent."""

import pytest

from tl_core.testing import FileCheck

TEXT = "one = a\ntwo = b; three = b\none = c\n"


def test_what_holds():
    FileCheck().check("one").check("two").check_same("three").check_next("one").run(TEXT)
    FileCheck().check_count("one", 2, exactly=True).check_not("two").run(TEXT)
    FileCheck().check("two").check_not("two").run(TEXT)
    FileCheck().check_not("four").check("three").run(TEXT)
    FileCheck().check_dag("three").check_dag("one").check("c").run(TEXT)
    FileCheck().check_regex(r"t\w+ = b").run(TEXT)


WRONG = {
    "absent": FileCheck().check("four"),
    "order": FileCheck().check("three").check("two"),
    "present": FileCheck().check("one").check_not("two").check("c"),
    "present at the end": FileCheck().check("two").check_not("one"),
    "next": FileCheck().check("one").check_next("three = a"),
    "same": FileCheck().check("one").check_same("two"),
    "too few": FileCheck().check_count("one", 3),
    "too many": FileCheck().check_count("b", 1, exactly=True),
    "dag": FileCheck().check("three").check_dag("one = a").check_dag("c"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not(name):
    with pytest.raises(RuntimeError, match="Expected to"):
        WRONG[name].run(TEXT)
