"""Runs every scenario of the client ``poincare-orchestra`` on whichever ``poincare_memory`` is imported.

Started as a program, in a process of its own: ``python orchestra_scenarios.py OUTPUT.json``.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from pathlib import Path

import poincare_orchestra
from poincare_orchestra import MockProvider, Orchestrator, ensemble, list_scenarios, load_scenario

import poincare_memory

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


class SimulatedTime:
    """A clock that moves only when read or slept on: no answer depends on the load of the machine."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def perf_counter(self) -> float:
        self.now += 1e-4
        return self.now

    monotonic = time = perf_counter


def providers(scenario, **options):
    """The scenario's mock providers; ``options`` go to the first, to degrade it or make it fail."""
    names = sorted({profile.provider for profile in scenario.profiles})
    return [MockProvider(name, **(options if name == names[0] else {})) for name in names]


def run_scenario(name):
    scenario = load_scenario(name)

    def orchestrator(**options):
        memory = scenario.build_memory(now=NOW)
        return Orchestrator(scenario, providers=providers(scenario, **options), memory=memory)

    def answers(one):
        return [json.loads(one.run(task.question).to_json()) for task in scenario.tasks]

    healthy, degraded, failing = orchestrator(), orchestrator(degrade_after=1), orchestrator(fail_after=0)
    return {
        "answers": answers(healthy),
        "explained": healthy.run(scenario.tasks[0].question).explain(),
        "evaluation": json.loads(orchestrator().evaluate().to_json()),
        "degraded": answers(degraded),
        "failing": answers(failing),
        "memory after": healthy.memory.table(at_time=NOW),
        "tree": healthy.memory.tree(),
        "stats": healthy.memory.stats(at_time=NOW),
    }


def main(output):
    ensemble.time = SimulatedTime()
    result = {
        "version": poincare_memory.__version__,
        "file": poincare_memory.__file__,
        "client": [poincare_orchestra.__version__, poincare_orchestra.__file__],
        "scenarios": {name: run_scenario(name) for name in list_scenarios()},
    }
    Path(output).write_text(json.dumps(result, default=str), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
