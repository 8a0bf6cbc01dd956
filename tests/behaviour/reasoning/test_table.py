"""The table in docs/reference/reasoning-format.md says what the other tests of this directory
find."""

from __future__ import annotations

import re

from tests.behaviour.reasoning.table import PAGE, ROWS, table
from tests.kit.expect.identity import EXPECTED_DIFFERENCES, STREAMED, TURNS, WHOLE
from tests.kit.models.cases import BY_ID
from tests.kit.tables import BEGIN, END, rows, written


def test_the_page_has_the_table() -> None:
    made = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    assert rows(PAGE.read_text()) == table(EXPECTED_DIFFERENCES)
    listed = re.findall(r"(langchain-[\w-]+) \d", made.partition("\nWith ")[2])
    assert set(listed) >= {row.package for row in ROWS.values()}
    assert (
        f"{len(ROWS)} settings: {len(STREAMED)} conversations streamed, {len(WHOLE)} answered whole"
        in made
    )


def test_differences_are_of_cases_and_providers_that_exist() -> None:
    for name, column in EXPECTED_DIFFERENCES:
        assert name in (TURNS if column == "turns" else BY_ID)


def test_reasons_are_gathered_by_provider() -> None:
    same = table({})
    made = table(
        {
            ("openai-phases", "streamed"): "one reason",
            ("openai-tool-loop", "streamed"): "one reason",
            ("openai-two-texts", "streamed"): "another",
            ("groq", "turns"): "a third",
        }
    )
    assert len(made) == len(same)
    [openai, groq] = [line for line in made if line not in same]
    assert openai.endswith(
        "| default (`responses/v1`), streamed: one reason; default (`responses/v1`), streamed: another |"
    )
    assert (
        groq
        == "| langchain-groq | default, `v1` | nothing | default, five turns with tools: a third |"
    )


def test_a_section_replaces_only_itself() -> None:
    first = written("", f"{BEGIN}\none\n{END}")
    page = f"# Title\n\n{first}\n## More\n"
    assert first == f"{BEGIN}\none\n{END}\n"
    assert written("# Title\n", f"{BEGIN}\n{END}") == f"# Title\n\n{BEGIN}\n{END}\n"
    assert written(page, f"{BEGIN}\ntwo\n{END}") == page.replace("one", "two")
