"""Messages with opaque values of version 1, as clients keep them: to be read for ever."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def call(call_id: str, name: str, arguments: str, value: str | None = None) -> Json:
    made = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {**made, "encryptedValue": value} if value else made


USER = {
    "id": "u1",
    "role": "user",
    "content": "What is the weather in Rome?",
    "encryptedValue": (
        "eyJ2IjoxLCJjIjpbeyJ0eXBlIjoidGV4dCIsInRleHQiOlsiJHQiXSwiY2FjaGVfY29udHJvbCI6eyJ0eXBlIjoiZXBoZW1l"
        "cmFsIn19XSwiaCI6ImtzQ3p2U3N2UkhJQVBXLWwifQ"
    ),
}
THOUGHT = {
    "id": "msg_1:reasoning:0",
    "role": "reasoning",
    "content": "The weather first.",
    "encryptedValue": (
        "eyJ2IjoxLCJwIjoiYW50aHJvcGljIiwiYiI6eyJ0eXBlIjoidGhpbmtpbmciLCJ0aGlua2luZyI6WyIkciIsMF0sInNpZ25h"
        "dHVyZSI6IkVxUUJzaWcifX0"
    ),
}
REDACTED = {
    "id": "msg_1:reasoning:1",
    "role": "reasoning",
    "content": "",
    "encryptedValue": (
        "eyJ2IjoxLCJwIjoiYW50aHJvcGljIiwiYiI6eyJ0eXBlIjoicmVkYWN0ZWRfdGhpbmtpbmciLCJkYXRhIjoiRW13S3JlZCJ9fQ"
    ),
}
CLAUDE = {
    "id": "msg_1",
    "role": "assistant",
    "content": "Let me look that up.",
    "toolCalls": [call("toolu_1", "get_weather", '{"city": "Rome"}')],
    "encryptedValue": (
        "eyJ2IjoxLCJwIjoiYW50aHJvcGljIiwiYyI6W1siJGIiLDBdLFsiJGIiLDFdLHsidHlwZSI6InRleHQiLCJ0ZXh0IjpbIiR0"
        "Il19LHsidHlwZSI6InRvb2xfdXNlIiwiaWQiOiJ0b29sdV8xIiwibmFtZSI6ImdldF93ZWF0aGVyIiwiaW5wdXQiOlsiJGoi"
        "LDBdfV0sIm0iOnsiY29udGFpbmVyIjp7ImlkIjoiY29udGFpbmVyXzEifX0sImgiOiJJcTV3bjNGT0RBMk51ZlV4IiwiciI6"
        "Mn0"
    ),
}
RESULT = {
    "id": "t1",
    "role": "tool",
    "content": "Sunny, 24 °C in Rome",
    "toolCallId": "toolu_1",
    "encryptedValue": (
        "eyJ2IjoxLCJjIjpbWyIkdCJdXSwiayI6eyJjYWNoZV9jb250cm9sIjp7InR5cGUiOiJlcGhlbWVyYWwifX0sImgiOiJuNEZS"
        "aHRsR1FNaGZRV0ZXIn0"
    ),
}
ITEM = {
    "id": "rs_1",
    "role": "reasoning",
    "content": "**Planning** the answer",
    "encryptedValue": (
        "eyJ2IjoxLCJwIjoib3BlbmFpIiwiYiI6eyJ0eXBlIjoicmVhc29uaW5nIiwiaWQiOiJyc18xIiwic3VtbWFyeSI6W3sidHlw"
        "ZSI6InN1bW1hcnlfdGV4dCIsInRleHQiOlsiJHIiLDBdfV0sImVuY3J5cHRlZF9jb250ZW50IjoiZ0FBQUFCIn19"
    ),
}
GPT = {
    "id": "resp_1",
    "role": "assistant",
    "content": "Take a hat.",
    "encryptedValue": (
        "eyJ2IjoxLCJwIjoib3BlbmFpIiwiYyI6W1siJGIiLDBdLHsidHlwZSI6InRleHQiLCJ0ZXh0IjoiVGFrZSBhIGhhdC4iLCJp"
        "ZCI6Im1zZ18wIn1dLCJoIjoiSDlSVExuVF9SWGpPN1NnbSIsInIiOlsicnNfMSJdfQ"
    ),
}
GEMINI = {
    "id": "lc_run--1",
    "role": "assistant",
    "toolCalls": [
        call(
            "call_1",
            "get_weather",
            '{"city": "Oslo"}',
            "eyJ2IjoxLCJwIjoiZ29vZ2xlX2dlbmFpIiwicyI6IlEybHIifQ",
        )
    ],
    "encryptedValue": (
        "eyJ2IjoxLCJwIjoiZ29vZ2xlX2dlbmFpIiwiayI6eyJmdW5jdGlvbl9jYWxsIjp7Im5hbWUiOiJnZXRfd2VhdGhlciIsImFy"
        "Z3VtZW50cyI6WyIkYSIsMF19LCJfX2dlbWluaV9mdW5jdGlvbl9jYWxsX3Rob3VnaHRfc2lnbmF0dXJlc19fIjp7ImNhbGxf"
        "MSI6WyIkcyIsMF19fSwiaCI6IlhSZTB3Nm5BTW1NTHNQTDkifQ"
    ),
}
SEALED_GEMINI = {
    **GEMINI,
    "toolCalls": [
        call(
            "call_1",
            "get_weather",
            '{"city": "Oslo"}',
            "AXOuu-RkZWZnaGlqa2xtbm8zOahEQ9h6vE5AZcq9CgWaLqdZbe4CkhuF_Y472ZmHGaaFMuIxK9Ix3AICJCXebfpkwqFUYA",
        )
    ],
    "encryptedValue": (
        "AXOuu-RkZWZnaGlqa2xtbm8zOahEQ9h6vE5AZcq9CgWaLqdZbe4CkhuF_Y4j2ZneavKcLqM4e_RqopAZU5Fg8LQ5NfmKRWh7"
        "Cp2U2ImY5MT-YOmpLPppWnfsGoAmf_5CxF4jPRDG56H2gowa5iRMKTTjGPwXNCvNENCOt6rMUtuJTkffa6kWzFPaDczCs9Nm"
        "pkbq6s0abR0J8zJ0ZujsMN2n5ccdcm_1sB2hIzCdPYeSsgsFBMK50ZddNuC6gTnvvca99ItKAxejpLuRTgxgIF9X2VxnpA"
    ),
}
RAW_THOUGHT = {
    "id": "lc_run--2:reasoning:0",
    "role": "reasoning",
    "content": "",
    "encryptedValue": (
        "eyJ2IjoxLCJwIjoiYmVkcm9ja19jb252ZXJzZSIsImIiOnsidHlwZSI6InJlYXNvbmluZ19jb250ZW50IiwicmVhc29uaW5n"
        "X2NvbnRlbnQiOnsicmVkYWN0ZWRfY29udGVudCI6WyIkeCIsIkFQOD0iXX19fQ"
    ),
}
BEDROCK = {
    "id": "lc_run--2",
    "role": "assistant",
    "content": "Rain.",
    "encryptedValue": (
        "eyJ2IjoxLCJwIjoiYmVkcm9ja19jb252ZXJzZSIsImMiOltbIiRiIiwwXSx7InR5cGUiOiJ0ZXh0IiwidGV4dCI6IlJhaW4u"
        "In1dLCJtIjp7Im1vZGVsX25hbWUiOiJhbnRocm9waWMuY2xhdWRlIn0sIm4iOiJ3ZWF0aGVyIiwiaCI6ImlSQjFfOEpLRUdU"
        "TTlybFEiLCJyIjoxfQ"
    ),
}
