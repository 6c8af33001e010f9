"""The calls of a seed, each an expression over `environment`."""

from __future__ import annotations

from random import Random

from monkey import targets, values

# What a handler returns: `f`, `a` and `k` are the function, the arguments and the keywords that it is given.
ANSWERS = [
    "f(*a, **k)",
    "a",
    "k",
    "f",
    "a[0]",
    "a[0] if a else None",
    "(f(*a, **k),)",
    "[f(*a, **k)] * 2",
    "f(*a, **k).requires_grad_()",
    "f(*a, **k).detach()",
    "f(*a, **k).clone().requires_grad_()",
    "tl.rand(3, requires_grad=True)",
    "tl.nn.Parameter(tl.rand(2, 3))",
    "tl.rand(2, 3, requires_grad=True) * 2",
    "a[0].view(-1)",
    "f(*a, **k).unsqueeze(0)",
    "f(*a, **k).to('meta')",
    "f(*a, **k).double()",
    "f(*a, **k).to_sparse()",
    "next(iter(()))",
    "1 / 0",
    "{}['a']",
    "f(*a, **k, extra=1)",
    "f()",
    "type(a[0])",
    "fake_tensor()",
    "wrapper_subclass()",
    "subclass()",
    "inference_tensor()",
    "(None,) * 9",
    "[[f(*a, **k)]]",
    "f(*a[:-1], **k)",
    "f(*a, *a)",
    "(f(*a, **k), 1)",
    "shrunk_storage()",
]
WEIGHTS = {
    "function": 34,
    "method": 24,
    "language": 18,
    "property": 4,
    "handler": 14,
    "index": 6,
    "region": 12,
}


class Calls:
    """Each call is drawn by its own number, so that one can be made again without those before it."""

    def __init__(self, seed: int):
        self.seed = seed
        self.functions = targets.functions()
        self.methods = targets.methods()
        self.properties = targets.properties()

    def call(self, number: int) -> str:
        """The text of a call."""
        random = Random(f"{self.seed}:{number}")
        kind = random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        text: str = getattr(self, f"_{kind}")(random)
        return text

    def _arguments(self, random: Random, target: targets.Target) -> str:
        wild = random.choice((0.0, 0.1, 0.3, 0.8))

        def value(name: str) -> str:
            return values.nonsense(random) if random.random() < wild else values.sensible(random, name)

        rest = random.random() < 0.3  # keywords from some parameter on
        parts = []
        for name, has_default, keyword_only in target.parameters:
            if has_default and random.random() < 0.6:
                rest = True
                continue
            parts.append(f"{name}={value(name)}" if keyword_only or rest else value(name))
        if target.open_ended or random.random() < 0.06:
            extra = [value("input") for _ in range(random.randrange(3))]
            parts = extra + parts if rest else parts + extra
        if parts and random.random() < 0.06:
            parts.pop(random.randrange(len(parts)))
        if random.random() < 0.04:
            parts.append(
                f"{random.choice(('out', 'dim', 'axis', 'dtype', 'nonsense', 'input', 'alpha'))}={value('dim')}"
            )
        positional = [p for p in parts if not p.split("=")[0].isidentifier() or "=" not in p]
        keywords = {p.split("=")[0]: p for p in parts if p not in positional}
        return ", ".join([*positional, *keywords.values()])

    def _function(self, random: Random) -> str:
        target = random.choice(self.functions)
        result = f"{target.text}({self._arguments(random, target)})"
        is_class = target.text.rpartition(".")[2][:1].isupper()
        return f"{result}({values.tensor(random)})" if is_class and random.random() < 0.7 else result

    def _method(self, random: Random) -> str:
        target = random.choice(self.methods)
        return f"({values.tensor(random)}).{target.text}({self._arguments(random, target)})"

    def _language(self, random: Random) -> str:
        a, b = values.tensor(random), values.nonsense(random)
        if random.random() < 0.3:
            return random.choice(targets.UNARY).format(a)
        if random.random() < 0.3:
            return f"operator.{random.choice(targets.IN_PLACE_FUNCTIONS)}({a}, {b})"
        if random.random() < 0.5:
            a, b = b, a
        return f"({a}) {random.choice(targets.BINARY)} ({b})"

    def _index(self, random: Random) -> str:
        key = values.nonsense(random)
        if random.random() < 0.4:
            key = f"({key}, {values.nonsense(random)})"
        return random.choice(targets.INDEX).format(values.tensor(random), key, values.nonsense(random))

    def _property(self, random: Random) -> str:
        name, tensor = random.choice(self.properties), values.tensor(random)
        if random.random() < 0.5:
            return f"({tensor}).{name}"
        if random.random() < 0.1:
            return f"delattr({tensor}, '{name}')"
        return f"setattr({tensor}, '{name}', {values.nonsense(random)})"

    def _region(self, random: Random) -> str:
        if random.random() < 0.5:
            target = random.choice(self.methods)
            return f"beside_readers(lambda x: x.{target.text}({self._arguments(random, target)}))"
        kinds = (self._function, self._method, self._language, self._index, self._property, self._handler)
        calls = [random.choice(kinds)(random) for _ in range(random.choice((1, 1, 2)))]
        call = f"in_region(lambda: [{', '.join(calls)}])"
        return f"{call}[0].sum().backward()" if random.random() < 0.2 else call

    def _handler(self, random: Random) -> str:
        answer = random.choice(ANSWERS) if random.random() < 0.7 else values.nonsense(random)
        handler = f"lambda f, a, k: {answer}"
        kind = random.randrange(3)
        if kind == 0:
            target = random.choice(self.methods)
            fields = random.choice(("", ", requires_grad=True"))
            call = (
                f"Wrapper(tl.rand(2, 3), {handler}{fields}).{target.text}({self._arguments(random, target)})"
            )
        else:
            inner = random.choice((self._function, self._method, self._language))(random)
            mode = ("under_dispatch_mode", "under_function_mode")[kind - 1]
            call = f"{mode}({handler}, lambda: {inner})"
        return f"({call}).sum().backward()" if random.random() < 0.2 else call
