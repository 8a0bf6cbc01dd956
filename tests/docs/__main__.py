"""Lists the pages with their code blocks, and why some do not run with their page: `python -m
tests.docs`."""

from __future__ import annotations

from collections import Counter

from tests.docs.blocks import PAGES, ROOT, blocks


def main() -> None:
    """Print one line for each page, one for each reason why blocks of it do not run with it, and
    the sums."""
    with_page = elsewhere = never = 0
    for page in PAGES:
        reasons = Counter(block.reason for block in blocks(page))
        with_page += reasons[None]
        print(f"{reasons.pop(None, 0):4} {page.relative_to(ROOT)}")
        for reason, count in reasons.items():
            print(f"{count:8} {reason}")
            if str(reason).startswith("run by"):
                elsewhere += count
            else:
                never += count
    print(
        f"{with_page} blocks run with their page, {elsewhere} by a test of their own, {never} do "
        f"not run"
    )


if __name__ == "__main__":
    main()
