"""Questions in known forms: how clients see them, and which answers they take. An answer of another
form is refused before anything runs, and the question stays open."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from ag_ui.core import Interrupt
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

from langgraph_agui import Approval, ApprovalOptions, LangGraphAgent, Question, ReasoningOptions
from tests.kit.graphs.forms import FORM, FORMS, URL, elicitation, human_interrupt, node_asking
from tests.kit.graphs.pauses import State
from tests.kit.run.agents import RecordedRun
from tests.kit.run.dialogues import cancelled, resolved, result
from tests.kit.run.thread_client import Client, asked, ending

ADA: dict[str, Any] = {"to": "Ada"}
ACTION = {"action": "send_email", "args": ADA}
BOB: dict[str, Any] = {"to": "Bob"}
ACCEPTED = {"type": "accept", "args": ACTION}
EDITED = {"type": "edit", "args": {"action": "send_email", "args": BOB}}
SHORTER = {"type": "response", "args": "Shorter."}
IGNORED = {"type": "ignore", "args": None}
DATED: dict[str, Any] = {"action": "accept", "content": {"date": "Monday"}}

# What a client may answer, and the value that the graph gets.
HUMAN: list[tuple[Any, Any]] = [
    (True, [ACCEPTED]),
    ({"approved": True}, [ACCEPTED]),
    ({"type": "approve"}, [ACCEPTED]),
    ({"type": "accept"}, [ACCEPTED]),
    ({"type": "accept", "args": None}, [ACCEPTED]),
    ([ACCEPTED], [ACCEPTED]),
    ({"approved": True, "editedArgs": ADA}, [ACCEPTED]),
    ({"approved": True, "editedArgs": BOB}, [EDITED]),
    ({"type": "edit", "edited_action": {"name": "send_email", "args": BOB}}, [EDITED]),
    ([EDITED], [EDITED]),
    ({"approved": False}, [IGNORED]),
    ({"type": "reject"}, [IGNORED]),
    ([IGNORED], [IGNORED]),
    ([{"type": "ignore"}], [IGNORED]),
    ({"approved": False, "message": "Shorter."}, [SHORTER]),
    ({"approved": False, "reason": "Shorter."}, [SHORTER]),
    ({"type": "respond", "message": "Shorter."}, [SHORTER]),
    ([SHORTER], [SHORTER]),
    (..., [IGNORED]),
]
MCP: list[tuple[Any, Any]] = [
    (DATED, {"responses": {"date": DATED}}),
    ({"responses": {"date": DATED}}, {"responses": {"date": DATED}}),
    ({"action": "decline"}, {"responses": {"date": {"action": "decline"}}}),
    ({"action": "decline", "content": None}, {"responses": {"date": {"action": "decline"}}}),
    ({"action": "cancel", "content": {}}, {"responses": {"date": {"action": "cancel"}}}),
    (..., {"responses": {"date": {"action": "cancel"}}}),
]
RIGHT = [("human", *case) for case in HUMAN] + [("mcp", *case) for case in MCP]

NONE_OF_ANY: list[Any] = [None, {}, [], "yes", "true", 1, [True], {"approved": "true"}, {"a": 1}]
WRONG: dict[str, list[Any]] = {
    "human": [
        *NONE_OF_ANY,
        [ACCEPTED, ACCEPTED],
        [[ACCEPTED]],
        {"type": "accept", "args": {"action": "send_email", "args": BOB}},
        {"type": "accept", "force": True},
        {"type": "edit", "args": BOB},
        {"type": "edit", "args": {"action": "delete_email", "args": BOB}},
        {"type": "response", "args": None},
        {"type": "response", "args": {"text": "Shorter."}},
        {"type": "ignore", "args": ACTION},
        {"action": "accept"},
    ],
    "mcp": [
        *NONE_OF_ANY,
        True,
        {"approved": True},
        {"action": "approve"},
        {"action": "accept"},
        {"action": "accept", "content": None},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": "Monday"},
        {"action": "accept", "content": {"date": "Mo"}},
        {"action": "accept", "content": {"date": "Monday", "at": {"hour": 8}}},
        {"action": "accept", "content": {"date": "Monday", "at": [8]}},
        {"action": ["accept"]},
        {**DATED, "force": True},
        DATED["content"],
        {"responses": {}},
        {"responses": {"login": DATED}},
        {"responses": {"date": DATED, "login": DATED}},
        {"responses": [DATED]},
    ],
}

Route = Callable[[Client, Sequence[Interrupt], Any], Any]


async def by_resume(client: Client, questions: Sequence[Interrupt], payload: Any) -> RecordedRun:
    entries = (
        cancelled(*(one.id for one in questions))
        if payload is ...
        else resolved(*((one.id, payload) for one in questions))
    )
    return await client.send(resume=entries)


async def by_command(client: Client, questions: Sequence[Interrupt], payload: Any) -> RecordedRun:
    answers = {one.id.partition(":")[0]: payload for one in questions}
    answer = answers if len(answers) > 1 else payload
    return await client.send(forwarded_props={"command": {"resume": answer}})


async def by_text(client: Client, questions: Sequence[Interrupt], payload: Any) -> RecordedRun:
    return await by_command(client, questions, json.dumps(payload))


async def by_result(client: Client, questions: Sequence[Interrupt], payload: Any) -> RecordedRun:
    return await client.send(*(result(f"approval:{one.id}", payload) for one in questions))


ROUTES: dict[str, Route] = {
    "resume": by_resume,
    "command": by_command,
    "text": by_text,
    "result": by_result,
}


def can_go(route: str, kind: str, payload: Any) -> bool:
    """Whether this payload can be sent by this route."""
    if payload is ...:
        return route == "resume"
    if route == "result":  # it takes approvals alone, and no bare values
        return kind == "human" and isinstance(payload, dict | list)
    if route == "text" and kind == "human":  # the text `true` approves nothing
        return isinstance(payload, dict | list)
    return payload is not None or route == "resume"  # a command without an answer is none


def client_of(kind: str, **options: Any) -> Client:
    return Client(LangGraphAgent(FORMS[kind](InMemorySaver()), **options))


async def got(client: Client) -> list[Any]:
    """The answers that the graph got: results of its tool."""
    return [
        json.loads(message.text)
        for message in await client.stored()
        if isinstance(message, ToolMessage)
    ]


async def opened(client: Client) -> list[Interrupt]:
    """The questions of a run; they are those that a client sees that comes back."""
    questions = await client.ask("Please.")
    shown = await client.connect()
    assert [one.model_dump() for one in asked(shown)] == [one.model_dump() for one in questions]
    # The messages of an agent that is a tool stay inside.
    assert shown.messages == [one for one in client.held if one.subagent_run_id is None]
    return questions


@pytest.mark.parametrize(
    ("route", "kind", "payload", "value"),
    [(route, *case) for case in RIGHT for route in ROUTES if can_go(route, *case[:2])],
)
async def test_a_right_answer_reaches_the_graph_in_its_form(
    route: str, kind: str, payload: Any, value: Any
) -> None:
    client = client_of(kind)
    questions = await opened(client)
    done = await ROUTES[route](client, questions, payload)
    assert ending(done) == "success", done.last
    done.check_snapshot()
    assert await got(client) == [value]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", WRONG)
async def test_an_answer_of_another_form_is_refused_and_the_question_stays_open(
    kind: str, route: str
) -> None:
    client = client_of(kind)
    questions = await opened(client)
    for payload in WRONG[kind]:
        if not can_go(route, kind, payload):
            continue
        refused = await ROUTES[route](client, questions, payload)
        assert ending(refused) == "interrupt_invalid", payload
        assert asked(await client.connect()) == questions
    assert await got(client) == []
    payload, value = HUMAN[1] if kind == "human" else MCP[0]
    assert ending(await ROUTES["resume"](client, questions, payload)) == "success"
    assert await got(client) == [value]


async def test_a_human_interrupt_is_an_approval_of_its_call() -> None:
    [question] = await opened(client_of("human"))
    assert (question.reason, question.message, question.tool_call_id) == (
        "tool_call",
        "Send it?",
        "c-Ada",
    )
    schema, metadata = question.response_schema or {}, question.metadata or {}
    assert schema["required"] == ["approved"]
    assert schema["properties"]["type"]["enum"] == ["approve", "edit", "reject", "respond"]
    value = [human_interrupt(ADA)]
    assert metadata == {
        "name": "send_email",
        "args": ADA,
        "allowedDecisions": ["approve", "edit", "reject", "respond"],
        "value": value,
        "langgraph": {"raw": value},
    }


@pytest.mark.parametrize("kind", [kind for kind in FORMS if kind.startswith("human")])
async def test_it_is_asked_by_a_tool_call_where_approvals_are(kind: str) -> None:
    client = client_of(kind, approvals=ApprovalOptions(ask_by="tool_call"))
    first = await client.send("Please.")
    assert ending(first) == "success"
    calls = [
        event.tool_call_id
        for event in first.of("TOOL_CALL_START")
        if event.tool_call_name == "request_approval"
    ]
    assert len(calls) == (2 if kind == "human_parallel" else 1)
    done = await client.send(*(result(one, {"approved": True}) for one in calls))
    assert ending(done) == "success"
    done.check_snapshot()


@pytest.mark.parametrize(
    ("allowed", "right", "wrong"),
    [
        (["accept"], [True, ACCEPTED], [False, EDITED, IGNORED, SHORTER]),
        (["edit"], [EDITED, {"approved": True, "editedArgs": ADA}], [True, ACCEPTED, False]),
        (["respond"], [SHORTER], [True, False, IGNORED, EDITED]),
        (["ignore"], [False, IGNORED], [True, ACCEPTED, SHORTER]),
        (
            ["respond", "ignore"],
            [SHORTER, False, {"approved": False, "message": "Shorter."}],
            [True, ACCEPTED, EDITED],
        ),
    ],
)
async def test_an_answer_that_is_not_allowed_is_refused(
    allowed: list[str], right: list[Any], wrong: list[Any]
) -> None:
    for good in right:
        graph = node_asking([human_interrupt(ADA, *allowed)], InMemorySaver())
        client = Client(LangGraphAgent(graph))
        [question] = await opened(client)
        for payload in wrong:
            refused = await client.send(resume=resolved((question.id, payload)))
            assert ending(refused) == "interrupt_invalid", payload
        assert ending(await client.send(resume=resolved((question.id, good)))) == "success"


async def test_a_request_that_may_not_be_ignored_is_abandoned_if_it_is_cancelled() -> None:
    graph = node_asking([human_interrupt(ADA, "accept")], InMemorySaver())
    client = Client(LangGraphAgent(graph))
    [question] = await opened(client)
    assert ending(await client.send(resume=cancelled(question.id))) == "cancelled"


@pytest.mark.parametrize("description", [None, "Look at this."])
async def test_a_human_interrupt_may_stand_without_a_list(description: str | None) -> None:
    graph = node_asking(human_interrupt(ADA, description=description), InMemorySaver())
    client = Client(LangGraphAgent(graph))
    [question] = await opened(client)
    assert question.message == (description or "May send_email run?")
    assert ending(await client.send(resume=resolved((question.id, True)))) == "success"
    assert json.loads((await client.stored())[-1].text) == [ACCEPTED]


async def test_several_human_interrupts_in_one_list_are_several_questions() -> None:
    graph = node_asking([human_interrupt(ADA), human_interrupt(BOB)], InMemorySaver())
    client = Client(LangGraphAgent(graph))
    one, two = await opened(client)
    lone = await client.send(resume=resolved((one.id, True)))
    assert ending(lone) == "interrupt_unanswered"
    short = await client.send(forwarded_props={"command": {"resume": [ACCEPTED]}})
    assert ending(short) == "interrupt_invalid"
    done = await client.send(resume=resolved((two.id, False), (one.id, True)))
    assert ending(done) == "success"
    assert json.loads((await client.stored())[-1].text) == [ACCEPTED, IGNORED]


LOOKALIKES: list[Any] = [
    [],
    [human_interrupt(ADA), "and more"],
    [{"action_request": {"action": "send_email"}, "config": {"allow_accept": True}}],
    [{"action_request": ACTION, "config": {}}],
    [{"action_request": ACTION, "config": {"allow_accept": "yes"}}],
    [{"action_request": ACTION}],
    {"type": "mcp_elicitation", "tool_name": "book", "requests": []},
    {"type": "mcp_elicitation", "requests": [FORM]},
    elicitation({**FORM, "mode": "voice"}),
    elicitation({**URL, "url": None}),
]


@pytest.mark.parametrize("value", LOOKALIKES)
async def test_a_value_of_nearly_a_known_form_is_a_question_of_the_graphs_own(value: Any) -> None:
    client = Client(LangGraphAgent(node_asking(value, InMemorySaver())))
    [question] = await opened(client)
    assert question.metadata == {"value": value, "langgraph": {"raw": value}}
    assert ending(await client.send(resume=resolved((question.id, {"any": 1})))) == "success"
    assert json.loads((await client.stored())[-1].text) == {"any": 1}


# -- MCP elicitation -----------------------------------------------------------------------------


async def test_an_elicitation_has_its_message_schema_and_call() -> None:
    client = client_of("mcp")
    [question] = await opened(client)
    assert (question.reason, question.message, question.tool_call_id) == (
        "input_required",
        "When?",
        "c-Ada",
    )
    assert question.response_schema == {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["accept", "decline", "cancel"]},
            "content": FORM["requested_schema"],
        },
        "required": ["action"],
        "additionalProperties": False,
    }
    value = elicitation(FORM)
    assert question.metadata == {
        "mode": "form",
        "value": value,
        "langgraph": {"raw": value},
    }


async def test_an_elicitation_by_an_address_names_it() -> None:
    client = Client(LangGraphAgent(node_asking(elicitation(URL), InMemorySaver())))
    [question] = await opened(client)
    assert question.message == "Please log in.\nhttps://example.com/in"
    assert (question.metadata or {})["url"] == URL["url"]
    with_content = {"action": "accept", "content": {"code": 1}}
    refused = await client.send(resume=resolved((question.id, with_content)))
    assert ending(refused) == "interrupt_invalid"
    accepted = {"action": "accept", "content": None}
    assert ending(await client.send(resume=resolved((question.id, accepted)))) == "success"
    given = {"responses": {"login": {"action": "accept"}}}
    assert json.loads((await client.stored())[-1].text) == given


async def test_the_requests_of_one_round_are_questions_of_their_own() -> None:
    client = Client(LangGraphAgent(node_asking(elicitation(FORM, URL), InMemorySaver())))
    form, url = await opened(client)
    done = await client.send(resume=[*cancelled(url.id), *resolved((form.id, DATED))])
    assert ending(done) == "success"
    given = {"responses": {"date": DATED, "login": {"action": "cancel"}}}
    assert json.loads((await client.stored())[-1].text) == given


async def test_the_answers_to_one_round_may_come_as_the_graph_takes_them() -> None:
    client = Client(LangGraphAgent(node_asking(elicitation(FORM, URL), InMemorySaver())))
    await opened(client)
    given = {"responses": {"login": {"action": "accept"}, "date": DATED}}
    for lacking in ({"responses": {"date": DATED}}, DATED):
        refused = await client.send(forwarded_props={"command": {"resume": lacking}})
        assert ending(refused) == "interrupt_invalid"
    done = await client.send(forwarded_props={"command": {"resume": given}})
    assert ending(done) == "success"
    assert json.loads((await client.stored())[-1].text) == given


async def test_a_schema_with_references_is_shown_and_applied() -> None:
    schema = {
        "type": "object",
        "properties": {"size": {"$ref": "#/$defs/size"}},
        "required": ["size"],
        "$defs": {"size": {"enum": ["S", "L"]}},
    }
    value = elicitation({**FORM, "requested_schema": schema})
    client = Client(LangGraphAgent(node_asking(value, InMemorySaver())))
    [question] = await opened(client)
    shown = (question.response_schema or {})["properties"]["content"]
    assert shown["properties"]["size"] == {"enum": ["S", "L"]}
    for size, end in (("M", "interrupt_invalid"), ("L", "success")):
        payload = {"action": "accept", "content": {"size": size}}
        assert ending(await client.send(resume=resolved((question.id, payload)))) == end


def deep_schema(levels: int) -> dict[str, Any]:
    """A schema that would be 2 ** levels schemas without its references."""
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": twice}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"date": {"$ref": 5}}},
        {"type": "object", "properties": {"date": {"$ref": "#/$defs/none"}}},
        {"$ref": "http://127.0.0.1/schema"},
        {"properties": {"date": {"type": "day"}}, "required": 5},
        {"properties": {"date": {"pattern": "("}}},
        {"properties": {"date": {"pattern": "^(a+)+$"}}},
        {"$ref": "#"},
        {"$ref": "#/$defs/node", "$defs": {"node": {"allOf": [{"$ref": "#/$defs/node"}]}}},
        deep_schema(60),
    ],
    ids=str,
)
async def test_no_schema_of_a_server_stops_a_thread(schema: Any) -> None:
    value = elicitation({**FORM, "requested_schema": schema})
    client = Client(LangGraphAgent(node_asking(value, InMemorySaver())))
    [question] = await opened(client)
    payload = {"action": "accept", "content": {"date": "a" * 60 + "!"}}
    assert ending(await client.send(resume=resolved((question.id, payload)))) == "success"
    assert json.loads((await client.stored())[-1].text) == {"responses": {"date": payload}}


# -- all forms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMS)
async def test_the_place_of_a_question_changes_nothing(kind: str) -> None:
    client = client_of(kind)
    questions = await opened(client)
    assert [one.tool_call_id for one in questions] == ["c-Ada", "c-Bob"][: len(questions)]
    payload = True if kind.startswith("human") else DATED
    refused = await by_resume(client, questions, {"decisions": "none"})
    assert ending(refused) == "interrupt_invalid"
    done = await by_resume(client, questions, payload)
    assert ending(done) == "success"
    done.check_snapshot()
    assert ending(await by_resume(client, questions, payload)) == "success"  # sent again


@pytest.mark.parametrize(
    ("kind", "payload", "decision"),
    [
        ("human", [ACCEPTED], "approve"),
        ("human", [EDITED], "edit"),
        ("human", [SHORTER], "respond"),
        ("human", [IGNORED], "reject"),
        ("mcp", DATED, "answer"),
        ("mcp", {"action": "decline"}, "answer"),
        ("mcp", ..., "reject"),
    ],
)
async def test_on_answer_is_told_the_decision(kind: str, payload: Any, decision: str) -> None:
    told: list[Approval] = []
    client = client_of(kind, approvals=ApprovalOptions(on_answer=told.append))
    questions = await opened(client)
    await by_resume(client, questions, {"of": "another form"})
    assert told == []
    await by_resume(client, questions, payload)
    [approval] = told
    assert (approval.decision, approval.tool_call_id) == (decision, "c-Ada")
    if kind == "human":
        assert (approval.name, approval.args) == ("send_email", ADA)
        assert approval.edited_args == (BOB if decision == "edit" else None)


# -- forms of the application --------------------------------------------------------------------


def pick(value: object) -> Question | None:
    """`{"pick": [...]}` is answered by the number of one; the graph takes the one itself."""
    match value:
        case {"pick": list(choices)}:
            return Question(
                message="Which one?",
                response_schema={"type": "integer"},
                encode=lambda number: choices[int(str(number))] if number else no_choice(),
            )
    return None


def no_choice() -> object:
    raise ValueError("The secret is 42.")


async def test_a_form_of_the_application_is_asked_and_answered_by_it() -> None:
    graph = node_asking({"pick": ["red", "green"]}, InMemorySaver())
    client = Client(LangGraphAgent(graph, approvals=ApprovalOptions(forms=[pick])))
    [question] = await opened(client)
    assert (question.message, question.response_schema) == ("Which one?", {"type": "integer"})
    for wrong in ("green", 0):
        refused = await client.send(resume=resolved((question.id, wrong)))
        assert ending(refused) == "interrupt_invalid"
        assert "42" not in refused.last.message
    assert ending(await client.send(resume=resolved((question.id, 1)))) == "success"
    assert json.loads((await client.stored())[-1].text) == "green"


async def test_a_schema_of_the_application_stays_as_it_is() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"approved": {"type": "boolean"}}}

    def form(value: object) -> Question | None:
        return Question(tool="quit", decisions=["reject"], response_schema=schema)

    graph = node_asking({"quit": True}, InMemorySaver())
    client = Client(LangGraphAgent(graph, approvals=ApprovalOptions(forms=[form])))
    [question] = await opened(client)
    assert set((question.response_schema or {})["properties"]) == {"approved", "reason"}
    assert set(schema["properties"]) == {"approved"}


async def test_a_form_may_refuse_to_be_cancelled() -> None:
    def asked_for_good(value: object) -> Question | None:
        return Question(tool="quit", decisions=["reject"], encode=lambda decision: no_choice())

    graph = node_asking({"quit": True}, InMemorySaver())
    client = Client(LangGraphAgent(graph, approvals=ApprovalOptions(forms=[asked_for_good])))
    [question] = await opened(client)
    refused = await client.send(resume=cancelled(question.id))
    assert ending(refused) == "interrupt_invalid"
    assert asked(await client.connect()) == [question]


def release(value: object) -> Question | None:
    """`{"release": version}` is an approval; the graph takes `yes` or `no`."""
    match value:
        case {"release": str(version)}:
            return Question(
                tool="release",
                args={"version": version},
                decisions=["approve", "reject"],
                decode=lambda answer: {"yes": True, "no": False}.get(str(answer), answer),
                encode=lambda decision: "yes" if decision == {"type": "approve"} else "no",
            )
    return None


@pytest.mark.parametrize(
    ("payload", "value"),
    [(True, "yes"), ("yes", "yes"), ({"approved": False, "message": "!"}, "no"), (..., "no")],
)
async def test_an_approval_of_the_application_takes_each_form_of_answer(
    payload: Any, value: str
) -> None:
    graph = node_asking({"release": "2.0"}, InMemorySaver())
    client = Client(LangGraphAgent(graph, approvals=ApprovalOptions(forms=[pick, release])))
    questions = await opened(client)
    assert (questions[0].message, questions[0].reason) == ("May release run?", "tool_call")
    for wrong in ("Yes", {"type": "edit", "edited_action": {"name": "release", "args": {}}}):
        assert ending(await by_resume(client, questions, wrong)) == "interrupt_invalid"
    assert ending(await by_resume(client, questions, payload)) == "success"
    assert json.loads((await client.stored())[-1].text) == value


async def test_an_approval_of_the_application_can_be_a_tool_call() -> None:
    graph = node_asking({"release": "2.0"}, InMemorySaver())
    options = ApprovalOptions(forms=[release], ask_by="tool_call")
    client = Client(LangGraphAgent(graph, approvals=options))
    first = await client.send("Please.")
    [call] = first.of("TOOL_CALL_START")
    done = await client.send(result(call.tool_call_id, {"approved": True}))
    assert ending(done) == "success"
    stored = await client.stored()
    assert isinstance(stored[-1], AIMessage)
    assert json.loads(stored[-1].text) == "yes"


async def test_a_form_of_the_application_comes_before_the_known_ones() -> None:
    def mine(value: object) -> Question | None:
        return Question(message="Mine?") if isinstance(value, list) else None

    graph = node_asking([human_interrupt(ADA)], InMemorySaver())
    client = Client(LangGraphAgent(graph, approvals=ApprovalOptions(forms=[mine])))
    [question] = await opened(client)
    assert question.message == "Mine?"
    assert ending(await client.send(resume=resolved((question.id, "any")))) == "success"


def test_wrong_options_are_refused() -> None:
    forms: Any = ["pick"]
    with pytest.raises(TypeError, match="must be a list of function, not of str"):
        ApprovalOptions(forms=forms)
    with pytest.raises(ValueError, match="needs a `tool`"):
        Question(decisions=["approve"])
    with pytest.raises(ValueError, match="must be one of 'approve', 'edit'"):
        Question(tool="quit", decisions=["accept"])
    message: Any = {"en": "Quit?"}
    with pytest.raises(TypeError, match="message must be str, not dict"):
        Question(message=message)


def branch(kind: str, **fields: Any) -> dict[str, Any]:
    return {"properties": {"type": {"const": kind}, **fields}, "required": ["type"]}


def approval_of(*branches: Any) -> Client:
    """The value of an approval of `interrupt_mode="per_call"`, with a schema in it."""
    value = {"type": "tool_approval", "name": "pay", "args": {"amount": 5}}
    graph = node_asking({**value, "responseSchema": {"oneOf": [*branches]}}, InMemorySaver())
    return Client(LangGraphAgent(graph))


async def test_malformed_branches_of_a_schema_are_no_decisions() -> None:
    odd = [
        True,
        {"properties": True},
        {"properties": {"type": True}},
        branch("edit", edited_action=5),
    ]
    [question] = await opened(approval_of(branch("approve"), *odd))
    assert (question.metadata or {})["allowedDecisions"] == ["approve", "edit"]


async def test_a_schema_in_a_value_holds_for_edited_arguments() -> None:
    args = {"type": "object", "properties": {"amount": {"maximum": 10}}}
    edit = branch("edit", edited_action={"type": "object", "properties": {"args": args}})
    client = approval_of(branch("approve"), edit)
    [question] = await opened(client)
    for amount, end in ((99, "interrupt_invalid"), (9, "success")):
        payload = {"approved": True, "editedArgs": {"amount": amount}}
        assert ending(await client.send(resume=resolved((question.id, payload)))) == end


class Trip(BaseModel):
    nights: int


async def test_the_value_of_a_form_must_fit_the_schema_of_the_graph() -> None:
    def node(state: State) -> Any:
        trip = interrupt("How long?", response_schema=Trip)
        return {"messages": [("ai", str(trip.nights))]}

    builder = StateGraph(State).add_node("ask", node).add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())

    def form(value: object) -> Question:
        return Question(message=str(value), encode=lambda nights: {"nights": nights})

    client = Client(LangGraphAgent(graph, approvals=ApprovalOptions(forms=[form])))
    [question] = await opened(client)
    for nights, end in (("many", "interrupt_invalid"), (3, "success")):
        assert ending(await client.send(resume=resolved((question.id, nights)))) == end
    assert (await client.stored())[-1].text == "3"


@pytest.mark.parametrize("made", [{"message": "Which one?"}, True])
async def test_a_form_that_returns_no_question_says_so(
    made: Any, caplog: pytest.LogCaptureFixture
) -> None:
    graph = node_asking("Which one?", InMemorySaver())
    agent = LangGraphAgent(graph, approvals=ApprovalOptions(forms=[lambda value: made]))
    assert ending(await Client(agent).send("Go.")) == "graph_error"
    assert "Expected a Question or None of a form" in caplog.text


async def test_what_a_form_shows_is_redacted_json() -> None:
    thought = {"type": "reasoning", "reasoning": "They are greedy."}

    def form(value: Any) -> Question:
        return Question(message=value["ask"], metadata={"said": value["said"], "seen": {1}})

    value = {"ask": "<think>Greedy.</think>Which one?", "said": [thought]}
    agent = LangGraphAgent(
        node_asking(value, InMemorySaver()),
        approvals=ApprovalOptions(forms=[form]),
        reasoning=ReasoningOptions(visibility="hidden", think_tags=True),
    )
    [question] = await opened(Client(agent))
    metadata = question.metadata or {}
    assert (question.message, metadata["said"], metadata["seen"]) == ("Which one?", [], [1])
