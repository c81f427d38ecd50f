"""A pie chart whose elements change together with what is stored of them, or not at all.

    python pie_chart.py [path of the store]

The chart and its elements are a tree of objects. Each percentage is above 0 and at most 100, and together
they are 100, or there are none: the objects say so themselves, and no commit gets past them. Every step
checks what it shows; the program exits with 1 at the first check that fails.
"""

import contextlib
import os
import sys
import tempfile
import threading
from typing import Any

import holdfast


class PieChartError(Exception):
    """Why a chart may not be as it is."""


class PieChart(holdfast.Transactable):
    """The root of the tree."""

    def __init__(self, store: holdfast.Store) -> None:
        self.stored = store.repository("elements", key="label")
        self.elements: dict[str, PieChartElement] = {}
        self.elements_before: dict[str, PieChartElement] = {}

    def set(self, **percentages: int) -> None:
        """Changes elements, and adds those that are new; 0 takes one away."""
        for label, percentage in percentages.items():
            if percentage == 0:
                self.elements.pop(label).detach()
                self.stored.delete(label)
            elif label in self.elements:
                self.elements[label].percentage = percentage
            else:
                self.elements[label] = PieChartElement(self, label, percentage)

    @property
    def percentages(self) -> dict[str, int]:
        """What the objects say."""
        return {label: element.percentage for label, element in sorted(self.elements.items())}

    @property
    def stored_percentages(self) -> dict[str, int]:
        """What the store says."""
        return {element["label"]: element["percentage"] for element in self.stored}

    def on_begin(self, transaction: bytes) -> None:
        self.elements_before = dict(self.elements)

    def on_validate_commit(self) -> None:
        if self.elements and sum(self.percentages.values()) != 100:
            raise PieChartError(f"the total is {sum(self.percentages.values())} and not 100")

    def on_rollback(self, transaction: bytes) -> None:
        for label, element in self.elements_before.items():
            if label not in self.elements:
                element.attach(self)
        self.elements = self.elements_before


class PieChartElement(holdfast.Transactable):
    """One slice, stored as an entity when its transaction commits."""

    def __init__(self, chart: PieChart, label: str, percentage: int) -> None:
        self.chart, self.label, self.percentage = chart, label, percentage
        # It joins the chart's transaction at once.
        self.attach(chart)

    def on_begin(self, transaction: bytes) -> None:
        self.percentage_before = self.percentage

    def on_validate_commit(self) -> None:
        if not 0 < self.percentage <= 100:
            raise PieChartError(f"{self.label} cannot be {self.percentage} per cent")
        self.chart.stored.save({"label": self.label, "percentage": self.percentage})

    def on_rollback(self, transaction: bytes) -> None:
        self.percentage = self.percentage_before


def main() -> None:
    """Runs the tour, in the place given or in a temporary directory."""
    with tempfile.TemporaryDirectory() as directory:
        path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(directory, "pie.db")
        print(f"A pie chart, store {path}")
        with holdfast.open(path) as store:
            chart = PieChart(store)
            draw(store, chart)
            refuse(store, chart)
            lose_a_race(store, chart)
            commit_asynchronously(store, chart)
    print("Everything held.")


def draw(store: holdfast.Store, chart: PieChart) -> None:
    """Changes objects and entities together."""
    with store.transaction(chart):
        chart.set(cats=50, dogs=30, birds=20)
    agree(
        chart, {"birds": 20, "cats": 50, "dogs": 30}, "three elements are drawn and stored in one transaction"
    )
    with store.transaction(chart):
        chart.set(cats=60, dogs=40, birds=0)
    agree(chart, {"cats": 60, "dogs": 40}, "two have grown, and one is gone, in both places")


def refuse(store: holdfast.Store, chart: PieChart) -> None:
    """What an object refuses is raised as it is, and changes nothing."""
    for wrong, reason in (
        ({"cats": 70}, "the total is 110 and not 100"),
        ({"cats": 101, "dogs": -1}, "cats cannot be 101 per cent"),
        ({"cats": 0}, "the total is 40 and not 100"),
        ({"fish": 10}, "the total is 110 and not 100"),
    ):
        try:
            with store.transaction(chart):
                chart.set(**wrong)
        except PieChartError as error:
            check(str(error) == reason, f"refused: {error}")
        agree(chart, {"cats": 60, "dogs": 40}, "chart and store are what they were")
    transaction = store.begin()
    transaction.enlist(chart)
    with transaction.joined():
        chart.set(cats=70)
        with contextlib.suppress(PieChartError):
            transaction.commit()
        chart.set(dogs=30)
    transaction.commit()
    agree(
        chart,
        {"cats": 70, "dogs": 30},
        "a refused commit leaves its transaction open: repaired, it is stored",
    )


def lose_a_race(store: holdfast.Store, chart: PieChart) -> None:
    """A conflict takes the objects back before the function runs again."""
    votes = store.repository("votes")
    votes.save({"id": "dogs", "count": 5})
    runs: list[dict[str, int]] = []

    def count_votes() -> None:
        runs.append(chart.percentages)
        count = votes["dogs"]["count"]
        if len(runs) == 1:
            other = threading.Thread(target=lambda: votes.save({"id": "dogs", "count": count + 5}))
            other.start()
            other.join()
        chart.set(
            cats=chart.elements["cats"].percentage - count, dogs=chart.elements["dogs"].percentage + count
        )

    store.transact(count_votes, trees=[chart])
    check(
        runs == [{"cats": 70, "dogs": 30}] * 2,
        "a vote came in between: the second run began where the first had",
    )
    agree(chart, {"cats": 60, "dogs": 40}, "all ten votes are counted, once")


def commit_asynchronously(store: holdfast.Store, chart: PieChart) -> None:
    """Validation happens here, the commit in the background; until then the tree is sealed."""
    future = store.submit(lambda: chart.set(cats=50, dogs=50), trees=[chart])
    future.result()
    check(future.receipt is not None and len(future.receipt.changes) == 2, "the receipt names both elements")
    agree(chart, {"cats": 50, "dogs": 50}, "a commit that nobody waited for is in both places")


def agree(chart: PieChart, expected: dict[str, Any], sentence: str) -> None:
    """Checks that objects and store say this."""
    check(chart.percentages == expected == chart.stored_percentages, f"{sentence}: {expected}")


def check(holds: bool, sentence: str) -> None:
    """Prints what was checked; ends the program when it does not hold."""
    print(f"  {'ok' if holds else 'FAILED'}  {sentence}")
    if not holds:
        sys.exit(1)


if __name__ == "__main__":
    main()
