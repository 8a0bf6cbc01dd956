"""The recipe assistant: the same conversation with patches and with snapshots."""

from __future__ import annotations

import copy
import re
import subprocess
import sys

from examples.recipe_assistant.cook import SOUP, Cook
from examples.recipe_assistant.main import make_agent
from tests.behaviour.state.clients import Client
from tests.kit.paths import ROOT

STATE = ("STATE_SNAPSHOT", "STATE_DELTA")
BASIL = {"name": "basil", "amount": "a handful"}
CHANGED = {**SOUP, "servings": 6, "ingredients": [*SOUP["ingredients"], BASIL]}
WISH, EDITED = "A tomato soup, please.", "I have changed the time."


async def test_the_recipe_grows_is_changed_and_is_edited() -> None:
    client = Client(make_agent("patches", Cook(delay=0)))
    grows = await client.say(WISH)
    grows.check_snapshot()
    assert client.state == {"recipe": SOUP}
    assert not grows.last.outcome.pending_tool_call_ids
    shown = [number for number, kind in enumerate(grows.types) if kind in STATE]
    assert sum(number < grows.types.index("TOOL_CALL_END") for number in shown) > 20
    assert max(shown) < grows.types.index("TEXT_MESSAGE_START")
    await client.say("Please make it for six and add basil.")
    assert client.state == {"recipe": CHANGED}
    edited = {"recipe": {**CHANGED, "minutes": 20}}
    client.state = copy.deepcopy(edited)
    third = await client.say(EDITED)
    assert (third.of(*STATE), client.state) == ([], edited)
    text = "".join(event.delta for event in third.of("TEXT_MESSAGE_CONTENT"))
    assert text.startswith("Tomato soup for 6, in 20 minutes")
    fourth = await client.say("Now for two.")  # on top of the edit, which is stored
    assert client.state == {"recipe": {**CHANGED, "minutes": 20, "servings": 2}}
    assert len(fourth.of(*STATE)) == 1


def test_it_runs_from_a_clone() -> None:
    command = [sys.executable, "-m", "examples.recipe_assistant"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    _, delta, snapshot = done.stdout.split("== send=")
    operations = "replace /recipe/servings, add /recipe/ingredients/-"
    (patch,) = re.findall(rf"STATE_DELTA (\d+) bytes: {operations}\n", delta)
    whole = re.findall(r"^  STATE_SNAPSHOT (\d+) bytes\n", snapshot, re.MULTILINE)
    assert int(patch) * 3 < int(whole[0])
    assert "STATE_DELTA" not in snapshot
    states = [re.findall(r"^  state: .*", part, re.MULTILINE) for part in (delta, snapshot)]
    assert states[0] == states[1]
    assert (len(states[0]), done.stdout.count("no event of state")) == (3, 2)


async def test_what_is_no_recipe_is_refused_and_one_that_is_cleared_is_written_anew() -> None:
    client = Client(make_agent("patches", Cook(delay=0)))
    await client.say(WISH)
    messages, client.state = client.messages, {"recipe": {**SOUP, "servings": 0}}
    wrong = await client.say(EDITED, ends="state_invalid")
    assert not wrong.of("STEP_STARTED")
    client.messages, client.state = messages, {"recipe": None}
    again = await client.say(WISH)
    assert again.of("TOOL_CALL_START")[0].tool_call_name == "Recipe"
    assert client.state == {"recipe": SOUP}
