"""Typed trees as the steps of a program: `Emitter`."""

from __future__ import annotations

from functools import singledispatchmethod

from opgen.formulas.tree import (
    After,
    AllResults,
    Arithmetic,
    Bind,
    Body,
    Choice,
    Constant,
    Index,
    Input,
    Items,
    Junction,
    Loop,
    Node,
    OperatorCall,
    Property,
    Slice,
    Source,
    Stored,
    Unary,
    Variable,
)
from opgen.program_text import Program, Saved, Step, Word
from opgen.schema import Arg


class Emitter:
    """Writes the steps of one block of a program."""

    def __init__(self, program: Program, block: int = 0):
        self.program, self.block, self.registers = program, block, 0
        self.words: dict[Variable, Word] = {}

    def body(self, body: Body, n_results: int) -> list[Word]:
        """The operands that are the results of a formula."""
        for step in body.steps:
            self.word(step)
        words = [self.word(node) for node in body.results]
        if len(words) == n_results:
            return words
        return [("REGISTER", words[0][1] + i) for i in range(n_results)]

    @singledispatchmethod
    def word(self, node: Node) -> Word:
        """The operand that is the value of a node, after the steps that compute it."""
        raise TypeError(f"no steps for {type(node).__name__}")

    def _step(self, step: Step, n_results: int = 1) -> Word:
        """A step whose results are new registers."""
        step.target, step.n_results = self.registers, n_results
        self.registers += n_results
        self.program.steps.append(step)
        return ("REGISTER", step.target)

    def _move(self, word: Word, target: Word) -> None:
        self.program.steps.append(Step("MOVE", inputs=[word], target=target[1], n_results=1))

    def _jump(self, code: str, test: Word | None = None, to: int | None = None) -> Step:
        step = Step(code, inputs=[test] if test else [], jump=to)
        self.program.steps.append(step)
        return step

    @property
    def _here(self) -> int:
        return len(self.program.steps)

    # ---- values without steps --------------------------------------------------------------------------------------

    @word.register
    def _(self, node: Constant) -> Word:
        return ("CONST", self.program.const(node.value))

    @word.register
    def _(self, node: Input) -> Word:
        return node.word

    @word.register
    def _(self, node: Variable) -> Word:
        return self.words[node]

    @word.register
    def _(self, node: Stored) -> Word:
        saved = Saved(node.source, node.index, node.meta)
        word = ("SAVED", self.program.save(saved, self.block))
        return (
            word
            if node.element is None
            else self._step(Step("INDEX", inputs=[word, self.words[node.element]]))
        )

    # ---- steps -----------------------------------------------------------------------------------------------------

    @word.register
    def _(self, node: Property) -> Word:
        return self._step(Step("META", node.meta, [self.word(node.value)]))

    @word.register
    def _(self, node: OperatorCall) -> Word:
        return self._call(node, node.n_results)

    @word.register
    def _(self, node: AllResults) -> Word:
        n = len(node.call.row.rets)
        first = self._call(node.call, n)[1]
        return self._step(Step("LIST", inputs=[("REGISTER", first + i) for i in range(n)]))

    def _call(self, node: OperatorCall, n_results: int) -> Word:
        operands = [self.word(operand) for operand in node.operands]
        inputs = [self._argument(arg, node, operands) for arg in node.row.args]
        step = Step(node.code, node.arith, inputs, op=self.program.operator(node.row.name))
        return self._step(step, n_results)

    def _argument(self, arg: Arg, node: OperatorCall, operands: list[Word]) -> Word:
        if arg.name not in node.positions:
            return ("CONST", self.program.default(arg))
        position = node.positions[arg.name]
        word = operands[position]
        if arg.count > 1 and node.operands[position].kind == "int":
            return self._step(Step("LIST", inputs=[word] * arg.count))
        return word

    @word.register
    def _(self, node: Arithmetic) -> Word:
        return self._step(Step("ARITH", node.arith, [self.word(operand) for operand in node.operands]))

    @word.register
    def _(self, node: Unary) -> Word:
        return self._step(Step("UNARY", node.arith, [self.word(node.operand)]))

    @word.register
    def _(self, node: Index) -> Word:
        return self._step(Step("INDEX", inputs=[self.word(node.value), self.word(node.index)]))

    @word.register
    def _(self, node: Slice) -> Word:
        return self._step(Step("SLICE", inputs=[self.word(n) for n in (node.value, node.start, node.stop)]))

    @word.register
    def _(self, node: Items) -> Word:
        return self._step(Step("LIST", inputs=[self.word(element) for element in node.elements]))

    # ---- order and choice ------------------------------------------------------------------------------------------

    @word.register
    def _(self, node: Bind) -> Word:
        self.words[node.variable] = self.word(node.value)
        return self.words[node.variable]

    @word.register
    def _(self, node: After) -> Word:
        for step in node.steps:
            self.word(step)
        return self.word(node.result)

    @word.register
    def _(self, node: Junction) -> Word:
        """`a and b` is `b if a else a`."""
        result = self._step(Step("MOVE", inputs=[self.word(node.values[0])]))
        for value in node.values[1:]:
            test = self._step(Step("UNARY", "NOT", [result])) if node.is_or else result
            jump = self._jump("JUMP_UNLESS", test)
            self._move(self.word(value), result)
            jump.jump = self._here
        return result

    @word.register
    def _(self, node: Choice) -> Word:
        skip = self._jump("JUMP_UNLESS", self.word(node.test))
        result = self._step(Step("MOVE", inputs=[self.word(node.body)]))
        end = self._jump("JUMP")
        skip.jump = self._here
        self._move(self.word(node.orelse), result)
        end.jump = self._here
        return result

    @word.register
    def _(self, node: Loop) -> Word:
        for source in node.sources:
            if source.bind:
                self.word(source.bind)
        positions = self._step(Step("UNARY", "RANGE", [self._count(node.sources)]))
        result = self._step(Step("LIST"))
        counter = self._step(Step("MOVE", inputs=[self.word(Constant("int", 0))]))
        top = self._here
        step = Step("NEXT", inputs=[positions, counter])
        self.words[node.position] = self._step(step)
        for source in node.sources:
            self._element(source, node.position)
        for condition in node.conditions:
            self._jump("JUMP_UNLESS", self.word(condition), top)
        element = self.word(node.element)
        self.program.steps.append(Step("APPEND", inputs=[element], target=result[1]))
        self._jump("JUMP", to=top)
        step.jump = self._here
        return result

    def _count(self, sources: tuple[Source, ...]) -> Word:
        """The length of the shortest list."""
        counts = [self.word(source.length) for source in sources]
        shortest = counts[0]
        for count in counts[1:]:
            shortest = self._step(Step("ARITH", "MIN", [shortest, count]))
        return shortest

    def _element(self, source: Source, position: Variable) -> None:
        if source.variable:
            inputs = [self.word(source.value), self.words[position]]
            self.words[source.variable] = self._step(Step("INDEX", inputs=inputs))
