"""Activities as lines of text: what a tool tells of its output as it comes, any other as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ag_ui.core import ActivityDeltaEvent, ActivitySnapshotEvent

TOOL_OUTPUT: Final = "langgraph:tool_output"
_END: Final = "/status"


class Outputs:
    """Tells what activity events add. Text that a tool streams is told by whole lines."""

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}
        self._rests: dict[str, str] = {}

    def lines(self, event: ActivitySnapshotEvent | ActivityDeltaEvent) -> Iterator[str]:
        """Yield the lines that `event` ends."""
        key, data = event.message_id, event.model_dump(mode="json", by_alias=True)
        if data["type"] == "ACTIVITY_SNAPSHOT":
            content = data["content"]
            if event.activity_type == TOOL_OUTPUT and isinstance(parts := content.get("output"), list):
                self._tools[key], self._rests[key] = str(content.get("toolName", "tool")), ""
                for part in parts:
                    yield from self._part(key, part)
            else:
                yield f"{event.activity_type}: {_json(content)}"
        elif key in self._tools:
            for operation in data["patch"]:
                if operation["path"] == _END:
                    yield from self._rest(key)
                else:
                    yield from self._part(key, operation.get("value"))
        else:
            yield f"{event.activity_type}: {_json(data['patch'])}"

    def _part(self, key: str, part: Any) -> Iterator[str]:
        if not isinstance(part, str):
            yield from self._rest(key)
            yield f"{self._tools[key]}: {_json(part)}"
            return
        *lines, self._rests[key] = (self._rests[key] + part).split("\n")
        for line in lines:
            yield f"{self._tools[key]}: {line}"

    def _rest(self, key: str) -> Iterator[str]:
        rest, self._rests[key] = self._rests[key], ""
        if rest:
            yield f"{self._tools[key]}: {rest}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
