"""The curves of a soak as a picture, for light and dark pages."""

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

PICTURE = Path(__file__).parent.parent.parent / "benchmarks" / "soak.svg"

NAMES = (
    "memory MB",
    "objects",
    "tasks",
    "descriptors",
    "threads",
    "thread locks",
    "cache entries",
)
NOTES = {"threads": " (of an executor)"}

WIDTH, HEIGHT, ACROSS, MARGIN = 340, 110, 2, 24

STYLE = """
text { font: 12px sans-serif; fill: #24292f } .axis { stroke: #8c959f } .curve { stroke: #0969da; fill: none }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .axis { stroke: #6e7681 } .curve { stroke: #58a6ff } }
""".strip()


def chart(rows: Sequence[dict[str, float]], title: str) -> str:
    """Return an SVG picture with one curve for each count, over the runs. Each begins at zero."""
    title = escape(title)
    height = MARGIN * 3 + -(-len(NAMES) // ACROSS) * (HEIGHT + 2 * MARGIN)
    panels = "\n".join(
        f'<g transform="translate({MARGIN + number % ACROSS * (WIDTH + 2 * MARGIN)} '
        f'{MARGIN * 3 + number // ACROSS * (HEIGHT + 2 * MARGIN)})">{_panel(name, rows)}</g>'
        for number, name in enumerate(NAMES)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {ACROSS * (WIDTH + 2 * MARGIN)} '
        f'{height}" role="img">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n"
        f'<text x="{MARGIN}" y="{MARGIN}">{title}</text>\n{panels}\n</svg>\n'
    )


def _panel(name: str, rows: Sequence[dict[str, float]]) -> str:
    last, top = rows[-1]["run"], max(row[name] for row in rows) * 1.15 or 1
    points = " ".join(
        f"{row['run'] / last * WIDTH:.1f},{HEIGHT * (1 - row[name] / top):.1f}" for row in rows
    )
    return (
        f'<text y="-6">{name}: {rows[0][name]:,.0f} after {rows[0]["run"]:,.0f} runs, '
        f"{rows[-1][name]:,.0f} after {last:,.0f}{NOTES.get(name, '')}</text>"
        f'<path class="axis" fill="none" d="M0 0V{HEIGHT}H{WIDTH}"/>'
        f'<polyline class="curve" stroke-width="2" points="{points}"/>'
    )
