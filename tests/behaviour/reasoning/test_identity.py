"""Every case, streamed and answered whole: the next request is the one that LangChain's own
messages make."""

from __future__ import annotations

import pytest

from tests.kit.deep import deep
from tests.kit.expect.identity import STREAMED, WHOLE, check, compare_case, grouped
from tests.kit.models.cases import Case
from tests.kit.run.rig import Rig


@pytest.mark.parametrize("case", grouped(*STREAMED))
def test_streamed(case: Case, rig: Rig) -> None:
    check(case.id, "streamed", compare_case(rig, case, whole=False))


@deep
@pytest.mark.parametrize("case", grouped(*WHOLE))
def test_answered_whole(case: Case, rig: Rig) -> None:
    check(case.id, "whole", compare_case(rig, case, whole=True))
