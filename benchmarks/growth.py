"""Section G: what a token costs with more messages of history, and with more runs at once.

The history has reasoning with signatures. The checkpoint holds it, and the client sends it. A long
run less a short one is what the tokens cost.
"""

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from .recorded import Session
from .report import short, spread, table
from .subjects import OURS, RAW
from .workloads import Workload, echo, scaled, text, words

MESSAGES = (20, 200, 2000)
AT_ONCE = (1, 100, 500)
LONG, FEW, SHORT_RUNS = 4000, 2, 4
CROWD_TOKENS = 60
MICRO = 1e-6


async def measure_growth(session: Session) -> list[str]:
    """Both parts, as Markdown."""
    return [*await _history(session), *await _crowds(session)]


def conversation(count: int) -> list[BaseMessage]:
    """So many messages; each answer has reasoning."""
    thought, said = "".join(words(40, "thought")), "".join(words(30))
    found: list[BaseMessage] = []
    for number in range(0, count, 2):
        blocks: list[str | dict[str, object]] = [
            {"type": "thinking", "thinking": thought, "signature": "c2ln" * 60, "index": 0},
            {"type": "text", "text": said, "index": 1},
        ]
        metadata = {"model_provider": "anthropic"}
        found.append(HumanMessage(said, id=f"user-{number}"))
        found.append(AIMessage(blocks, id=f"answer-{number}", response_metadata=metadata))
    return found


def with_history(messages: int, tokens: int, runs: int) -> Workload:
    """Runs on a thread with so many messages."""
    title = f"{messages:,} messages, {tokens:,} tokens"
    return text(f"G {title}", title, tokens, history=conversation(messages), runs=runs)


async def _history(session: Session) -> list[str]:
    about = (
        f"**G** What grows with a history of messages, half of them with reasoning: CPU of a token "
        f"in a run of {LONG:,} tokens, of a run of {FEW} tokens, and of a message in such a run."
    )
    head = ["messages", "raw, µs per token", "ours, µs per token", "raw, ms per short run"]
    head += ["ours, ms per short run", "ours, µs per message"]
    rows: list[list[str]] = []
    first = 0.0
    for size in MESSAGES:
        messages, tokens = scaled(size, session.scale), scaled(LONG, session.scale)
        long = await session.measure(with_history(messages, tokens, 1), (RAW, OURS))
        brief = await session.measure(with_history(messages, FEW, SHORT_RUNS), (RAW, OURS))
        each = [(long.cpu(one) - brief.cpu(one)) / (tokens - FEW) for one in (RAW, OURS)]
        runs = [brief.cpu(one) for one in (RAW, OURS)]
        first = first or runs[1]
        row = [f"{messages:,}", *(short(seconds / MICRO) for seconds in each)]
        row += [short(seconds * 1e3) for seconds in runs]
        rows.append([*row, short((runs[1] - first) / messages / MICRO) if rows else ""])
    return [about, table(head, rows)]


async def _crowds(session: Session) -> list[str]:
    about = f"And with the runs at once: CPU of a token in runs of {CROWD_TOKENS} tokens."
    head = ["at once", "raw, µs per token", "ours, µs per token", "ours over raw"]
    rows = []
    for number in AT_ONCE:
        title = f"G {number:,} at once"
        runs = scaled(max(number, AT_ONCE[1]), session.scale)
        workload = echo(title, title, CROWD_TOKENS, runs=runs, at_once=number > 1)
        result = await session.measure(workload, (RAW, OURS))
        each = [result.cpu(one) / CROWD_TOKENS / MICRO for one in (RAW, OURS)]
        rows.append([f"{number:,}", *map(short, each), spread(result.ratios(OURS, RAW))])
    return [about, table(head, rows)]
