"""Candidates on other machines: workers of Dask `distributed`, each with ktc and its own device.

Input: the address of a scheduler. Output: outcomes as they come; a job whose worker dies is done by another one.
"""

import json
from collections.abc import Iterator, Sequence
from importlib import import_module

from ktc.base.records import as_dict, replace
from ktc.tuning.candidates import Job, Outcome, evaluate, outcome_of
from ktc.tuning.running import Evaluate

_RETRIES = 3
_CONNECT_SECONDS = 10


class NoScheduler(Exception):
    """No scheduler answers there, or it has no workers."""


def there(address: str, files: dict[str, str]) -> Evaluate:
    """Evaluate on the workers of a scheduler.

    Args:
        files: the program's, as `Job.files`.

    Raises:
        ImportError: there is no `distributed`.
        NoScheduler: the scheduler does not answer, or there are no workers.
    """
    distributed = import_module("distributed")
    try:
        client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise NoScheduler(f"no scheduler answers at '{address}': {error}") from error
    if not client.scheduler_info()["workers"]:
        client.close()
        raise NoScheduler(f"the scheduler at '{address}' has no workers: start 'dask worker {address}'")

    def submit(jobs: Sequence[Job]) -> Iterator[Outcome]:
        words = [json.dumps(as_dict(replace(job, files=files))) for job in jobs]
        futures = {
            client.submit(evaluate, word, pure=False, retries=_RETRIES): job
            for word, job in zip(words, jobs, strict=True)
        }
        for future in distributed.as_completed([*futures], loop=client.loop):
            try:
                yield outcome_of(json.loads(future.result()))
            except Exception as error:  # whatever a worker raises becomes the candidate's fate
                said = " ".join(str(error).split())
                yield Outcome(futures[future].values, "failed", f"{type(error).__name__}: {said}")

    return submit
