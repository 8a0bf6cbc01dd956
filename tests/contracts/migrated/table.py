"""`python -m tests.contracts.migrated.table`: play all scenarios under both packages, and write
docs/migrating.md's table."""

from __future__ import annotations

import logging
import sys
from importlib.metadata import version
from typing import NamedTuple

from tests.contracts.migrated.differences import Played, differences, for_all, listed, merged, play
from tests.contracts.migrated.scenarios import ALL, Scenario
from tests.contracts.migrated.serving import CLIENTS, HERE, THERE, MigratedFront, serving_graphs
from tests.kit.paths import ROOT
from tests.kit.processes.node_client import NodeClient
from tests.kit.tables import BEGIN, END, line, written

PAGE = ROOT / "docs" / "migrating.md"
PACKAGES = ["ag-ui-langgraph", "langgraph", "langchain-core", "langchain"]
SIDES = ["there", "here"]
HEADS = ["graph", "`ag-ui-langgraph`", "here"]
HEADS += ["what the client has at the end", "types of events", "kB"]


class Row(NamedTuple):
    """What came of a scenario with each client, and there without raw events, with the newest."""

    scenario: Scenario
    there: dict
    here: dict
    quiet: Played

    @property
    def newest(self):
        """Both sides with the newest of the scenario's clients."""
        return [one[self.scenario.clients[-1]] for one in (self.there, self.here)]

    @property
    def turns(self):
        """How many turns it took on each side."""
        return [one.turns for one in self.newest]

    @property
    def found(self):
        clients = self.scenario.clients
        return merged({one: differences(self.there[one], self.here[one]) for one in clients})

    @property
    def sizes(self):
        there, here = self.newest
        return [there.size, self.quiet.size, here.size]

    @property
    def passes(self):
        """Whether it passes here with each client whose pages answer so."""
        return not any(self.here[client].failures for client in self.scenario.clients)


def played(node, served):
    """Play all scenarios."""

    def by(client, package, **switches):
        front = MigratedFront(node, served, CLIENTS[client], package, **switches)
        return play(scenario, front)

    for scenario in ALL:
        there, here = (
            {client: by(client, package) for client in CLIENTS} for package in (THERE, HERE)
        )
        yield Row(scenario, there, here, by(scenario.clients[-1], THERE, emit_raw_events=False))


def shared(found):
    """Return what is on one side alone in all rows."""
    alone = [row.found.alone for row in found]
    return {
        place: [item for item in items if all(item in one[place] for one in alone)]
        for place, items in alone[0].items()
    }


def name(scenario):
    """Say which graph it is, how it is answered, and with which switches."""
    switches = [f"`{switch}={value}`" for switch, value in scenario.switches.items()]
    way = [f"answered by {scenario.way}", *(switches or ["no switch"])] if scenario.way else []
    return ", ".join([f"`{scenario.graph}`", *way])


def verdict(by_client):
    """Say which clients pass, if not all do, and why the others do not."""
    failures = for_all({client: one.failures for client, one in by_client.items()})
    if not failures:
        return "passes"
    passing = [client for client, one in by_client.items() if not one.failures]
    return "; ".join(
        [*(f"passes ({client})" for client in passing), f"fails: {'; '.join(failures)}"]
    )


def held(found, common):
    """Say what differs in what the client holds, without what is common to all rows."""
    words = [*found.messages]
    for (place, side), items in found.alone.items():
        own = [item for item in items if item not in common[place, side]]
        words += [f"{places(own)} in {place} {side} alone"] if own and place != "events" else []
    return "; ".join(words) or "the same"


def events(found, common):
    words = []
    for side in SIDES:
        own = [item for item in found.alone["events", side] if item not in common["events", side]]
        words += [f"{places(own)} {side} alone"] if own else []
    return "; ".join(words) or "the same"


def places(items):
    """Return items, in code but for the versions after them."""
    parts = [item.partition(" (") for item in items]
    return ", ".join(f"{listed([name])}{between}{versions}" for name, between, versions in parts)


def lines(found):
    """Return the lines of the table."""
    common, table = shared(found), [line(*HEADS), line(*["---"] * len(HEADS))]
    for row in found:
        first = [name(row.scenario), verdict(row.there), verdict(row.here)]
        rest = [held(row.found, common), events(row.found, common), kilobytes(row.sizes)]
        if row.turns[0] != row.turns[1]:
            pairs = zip(row.turns, SIDES, strict=True)
            turns = [f"{count} turn{'s' * (count != 1)} {side}" for count, side in pairs]
            rest = [", ".join(turns), "", ""]
        table.append(line(*first, *rest))
    return table


def kilobytes(sizes):
    return " / ".join(f"{size / 1000:.1f}" for size in sizes)


def common_words(found):
    """Say what is common to all rows."""
    items = shared(found).items()
    common = [f"{places(all_)} in {place} {side} alone" for (place, side), all_ in items if all_]
    return f"In all rows: {'; '.join(common)}. Beside that:"


def section(found):
    packages = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    sizes = [row.sizes for row in found if row.turns[0] == row.turns[1]]
    after = f"Together {kilobytes(map(sum, zip(*sizes, strict=True)))} kB. With {packages}."
    return "\n".join([BEGIN, "", common_words(found), "", *lines(found), "", after, "", END])


def main():
    logging.disable(logging.WARNING)  # packages tell of what they leave out
    client = NodeClient()
    with serving_graphs() as served:
        found = [*played(client, served)]
    client.close()
    PAGE.write_text(written(PAGE.read_text(), section(found)))
    failing = [row.scenario for row in found if not row.passes]
    sys.stderr.writelines(f"{one} fails here\n" for one in failing)
    return bool(failing)


if __name__ == "__main__":
    sys.exit(main())
