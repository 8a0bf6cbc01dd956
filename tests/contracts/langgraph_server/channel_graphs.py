"""Graphs that keep results in other channels, or end by a call: those of `tests.kit.graphs.channels`,
for a server."""

from __future__ import annotations

from tests.kit.graphs.channels import flat, nested, node_until_done, text_only

results_in_a_channel, results_in_a_subgraph, ends_by_a_call, kept_as_words = (
    build() for build in (flat, nested, node_until_done, text_only)
)

GRAPHS = {
    "results_in_a_subgraph": nested,
    "results_in_a_channel": flat,
    "ends_by_a_call": node_until_done,
    "kept_as_words": text_only,
}
