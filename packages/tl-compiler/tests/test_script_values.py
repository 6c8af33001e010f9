"""Functions of TorchScript that compute with lists, dictionaries, texts and numbers: the results of Python."""

from typing import Optional

import pytest

from tl_compiler import jit

LIST = [3, 1, 2, 1]
TABLE = {"b": 2, "a": 1}
TEXT = "Ab cd,Ab"
# The statements before `return`, by the type of the argument and of the result.
PROGRAMS = {
    ("List[int]", "List[int]"): (
        "x.sort()",
        "x.sort(reverse=True)",
        "x.reverse()",
        "x.append(7)",
        "x.extend([7, 8])",
        "x.insert(1, 9)",
        "x.insert(-1, 9)",
        "x.remove(1)",
        "x.clear()",
        "x.pop()",
        "x.pop(0)",
        "x.pop(-2)",
        "y = x.copy()\nx.clear()\nx = y",
        "x[0] = 5",
        "x[-1] = 5",
        "del x[1]",
        "x += [4]",
        "x = x * 2",
        "x = [v + 1 for v in x]",
        "x = [v for v in x if v > 1]",
        "x = x[1:]",
        "x = x[:-1]",
        "x = x[::2]",
        "x = x[1:4:2]",
        "x = sorted(x)",
        "x = list(range(5))",
        "x = list(range(1, 9, 3))",
        "x = list(range(5, 0, -2))",
        "for i in range(len(x)):\n    x[i] = x[i] * i",
        "for i, v in enumerate(x):\n    x[i] = v + i",
        "for a, b in zip(x, x[1:]):\n    x.append(a * b)",
        "while len(x) > 2:\n    x.pop()",
        "for v in x:\n    if v == 2:\n        break\n    x[0] = v",
        "for v in x:\n    if v == 1:\n        continue\n    x[1] = v",
        "x = [] if len(x) > 9 else x",
        "assert len(x) > 1",
        "a, b = x[0], x[1]\nx = [b, a]",
        "x = [max(x), min(x), sum(x)]",
        "x = [x.count(1), x.index(1), len(x)]",
        "x = [int(v in x) for v in [1, 5]]",
        "x = [int(x == [1]), int(x != [1])]",
    ),
    ("Dict[str, int]", "Dict[str, int]"): (
        "x['c'] = 3",
        "x['a'] += 4",
        "del x['a']",
        "x.clear()",
        "x.pop('a')",
        "x.update({'z': 9})",
        "x.setdefault('a', 7)",
        "x.setdefault('q', 7)",
        "y = x.copy()\nx.clear()\nx = y",
        "x = {k: v + 1 for k, v in x.items()}",
        "y: Dict[str, int] = {}\ny['n'] = len(x)\nx = y",
        "for k in x:\n    x[k] = x[k] * 2",
        "for k in x.keys():\n    x[k] = 0",
        "for k, v in x.items():\n    x[k] = v * 3",
        "x['s'] = sum(x.values())",
        "x['n'] = len(x)",
        "x['i'] = int('a' in x)",
        "x['o'] = int('q' not in x)",
        "v = x.get('a')\nif v is not None:\n    x['g'] = v",
        "v = x.get('q')\nif v is None:\n    x['g'] = 1",
        "x['d'] = x.get('q', 5)",
        "x = dict([('k', 1)])",
        "x = {'one': 1, 'two': 2}",
    ),
    ("str", "str"): (
        "x = x.upper()",
        "x = x.lower()",
        "x = x.strip()",
        "x = x.lstrip('A')",
        "x = x.rstrip('b')",
        "x = x.swapcase()",
        "x = x.title()",
        "x = x.capitalize()",
        "x = x.replace('b', 'x')",
        "x = x.center(12)",
        "x = x.ljust(12)",
        "x = x.rjust(12)",
        "x = x.zfill(12)",
        "x = x.split(',')[0]",
        "x = x.split()[-1]",
        "x = '-'.join([x, x])",
        "x = x[1]",
        "x = x[-2]",
        "x = x[1:4]",
        "x = x[::2]",
        "x = x + '!'",
        "x = x * 2",
        "x = f'{x}:{len(x)}'",
        "x = '{}/{}'.format(x, 2)",
        "x = '%s %d' % (x, 3)",
        "x = str(x.find('b'))",
        "x = str(x.rfind('b'))",
        "x = str(x.count('b'))",
        "x = str(x.index('b'))",
        "x = str(x.startswith('A'))",
        "x = str(x.endswith('A'))",
        "x = str(x.isalpha())",
        "x = str(x.isdigit())",
        "x = str(x.islower())",
        "x = str(x.isupper())",
        "x = str('cd' in x)",
        "x = x.partition(' ')[2]",
        "x = x.rpartition('b')[0]",
        "x = x.splitlines()[0]",
        "x = x.expandtabs(2)",
        "x = chr(ord(x[0]) + 1)",
        "x = hex(len(x)) + oct(len(x)) + bin(len(x))",
        "x = str(x == 'a') + str(x != 'a') + str(x < 'b')",
        "x = x if x else 'empty'",
    ),
    ("float", "float"): (
        "x = abs(-x)",
        "x = -x",
        "x = float(int(x))",
        "x = float(round(x))",
        "x = x // 0.7",
        "x = x % 0.7",
        "x = x ** 2",
        "x = float(pow(x, 3))",
        "x = max(x, 1.0)",
        "x = min(x, 1.0)",
        "x += 1",
        "x -= 1",
        "x *= 3",
        "x /= 3",
        "x = 1.0 if x > 2 else 0.0",
        "x = 1.0 if x >= 2.5 else 0.0",
        "x = 1.0 if x < 2.5 else 0.0",
        "x = 1.0 if x <= 2.5 else 0.0",
        "x = 1.0 if not x == 2.5 else 0.0",
        "x = 1.0 if x > 1 and x < 2 else 0.0",
        "x = 1.0 if x < 1 or x > 2 else 0.0",
        "x = float(1 < x < 3)",
        "x = float(7 & 3) + float(7 | 8) + float(7 ^ 2)",
        "x = float(1 << 3) + float(9 >> 1)",
        "x = float(7 // 2) + float(-7 // 2) + float(-7 % 3)",
        "x = float(divmod(7, 2)[0])",
        "x = float('1.5')",
        "x = float(int('12'))",
        "x = float(bool(x))",
    ),
}
ARGUMENTS = {"List[int]": LIST, "Dict[str, int]": TABLE, "str": TEXT, "float": 2.5}


def copy_of(value):
    return value.copy() if isinstance(value, (list, dict)) else value


@pytest.mark.parametrize(("kind", "result"), PROGRAMS)
def test_programs_of_values(kind, result):
    bodies = PROGRAMS[kind, result]
    texts = []
    for number, body in enumerate(bodies):
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        texts.append(f"def f{number}(x: {kind}) -> {result}:\n{lines}    return x\n")
    scope = {"Dict": dict, "List": list, "Optional": Optional, "Tuple": tuple}
    exec("".join(texts), scope)
    unit = jit.CompilationUnit("".join(texts))
    differences = []
    for number, body in enumerate(bodies):
        expected = scope[f"f{number}"](copy_of(ARGUMENTS[kind]))
        value = getattr(unit, f"f{number}")(copy_of(ARGUMENTS[kind]))
        if value != expected or type(value) is not type(expected):
            differences.append((body, value, expected))
    assert not differences
