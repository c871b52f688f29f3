"""How many fit on board: lanes for vehicles, seats for people, and no more than the ship may carry."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from ferry.errors import Overbooked


@dataclass
class Deck:
    """A deck with a fixed number of places."""

    name: str
    places: int
    taken: int = 0
    lock: Lock = field(default_factory=Lock)

    @property
    def free(self) -> int:
        return self.places - self.taken


@contextmanager
def reserve_places(deck: Deck, wanted: int) -> Iterator[None]:
    """Hold places for the duration of a payment; they are given back when the block fails. Raises Overbooked."""
    with deck.lock:
        if deck.free < wanted:
            raise Overbooked(deck.name, wanted, deck.free)
        deck.taken += wanted
    try:
        yield
    except BaseException:
        release_places(deck, wanted)
        raise


def release_places(deck: Deck, count: int) -> None:
    with deck.lock:
        deck.taken = max(0, deck.taken - count)


def assign_lanes(vehicle_lengths: list[float], lane_length: float) -> list[list[float]]:
    """First fit, longest vehicle first: which vehicle stands in which lane."""
    lanes: list[list[float]] = []
    for length in sorted(vehicle_lengths, reverse=True):
        for lane in lanes:
            if sum(lane) + length <= lane_length:
                lane.append(length)
                break
        else:
            lanes.append([length])
    return lanes
