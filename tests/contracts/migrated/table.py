"""`python -m tests.contracts.migrated.table`: play all scenarios under both packages, and write
docs/migrating.md's table."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from tests.contracts.migrated.differences import (
    Differences,
    Played,
    differences,
    for_all,
    listed,
    merged,
    play,
)
from tests.contracts.migrated.scenarios import ALL, Scenario
from tests.contracts.migrated.serving import CLIENTS, HERE, THERE, MigratedFront, serving_graphs
from tests.kit.paths import ROOT
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.serving import Served
from tests.kit.tables import BEGIN, END, line, written

PAGE = ROOT / "docs" / "migrating.md"
PACKAGES = ["ag-ui-langgraph", "langgraph", "langchain-core", "langchain"]
SIDES = ["there", "here"]
HEADS = [
    "graph",
    "`ag-ui-langgraph`",
    "here",
    "what the client has at the end",
    "types of events",
    "kB",
]


@dataclass(frozen=True)
class Row:
    """What came of a scenario with each client."""

    scenario: Scenario
    there: Mapping[str, Played]
    here: Mapping[str, Played]
    quiet: Played
    """There, without raw events, with the newest of the scenario's clients."""

    @property
    def turns(self) -> list[int]:
        """How many turns it took on each side."""
        return [one[newest(self.scenario)].turns for one in (self.there, self.here)]

    @property
    def found(self) -> Differences:
        clients = self.scenario.clients
        return merged(
            {client: differences(self.there[client], self.here[client]) for client in clients}
        )

    @property
    def sizes(self) -> list[int]:
        client = newest(self.scenario)
        return [self.there[client].size, self.quiet.size, self.here[client].size]

    @property
    def passes(self) -> bool:
        """Whether it passes here with each client whose pages answer so."""
        return not any(self.here[client].failures for client in self.scenario.clients)


def newest(scenario: Scenario) -> str:
    """Return the newest of the scenario's clients."""
    return scenario.clients[-1]


def played(node: NodeClient, served: Served) -> Iterator[Row]:
    """Play all scenarios."""
    for scenario in ALL:
        there, here = (
            {
                client: play(scenario, MigratedFront(node, served, value, package))
                for client, value in CLIENTS.items()
            }
            for package in (THERE, HERE)
        )
        front = MigratedFront(node, served, CLIENTS[newest(scenario)], THERE, emit_raw_events=False)
        yield Row(scenario, there, here, play(scenario, front))


def shared(found: Sequence[Row]) -> dict[tuple[str, str], list[str]]:
    """Return what is on one side alone in all rows."""
    alone = [row.found.alone for row in found]
    return {
        place: [item for item in items if all(item in one[place] for one in alone)]
        for place, items in alone[0].items()
    }


# -- cells ---------------------------------------------------------------------------------------


def name(scenario: Scenario) -> str:
    """Say which graph it is, how it is answered, and with which switches."""
    switches = [f"`{switch}={value}`" for switch, value in scenario.switches.items()]
    way = [f"answered by {scenario.way}", *(switches or ["no switch"])] if scenario.way else []
    return ", ".join([f"`{scenario.graph}`", *way])


def verdict(by_client: Mapping[str, Played]) -> str:
    """Say which clients pass, if not all do, and why the others do not."""
    failures = for_all({client: one.failures for client, one in by_client.items()})
    if not failures:
        return "passes"
    passing = [client for client, one in by_client.items() if not one.failures]
    return "; ".join(
        [*(f"passes ({client})" for client in passing), f"fails: {'; '.join(failures)}"]
    )


def held(found: Differences, common: Mapping[tuple[str, str], list[str]]) -> str:
    """Say what differs in what the client holds, without what is common to all rows."""
    words = [*found.messages]
    for (place, side), items in found.alone.items():
        own = [item for item in items if item not in common[place, side]]
        words += [f"{places(own)} in {place} {side} alone"] if own and place != "events" else []
    return "; ".join(words) or "the same"


def events(found: Differences, common: Mapping[tuple[str, str], list[str]]) -> str:
    words = []
    for side in SIDES:
        own = [item for item in found.alone["events", side] if item not in common["events", side]]
        words += [f"{places(own)} {side} alone"] if own else []
    return "; ".join(words) or "the same"


def places(items: Sequence[str]) -> str:
    """Return items, in code but for the versions after them."""
    return ", ".join(
        listed([item.partition(" (")[0]]) + "".join(item.partition(" (")[1:]) for item in items
    )


def lines(found: Sequence[Row]) -> list[str]:
    """Return the lines of the table."""
    common, table = shared(found), [line(*HEADS), line(*["---"] * len(HEADS))]
    for row in found:
        first = [name(row.scenario), verdict(row.there), verdict(row.here)]
        if row.turns[0] == row.turns[1]:
            table.append(
                line(
                    *first, held(row.found, common), events(row.found, common), kilobytes(row.sizes)
                )
            )
        else:
            turns = [
                f"{count} turn{'s' * (count != 1)} {side}"
                for count, side in zip(row.turns, SIDES, strict=True)
            ]
            table.append(line(*first, ", ".join(turns), "", ""))
    return table


def kilobytes(sizes: Iterable[int]) -> str:
    return " / ".join(f"{size / 1000:.1f}" for size in sizes)


def common_words(found: Sequence[Row]) -> str:
    """Say what is common to all rows."""
    common = [
        f"{places(items)} in {place} {side} alone"
        for (place, side), items in shared(found).items()
        if items
    ]
    return f"In all rows: {'; '.join(common)}. Beside that:"


def section(found: Sequence[Row]) -> str:
    packages = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    sizes = [row.sizes for row in found if row.turns[0] == row.turns[1]]
    after = f"Together {kilobytes(map(sum, zip(*sizes, strict=True)))} kB. With {packages}."
    return "\n".join([BEGIN, "", common_words(found), "", *lines(found), "", after, "", END])


def main() -> int:
    logging.disable(logging.WARNING)  # packages tell of what they leave out
    client = NodeClient()
    with serving_graphs() as served:
        found = list(played(client, served))
    client.close()
    PAGE.write_text(written(PAGE.read_text(), section(found)))
    failing = [row.scenario for row in found if not row.passes]
    sys.stderr.writelines(f"{one} fails here\n" for one in failing)
    return bool(failing)


if __name__ == "__main__":
    sys.exit(main())
