"""Questions in known forms: how clients see them, and which answers they take. An answer of another
form is refused before anything runs, and the question stays open."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import Interrupt
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from pydantic import BaseModel

from langgraph_agui import Approval, ApprovalOptions, LangGraphAgent, Question, ReasoningOptions
from langgraph_agui.interrupts.decisions import ALL_DECISIONS
from tests.kit.graphs.forms import FORM, FORMS, URL, elicitation, human_interrupt, node_asking
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.run.agents import RecordedRun
from tests.kit.run.dialogues import answering, cancelled, resolved, result
from tests.kit.run.thread_client import Client, asked, ending

ADA: dict[str, Any] = {"to": "Ada"}
BOB: dict[str, Any] = {"to": "Bob"}
ACTION = {"action": "send_email", "args": ADA}
ACCEPTED = {"type": "accept", "args": ACTION}
EDITED = {"type": "edit", "args": {"action": "send_email", "args": BOB}}
SHORTER = {"type": "response", "args": "Shorter."}
IGNORED = {"type": "ignore", "args": None}
DATED: dict[str, Any] = {"action": "accept", "content": {"date": "Monday"}}
LATER = {"type": "edit", "edited_action": {"name": "send_email", "args": BOB}}
NO: dict[str, Any] = {"approved": False}


def yes(args: Any = None) -> dict[str, Any]:
    return {"approved": True, **({"editedArgs": args} if args else {})}


def dated(answer: Any) -> dict[str, Any]:
    return {"responses": {"date": answer}}


# The value that the graph gets, the decision that `on_answer` is told, and what a client may answer.
RIGHT: list[tuple[str, Any, str, list[Any]]] = [
    ("human", [ACCEPTED], "approve", [True, yes(), [ACCEPTED], yes(ADA)]),
    ("human", [ACCEPTED], "approve", [{"type": "approve"}, {"type": "accept"}]),
    ("human", [ACCEPTED], "approve", [{"type": "accept", "args": None}]),
    ("human", [EDITED], "edit", [yes(BOB), LATER, [EDITED]]),
    ("human", [IGNORED], "reject", [NO, {"type": "reject"}, [IGNORED], [{"type": "ignore"}], ...]),
    ("human", [SHORTER], "respond", [{"type": "respond", "message": "Shorter."}, [SHORTER]]),
    ("human", [SHORTER], "reject", [{**NO, key: "Shorter."} for key in ("message", "reason")]),
    ("mcp", dated(DATED), "answer", [DATED, dated(DATED)]),
    ("mcp", dated({"action": "decline"}), "answer", [{"action": "decline"}]),
    ("mcp", dated({"action": "decline"}), "answer", [{"action": "decline", "content": None}]),
    ("mcp", dated({"action": "cancel"}), "answer", [{"action": "cancel", "content": {}}]),
    ("mcp", dated({"action": "cancel"}), "reject", [...]),
]
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
        *(True, yes(), {"action": "approve"}, {"action": "accept"}, {"action": ["accept"]}),
        *({"action": "accept", "content": content} for content in (None, {}, "Monday")),
        {"action": "accept", "content": {"date": "Mo"}},
        {"action": "accept", "content": {"date": "Monday", "at": {"hour": 8}}},
        {"action": "accept", "content": {"date": "Monday", "at": [8]}},
        *({**DATED, "force": True}, DATED["content"]),
        *({"responses": given} for given in ({}, {"login": DATED}, [DATED])),
        {"responses": {"date": DATED, "login": DATED}},
    ],
}
ROUTES = ("resume", "command")


async def answer(
    client: Client, questions: Sequence[Interrupt], payload: Any, route: str = "resume"
) -> RecordedRun:
    """Give the same answer to all of them."""
    if route == "resume":
        return await client.send(resume=answering(questions, payload))
    return await client.send(forwarded_props={"command": {"resume": payload}})


def can_go(route: str, payload: Any) -> bool:
    """A command without an answer is none, and none can cancel."""
    return route == "resume" or payload not in (None, ...)


def client_of(graph: Any, **approvals: Any) -> Client:
    return Client(LangGraphAgent(graph, approvals=ApprovalOptions(**approvals)))


def asking(value: Any, **approvals: Any) -> Client:
    return client_of(node_asking(value, InMemorySaver()), **approvals)


async def got(client: Client) -> Any:
    """The answer that the graph got."""
    return json.loads((await client.texts())[-1])


async def opened(client: Client) -> list[Interrupt]:
    """The questions of a run; they are those that a client sees that comes back."""
    questions = await client.ask("Please.")
    shown = await client.connect()
    assert [one.model_dump() for one in asked(shown)] == [one.model_dump() for one in questions]
    # The messages of an agent that is a tool stay inside.
    assert shown.messages == [one for one in client.held if one.subagent_run_id is None]
    return questions


async def refused(client: Client, questions: Sequence[Interrupt], *wrong: Any) -> None:
    for payload in wrong:
        run = await answer(client, questions, payload)
        assert (ending(run), "secret" in run.last.message) == ("interrupt_invalid", False), payload


@pytest.mark.parametrize(
    ("route", "kind", "payload", "value", "decision"),
    [
        (route, kind, payload, value, decision)
        for kind, value, decision, payloads in RIGHT
        for payload in payloads
        for route in ROUTES
        if can_go(route, payload)
    ],
)
async def test_a_right_answer_reaches_the_graph_in_its_form(
    route: str, kind: str, payload: Any, value: Any, decision: str
) -> None:
    told: list[Approval] = []
    client = client_of(FORMS[kind](InMemorySaver()), on_answer=told.append)
    questions = await opened(client)
    await refused(client, questions, {"of": "another form"})
    assert told == []
    done = await answer(client, questions, payload, route)
    assert ending(done) == "success", done.last
    done.check_snapshot()
    assert [json.loads(text) for text in await client.texts("tool")] == [value]
    [approval] = told
    assert (approval.decision, approval.tool_call_id) == (decision, "c-Ada")
    if kind == "human":
        assert (approval.name, approval.args) == ("send_email", ADA)
        assert approval.edited_args == (BOB if decision == "edit" else None)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", WRONG)
async def test_an_answer_of_another_form_is_refused_and_the_question_stays_open(
    kind: str, route: str
) -> None:
    client = client_of(FORMS[kind](InMemorySaver()))
    questions = await opened(client)
    for payload in WRONG[kind]:
        if can_go(route, payload):
            run = await answer(client, questions, payload, route)
            assert ending(run) == "interrupt_invalid", payload
    assert asked(await client.connect()) == questions
    assert await client.texts("tool") == []
    right = yes() if kind == "human" else DATED
    assert ending(await answer(client, questions, right)) == "success"


@pytest.mark.parametrize("kind", FORMS)
async def test_the_place_of_a_question_changes_nothing(kind: str) -> None:
    client = client_of(FORMS[kind](InMemorySaver()))
    questions = await opened(client)
    assert [one.tool_call_id for one in questions] == ["c-Ada", "c-Bob"][: len(questions)]
    await refused(client, questions, {"decisions": "none"})
    for _ in range(2):  # the second time as a client whose connection broke
        done = await answer(client, questions, yes() if kind.startswith("human") else DATED)
        assert ending(done) == "success"
        done.check_snapshot()
    if kind.startswith("human"):  # it is asked by a tool call where approvals are
        client = client_of(FORMS[kind](InMemorySaver()), ask_by="tool_call")
        starts = (await client.send("Please.")).of("TOOL_CALL_START")
        calls = [one.tool_call_id for one in starts if one.tool_call_name == "request_approval"]
        assert len(calls) == len(questions)
        done = await client.send(*(result(one, yes()) for one in calls))
        assert ending(done) == "success"
        done.check_snapshot()


async def test_what_is_shown_of_a_human_interrupt_and_of_an_elicitation() -> None:
    [one] = await opened(client_of(FORMS["human"](InMemorySaver())))
    assert (one.reason, one.message, one.tool_call_id) == ("tool_call", "Send it?", "c-Ada")
    schema: Any = one.response_schema
    value, kinds = [human_interrupt(ADA)], ["approve", "edit", "reject", "respond"]
    assert (schema["required"], schema["properties"]["type"]["enum"]) == (["approved"], kinds)
    shown: Any = {"name": "send_email", "args": ADA, "allowedDecisions": kinds}
    assert one.metadata == {**shown, "value": value, "langgraph": {"raw": value}}
    [one] = await opened(client_of(FORMS["mcp"](InMemorySaver())))
    assert (one.reason, one.message, one.tool_call_id) == ("input_required", "When?", "c-Ada")
    actions = {"type": "string", "enum": ["accept", "decline", "cancel"]}
    properties = {"action": actions, "content": FORM["requested_schema"]}
    rules = {"required": ["action"], "additionalProperties": False}
    assert one.response_schema == {"type": "object", "properties": properties, **rules}
    shown = {"mode": "form", "value": (asks := elicitation(FORM))}
    assert one.metadata == {**shown, "langgraph": {"raw": asks}}


@pytest.mark.parametrize(
    ("allowed", "right", "wrong"),
    [
        (["accept"], [True, ...], [False, EDITED, IGNORED, SHORTER]),
        (["edit"], [EDITED, yes(ADA)], [True, ACCEPTED, False]),
        (["respond"], [SHORTER], [True, False, IGNORED, EDITED]),
        (["ignore"], [False, ...], [True, ACCEPTED, SHORTER]),
        (["respond", "ignore"], [{**NO, "message": "Shorter."}, False], [True, ACCEPTED, EDITED]),
    ],
)
async def test_an_answer_that_is_not_allowed_is_refused(
    allowed: list[str], right: list[Any], wrong: list[Any]
) -> None:
    for good in right:
        client = asking([human_interrupt(ADA, *allowed)])
        questions = await opened(client)
        await refused(client, questions, *wrong)
        # what may not be ignored is abandoned if it is cancelled
        end = "cancelled" if good is ... and allowed == ["accept"] else "success"
        assert ending(await answer(client, questions, good)) == end


async def test_several_requests_in_one_value_are_several_questions() -> None:
    client = asking([human_interrupt(ADA), human_interrupt(BOB)])
    one, two = await opened(client)
    assert ending(await answer(client, [one], True)) == "interrupt_unanswered"
    short = await client.send(forwarded_props={"command": {"resume": [ACCEPTED]}})
    assert ending(short) == "interrupt_invalid"
    done = await client.send(resume=resolved((two.id, False), (one.id, True)))
    assert (ending(done), await got(client)) == ("success", [ACCEPTED, IGNORED])


@pytest.mark.parametrize("route", ["resume", "command"])
async def test_the_requests_of_one_round_are_questions_of_their_own(route: str) -> None:
    """Or are answered all at once, as the graph takes them."""
    client = asking(elicitation(FORM, URL))
    form, url = await opened(client)
    given = {"responses": {"date": DATED, "login": {"action": "cancel"}}}
    if route == "command":
        for lacking in (dated(DATED), DATED):
            run = await client.send(forwarded_props={"command": {"resume": lacking}})
            assert ending(run) == "interrupt_invalid"
        done = await client.send(forwarded_props={"command": {"resume": given}})
    else:
        done = await client.send(resume=[*cancelled(url.id), *resolved((form.id, DATED))])
    assert (ending(done), await got(client)) == ("success", given)


PAY, REVIEW = {"name": "pay", "args": {}}, {"allowed_decisions": ["approve", "reject"]}
APPROVAL = {"type": "tool_approval", **PAY}


def batch(requests: list[Any], reviews: list[Any]) -> dict[str, Any]:
    return {"action_requests": requests, "review_configs": reviews}


@pytest.mark.parametrize(
    "value",
    [
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
        batch([{"action": "pay", "args": {}}], [REVIEW]),
        batch([{"name": "pay"}], [REVIEW]),
        batch([{"name": "pay", "arguments": {}}], [REVIEW]),
        batch([{"name": "pay", "args": "all"}], [REVIEW]),
        batch([{"name": 1, "args": {}}], [REVIEW]),
        batch(["pay"], ["pay"]),
        batch([PAY, PAY], [REVIEW]),
        batch([PAY], [REVIEW, REVIEW]),
        batch([], []),
        batch([PAY, {"name": "pay"}], [REVIEW, REVIEW]),
    ],
    ids=str,
)
async def test_a_value_of_nearly_a_known_form_is_a_question_of_the_graphs_own(value: Any) -> None:
    """Also where approvals are calls."""
    client = asking(value, ask_by="tool_call")
    first = await client.send("Please.")
    [one] = questions = asked(first)
    assert (one.reason, one.tool_call_id) == ("input_required", None)
    assert first.of("TOOL_CALL_START") == []
    assert one.metadata == {"value": value, "langgraph": {"raw": value}}
    assert ending(await answer(client, questions, {"decisions": 1})) == "success"
    assert await got(client) == {"decisions": 1}


def branch(kind: str, **fields: Any) -> dict[str, Any]:
    return {"properties": {"type": {"const": kind}, **fields}, "required": ["type"]}


APPROVE_OR_REJECT = {"oneOf": [branch("approve"), branch("reject")]}
ODD = [branch("approve"), True, {"properties": True}, {"properties": {"type": True}}]


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ({"type": "tool_approval", "name": "pay"}, None),
        ({"type": "tool_approval", "args": {}}, None),
        ({**APPROVAL, "responseSchema": APPROVE_OR_REJECT}, ["approve", "reject"]),
        ({**APPROVAL, "response_schema": APPROVE_OR_REJECT}, ["approve", "reject"]),
        ({**APPROVAL, "responseSchema": {"oneOf": ODD}}, ["approve"]),
        ({**APPROVAL, "tool_call_id": 7}, list(ALL_DECISIONS)),
        (batch([PAY], [{"allowed_decisions": None}]), list(ALL_DECISIONS)),
        (batch([PAY], [{"allowed_decisions": "approve"}]), list(ALL_DECISIONS)),
        (batch([PAY], [{"allowed_decisions": []}]), []),
    ],
)
async def test_an_approval_that_is_not_quite_the_middlewares_is_an_approval(
    value: dict[str, Any], allowed: list[str] | None
) -> None:
    client = asking(value)
    questions = await opened(client)
    if allowed is None:
        assert ending(await answer(client, questions, yes())) == "success"
        return
    assert (questions[0].reason, questions[0].tool_call_id) == ("tool_call", None)
    assert (questions[0].metadata or {})["allowedDecisions"] == allowed
    await refused(client, questions, "yes", None, {"type": "unknown"})
    edit = {"type": "edit", "edited_action": {"name": "pay", "args": {"a": 1}}}
    if "edit" not in allowed:
        await refused(client, questions, edit)
    if not allowed:
        await refused(client, questions, True, {"decisions": [{"type": "approve"}]})
    given = True if allowed == ["approve"] else edit if "edit" in allowed else ...
    end = "success" if {"edit", "approve"} & {*allowed} else "cancelled"
    assert ending(await answer(client, questions, given)) == end


def no_choice(_: object = None) -> object:
    raise ValueError("The secret is 42.")


def pick(value: Any) -> Question | None:
    """`{"pick": [...]}` is answered by the number of one; the graph takes the one itself."""
    if not isinstance(value, dict) or "pick" not in value:
        return None
    encode = lambda number: value["pick"][number] if number else no_choice()  # noqa: E731
    return Question(message="Which one?", response_schema={"type": "integer"}, encode=encode)


def release(value: Any) -> Question:
    """`{"release": version}` is an approval; the graph takes `yes` or `no`."""
    return Question(
        tool="release",
        args={"version": value["release"]},
        decisions=["approve", "reject"],
        decode=lambda answer: {"yes": True, "no": False}.get(str(answer), answer),
        encode=lambda decision: "yes" if decision == {"type": "approve"} else "no",
    )


def deep_schema(levels: int) -> dict[str, Any]:
    """A schema that would be 2 ** levels schemas without its references."""
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": twice}


def accepted(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


def by_schema(schema: Any) -> dict[str, Any]:
    return elicitation({**FORM, "requested_schema": schema})


ANY, LONG = {"forms": [lambda value: Question(message="Mine?")]}, accepted(date="a" * 60 + "!")
OWN, MAY = {"forms": [pick, release]}, {"message": "May release run?", "reason": "tool_call"}
REFUSED = ["Yes", {"type": "edit", "edited_action": {"name": "release", "args": {}}}]
SIZES = {"properties": {"size": {"$ref": "#/$defs/size"}}, "$defs": {"size": {"enum": ["S", "L"]}}}
AMOUNT = {"type": "object", "properties": {"args": {"properties": {"amount": {"maximum": 10}}}}}
LIMITED = {"oneOf": [branch("approve"), branch("edit", edited_action=AMOUNT)]}
VERSION, FEW, LARGE = {"release": "2.0"}, {"amount": 9}, accepted(size="L")
EDIT = {"type": "edit", "edited_action": {"name": "pay", "args": FEW}}
DEFAULT, LOGGED = {"message": "May send_email run?"}, {"responses": {"login": {"action": "accept"}}}
ADDRESS = {"message": "Please log in.\nhttps://example.com/in"}
PICK = {"message": "Which one?", "response_schema": {"type": "integer"}}
HARMFUL: list[dict[str, Any]] = [
    {"type": "object", "properties": {"date": {"$ref": 5}}},
    {"type": "object", "properties": {"date": {"$ref": "#/$defs/none"}}},
    {"$ref": "http://127.0.0.1/schema"},
    {"properties": {"date": {"type": "day"}}, "required": 5},
    {"properties": {"date": {"pattern": "("}}},
    {"properties": {"date": {"pattern": "^(a+)+$"}}},
    {"$ref": "#"},
    {"$ref": "#/$defs/node", "$defs": {"node": {"allOf": [{"$ref": "#/$defs/node"}]}}},
    deep_schema(60),
]


# The value, options, what is shown, wrong answers, a right one, and what the graph gets for it.
@pytest.mark.parametrize(
    ("value", "options", "shown", "wrong", "right", "gets"),
    [
        (human_interrupt(ADA, description=None), {}, DEFAULT, [], True, [ACCEPTED]),
        (elicitation(URL), {}, ADDRESS, [accepted(code=1)], accepted() | {"content": None}, LOGGED),
        (by_schema(SIZES), {}, {}, [accepted(size="M")], LARGE, dated(LARGE)),
        ({**APPROVAL, "responseSchema": LIMITED}, {}, {}, [yes({"amount": 99})], yes(FEW), EDIT),
        ({"pick": ["red", "green"]}, OWN, PICK, ["green", 0], 1, "green"),
        ([human_interrupt(ADA)], ANY, {"message": "Mine?"}, [], "any", "any"),
        *((VERSION, OWN, MAY, REFUSED, right, "yes") for right in (True, "yes")),
        *((VERSION, OWN, MAY, REFUSED, right, "no") for right in ({**NO, "message": "!"}, ...)),
        # no schema of a server stops a thread
        *((by_schema(schema), {}, {}, [], LONG, dated(LONG)) for schema in HARMFUL),
    ],
)
async def test_a_question_takes_the_answers_of_its_form(
    value: Any, options: Any, shown: Any, wrong: list[Any], right: Any, gets: Any
) -> None:
    client = asking(value, **options)
    questions = await opened(client)
    assert shown.items() <= questions[0].model_dump().items()
    await refused(client, questions, *wrong)
    assert ending(await answer(client, questions, right)) == "success"
    assert await got(client) == gets


async def test_a_schema_of_the_application_stays_as_it_is() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"approved": {"type": "boolean"}}}
    question = Question(tool="quit", decisions=["reject"], response_schema=schema, encode=no_choice)
    client = asking({"quit": True}, forms=[lambda value: question])
    questions = await opened(client)
    assert {*(questions[0].response_schema or {})["properties"]} == {"approved", "reason"}
    assert {*schema["properties"]} == {"approved"}
    await refused(client, questions, ...)  # a form may refuse to be cancelled
    assert asked(await client.connect()) == questions


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: ApprovalOptions(forms=["pick"]), TypeError, "must be a list of function, not of"),  # type: ignore[list-item]
        (lambda: Question(decisions=["approve"]), ValueError, "needs a `tool`"),
        (lambda: Question(tool="x", decisions=["no"]), ValueError, "must be one of 'approve', "),
        (lambda: Question(message={"en": "Quit?"}), TypeError, "message must be str, not dict"),  # type: ignore[arg-type]
    ],
)
def test_wrong_options_are_refused(make: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make()


class Trip(BaseModel):
    nights: int


async def test_the_value_of_a_form_must_fit_the_schema_of_the_graph() -> None:
    def node(state: Chat) -> Any:
        trip = interrupt("How long?", response_schema=Trip)
        return {"messages": [("ai", str(trip.nights))]}

    form = lambda value: Question(message=str(value), encode=lambda nights: {"nights": nights})  # noqa: E731
    client = client_of(chain_of(node, checkpointer=InMemorySaver()), forms=[form])
    questions = await opened(client)
    await refused(client, questions, "many")
    assert ending(await answer(client, questions, 3)) == "success"
    assert await got(client) == 3


@pytest.mark.parametrize("made", [{"message": "Which one?"}, True])
async def test_a_form_that_returns_no_question_says_so(
    made: Any, caplog: pytest.LogCaptureFixture
) -> None:
    client = asking("Which one?", forms=[lambda value: made])
    assert ending(await client.send("Go.")) == "graph_error"
    assert "Expected a Question or None of a form" in caplog.text


async def test_what_a_form_shows_is_redacted_json() -> None:
    def form(value: Any) -> Question:
        return Question(message=value["ask"], metadata={"said": value["said"], "seen": {1}})

    thought = {"type": "reasoning", "reasoning": "They are greedy."}
    value = {"ask": "<think>Greedy.</think>Which one?", "said": [thought]}
    hidden = ReasoningOptions(visibility="hidden", think_tags=True)
    approvals = ApprovalOptions(forms=[form])
    graph = node_asking(value, InMemorySaver())
    [question] = await opened(Client(LangGraphAgent(graph, approvals=approvals, reasoning=hidden)))
    metadata = question.metadata or {}
    assert (question.message, metadata["said"], metadata["seen"]) == ("Which one?", [], [1])
