"""The agreement of the agents of a job: one value that each of them changes as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from .api import RendezvousClosedError

ANOTHER_WAITS = "another agent waits"


@dataclass
class RendezvousState:
    """The members of this round, the agents that wait for the next one, and the reason why this one is over.

    Attributes:
        round: how often the agents have agreed before.
        running: whether they have agreed this time; before that they gather.
        over: why this round is over; empty while it isn't.
        failures: how many rounds ended by a failure, on whichever machine; an agent that joins is none.
        closed: whether the job takes no more agents.
        agents: those of this round, each with its beat, in the order in which they came.
        waiting: those that wait for the next round, likewise.
        ranks: the agents' ranks; while they gather, those that they insist on.
    """

    round: int = 0
    running: bool = False
    over: str = ""
    failures: int = 0
    closed: bool = False
    agents: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The state as a text that `from_bytes` reads."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> RendezvousState:
        """Reads what `to_bytes` gave.

        Raises:
            ValueError: it is something else.
        """
        try:
            return cls(**json.loads(data))
        except TypeError as error:
            raise ValueError(f"no state of a rendezvous: {error}") from error

    def join(self, name: str, rank: int | None, most: int) -> None:
        """An agent wants to take part.

        Args:
            name: the agent.
            rank: the one that it insists on.
            most: how many a round may have.
        """
        if self.running and name in self.agents:
            self.waiting[name] = self.agents.pop(name)  # it comes back from a round
        if self.running:
            self.waiting.setdefault(name, 0)
            if not self.agents:
                self._next_round()
        if not self.running and name not in self.agents and len(self.agents) < most:
            self.agents[name] = self.waiting.pop(name, 0)
        if self.running or name not in self.agents:
            self.waiting.setdefault(name, 0)
        elif rank is not None:
            if rank in self.ranks.values() and self.ranks.get(name) != rank:
                raise RendezvousClosedError(f"two agents have node rank {rank}")
            self.ranks[name] = rank

    def _next_round(self) -> None:
        self.failures += self.over != ANOTHER_WAITS
        self.round += 1
        self.running, self.over = False, ""
        self.ranks.clear()

    def agree(self) -> None:
        """Those that have come are the agents of this round."""
        self.running = True
        if not self.ranks:
            self.ranks = {name: rank for rank, name in enumerate(self.agents)}

    def end_round(self, why: str) -> None:
        """This round is over; the first reason stays."""
        if self.running:
            self.over = self.over or why

    def beat(self, name: str, number: int) -> None:
        """An agent says that it lives.

        Args:
            name: the agent.
            number: of its beat, which differs from that of the one before.
        """
        for there in (self.agents, self.waiting):
            if name in there:
                there[name] = number

    def remove(self, names: Iterable[str]) -> None:
        """Takes out agents that are gone, which ends a round that they took part in."""
        for name in names:
            self.waiting.pop(name, None)
            if name in self.agents:
                rank = self.ranks.get(name, -1)
                self.end_round(f"agent {name} (rank {rank}) is gone")
                del self.agents[name]
                if not self.running:
                    self.ranks.pop(name, None)
