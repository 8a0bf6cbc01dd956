"""The command line: `langgraph-agui serve | chat | demo | doctor | validate | play`.

Its packages are an optional extra; importing this module needs none of them.
"""

import sys

EXTRA_PACKAGES = frozenset(
    {
        "click",
        "dotenv",
        "fastapi",
        "httpx2",
        "langchain",
        "langgraph",
        "rich",
        "starlette",
        "typer",
        "uvicorn",
    }
)


def main() -> None:
    """Run the command line; without the extra's packages, name the extra that is missing."""
    try:
        from langgraph_agui.devtools.cli.app import app

        app()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRA_PACKAGES:
            raise
        sys.exit(f'{missing} is missing: pip install "langgraph-agui[cli]"')
