"""The search itself: asks for candidates, has them built and measured, and reports their times.

Input: a search, a way to evaluate, and what is known. Output: verdicts; the journal has every outcome as it comes.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from ktc.tuning import candidates, judging
from ktc.tuning.candidates import Job, Outcome
from ktc.tuning.journal import Journal
from ktc.tuning.judging import Verdict
from ktc.tuning.search import Exhaustive, Proposed, Values, key_of

Evaluate = Callable[[Sequence[Job]], Iterator[Outcome]]
"""Gives the outcomes of jobs as they come."""


def here(processes: int) -> Evaluate:
    """Evaluate on this machine: so many builds at once, and one run at a time."""

    def evaluate(jobs: Sequence[Job]) -> Iterator[Outcome]:
        with tempfile.TemporaryDirectory(prefix="ktc-tune-") as folder:
            pool = ThreadPoolExecutor(processes)
            try:
                for future in as_completed([pool.submit(candidates.build, job, Path(folder)) for job in jobs]):
                    yield candidates.measure(future.result())
            finally:
                pool.shutdown(cancel_futures=True)

    return evaluate


def search(
    plan: Exhaustive | Proposed,
    job_of: Callable[[Values], Job],
    evaluate: Evaluate,
    journal: Journal,
    batch: int,
    show: Callable[[Sequence[Outcome]], None],
) -> list[Verdict]:
    """Run a search to its end; returns the verdicts, that of the defaults first.

    Args:
        batch: candidates that are asked for at once.
        show: takes all outcomes so far, whenever there is a new one.
    """
    known = {key_of(one.values): one for one in journal.read()}
    journal.begin([*known.values()])
    outcomes: list[Outcome] = []
    size = 1  # the defaults first: all others are compared with them
    while asked := plan.ask(size):
        new = [values for values in asked if key_of(values) not in known]
        outcomes += [known[key_of(values)] for values in asked if key_of(values) in known]
        for outcome in evaluate([job_of(values) for values in new]) if new else ():
            journal.add(outcome)
            outcomes.append(outcome)
            show(outcomes)
        show(outcomes)
        verdicts = judging.judge(outcomes)
        base = next((one for one in verdicts if one.times), None)
        costs = {key_of(one.outcome.values): judging.cost(one, base) for one in verdicts}
        plan.tell((values, costs[key_of(values)]) for values in asked)
        size = batch
    return judging.judge(outcomes)
