"""The whole of ``Memory`` does what the reference does: same operations, same answers, same files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from reference import memory_scenario
from reference.comparison import differences
from reference.harness import Reference
from reference.memory_strategies import NOW, scenarios

SCENARIO = Path(memory_scenario.__file__)
# A file keeps the order of insertion; which sibling was linked last, it does not keep.
IN_ORDER_OF_LINKS = {"children", "siblings", "descendants", "tree", "short tree"}
FEW = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
MANY = settings(FEW, max_examples=1500)


def tied_differently(ours: list[Any], theirs: list[Any]) -> bool:
    """Whether some search cut between memories that tie, and each package kept (and counted) others of them."""
    found = [
        [
            {hit["id"] for hit in outcome["hits"]}
            for name, outcome in outcomes
            if name == "search" and "hits" in outcome
        ]
        for outcomes in (ours, theirs)
    ]
    return found[0] != found[1]


def check_same_answers(reference: Reference, scenario: dict[str, Any]) -> None:
    ours = memory_scenario.main(scenario)
    theirs = reference.call_in(SCENARIO, "main", scenario)
    assert differences(ours["outcomes"], theirs["outcomes"]) == []
    assume(not tied_differently(ours["outcomes"], theirs["outcomes"]))  # access counts differ then
    assert differences(ours, {**theirs, "text": ours["text"]}) == []


def check_files(reference: Reference, scenario: dict[str, Any], folder: Path, form: str) -> None:
    """What each package wrote, both read; and both go on with it alike."""
    mine, other = folder / "ours.db", folder / "theirs.db"
    written = memory_scenario.main({**scenario, "database": str(mine)})
    also_written = reference.call_in(SCENARIO, "main", {**scenario, "database": str(other)})
    assume(not tied_differently(written["outcomes"], also_written["outcomes"]))
    for database, text in ((mine, written["text"]), (other, also_written["text"])):
        source = {"database": str(database)} if form == "database" else {"text": text}
        request = {**source, "now": NOW, "operations": scenario["later"]}
        by_them, by_us = reference.call_in(SCENARIO, "reopen", request), memory_scenario.reopen(request)
        for seen in (by_us["loaded"], by_us["memory"], by_them["loaded"], by_them["memory"]):
            for name in IN_ORDER_OF_LINKS:  # kept in our files only
                seen.pop(name, None)
        assert differences(by_us, by_them) == []
        assert differences(written["memory"], by_them["loaded"]) == []


@FEW
@given(scenario=scenarios())
def test_same_answers(reference: Reference, scenario: dict[str, Any]) -> None:
    check_same_answers(reference, scenario)


@pytest.mark.long
@MANY
@given(scenario=scenarios(most=40))
def test_same_answers_long(reference: Reference, scenario: dict[str, Any]) -> None:
    check_same_answers(reference, scenario)


@FEW
@given(scenario=scenarios(), form=st.sampled_from(["database", "json"]))
def test_each_opens_what_the_other_wrote(
    reference: Reference, tmp_path_factory: pytest.TempPathFactory, scenario: dict[str, Any], form: str
) -> None:
    check_files(reference, scenario, tmp_path_factory.mktemp("files"), form)


@pytest.mark.long
@settings(FEW, max_examples=400)
@given(scenario=scenarios(most=30), form=st.sampled_from(["database", "json"]))
def test_each_opens_what_the_other_wrote_long(
    reference: Reference, tmp_path_factory: pytest.TempPathFactory, scenario: dict[str, Any], form: str
) -> None:
    check_files(reference, scenario, tmp_path_factory.mktemp("files"), form)
