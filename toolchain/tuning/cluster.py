"""Candidates on other machines: workers of Dask `distributed`, each with ktc and its own device.

Input: the address of a scheduler. Output: outcomes as they come; a job whose worker dies is done by another one.
"""

import json
from collections.abc import Iterator, Sequence

from ktc.base.records import as_dict, replace
from ktc.bench.cluster import connect
from ktc.tuning.candidates import Job, Outcome, evaluate, outcome_of
from ktc.tuning.running import Evaluate


def there(address: str, files: dict[str, str]) -> Evaluate:
    """Evaluate on the workers of a scheduler.

    Args:
        files: the program's, as `Job.files`.

    Raises:
        ImportError, NoScheduler: as `connect`.
    """
    ask = connect(address)

    def submit(jobs: Sequence[Job]) -> Iterator[Outcome]:
        words = [json.dumps(as_dict(replace(job, files=files))) for job in jobs]
        for at, answer in ask(evaluate, words):
            if isinstance(answer, Exception):
                said = " ".join(str(answer).split())
                yield Outcome(jobs[at].values, "failed", f"{type(answer).__name__}: {said}")
            else:
                yield outcome_of(json.loads(answer))

    return submit
