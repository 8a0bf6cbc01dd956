"""Lists the pages with their code blocks, and why some do not run with their page: `python -m
tests.docs`."""

from __future__ import annotations

from collections import Counter

from tests.docs.blocks import PAGES, ROOT, blocks


def main() -> None:
    """Print one line for each page, one for each reason why blocks of it do not run with it."""
    for page in PAGES:
        reasons = Counter(block.reason for block in blocks(page))
        print(f"{reasons.pop(None, 0):4} {page.relative_to(ROOT)}")
        for reason, count in reasons.items():
            print(f"{count:8} {reason}")


if __name__ == "__main__":
    main()
