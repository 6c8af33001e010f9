"""Tests of the order of passes."""

import itertools
import unittest

from tl_compiler.fx.passes.pass_manager import (
    PassManager,
    inplace_wrapper,
    these_before_those_pass_constraint,
    this_before_that_pass_constraint,
)

__all__ = ["TestPassManager"]


class TestPassManager(unittest.TestCase):
    """Orders that constraints allow and forbid."""

    def test_pass_manager_builder(self) -> None:
        """A list of passes is a manager."""
        passes = [lambda x: 2 * x for _ in range(10)]
        manager = PassManager(passes)
        manager.validate()
        self.assertEqual(manager(1), 1024)

    def test_this_before_that_pass_constraint(self) -> None:
        """The wrong order is refused."""
        passes = [lambda x: 2 * x for _ in range(10)]
        manager = PassManager(passes)
        manager.add_constraint(this_before_that_pass_constraint(passes[-1], passes[0]))
        with self.assertRaises(RuntimeError):
            manager.validate()

    def test_these_before_those_pass_constraint(self) -> None:
        """Wrapped passes count as what they wrap."""
        constraint = these_before_those_pass_constraint(_one, _two)
        right = PassManager([inplace_wrapper(_one), inplace_wrapper(_two)], [constraint])
        right.validate()
        wrong = PassManager([inplace_wrapper(_two), inplace_wrapper(_one)], [constraint])
        with self.assertRaises(RuntimeError):
            wrong.validate()

    def test_every_order(self) -> None:
        """Of three passes, half of the orders fulfil one constraint."""
        passes = [_one, _two, _three]
        allowed = 0
        for order in itertools.permutations(passes):
            manager = PassManager(list(order), [this_before_that_pass_constraint(_one, _two)])
            try:
                manager.validate()
            except RuntimeError:
                continue
            allowed += 1
        self.assertEqual(allowed, 3)


def _one(x: int) -> int:
    return x + 1


def _two(x: int) -> int:
    return x + 2


def _three(x: int) -> int:
    return x + 3
