"""Which candidate is tried next: all of them, or those that Optuna proposes.

A search gives batches (`ask`) and takes what they cost (`tell`).
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from random import Random
from typing import Any

from ktc.base.records import entity

Values = Mapping[str, int]
Choices = Mapping[str, Sequence[int]]
_PATIENCE = 5
"""So many times in a row Optuna may propose what is known; then some other candidate is taken."""
_LOOKED_AT = 10000


def key_of(values: Values) -> tuple[tuple[str, int], ...]:
    """Return the key that distinguishes candidates."""
    return tuple(sorted(values.items()))


def size_of(choices: Choices) -> int:
    """Return how many candidates there are."""
    return math.prod(len(values) for values in choices.values())


def defaults(choices: Choices) -> dict[str, int]:
    """Return the candidate that a build without tuning is."""
    return {name: values[0] for name, values in choices.items()}


@entity
class Exhaustive:
    """Every candidate once, the defaults first."""

    choices: Choices
    _left: Iterator[Values]

    @classmethod
    def of(cls, choices: Choices) -> "Exhaustive":
        """Begin a search."""
        every = itertools.product(*choices.values())
        return cls(choices, (dict(zip(choices, values, strict=True)) for values in every))

    def ask(self, count: int) -> list[Values]:
        """Return the next candidates, none at the end."""
        return list(itertools.islice(self._left, count))

    def tell(self, costs: Iterable[tuple[Values, float]]) -> None:
        """Take what candidates cost; every one is tried all the same."""


@entity
class Proposed:
    """Candidates that Optuna proposes, at most `trials`; each once, and the defaults first."""

    choices: Choices
    trials: int
    study: Any
    distributions: Any
    asked: dict[tuple[tuple[str, int], ...], Any]
    random: Random

    @classmethod
    def of(cls, choices: Choices, trials: int, seed: int = 0) -> "Proposed":
        """Begin a search.

        Raises:
            ImportError: there is no Optuna.
        """
        optuna = import_module("optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=6))
        study.enqueue_trial(defaults(choices))
        categories = {
            name: optuna.distributions.CategoricalDistribution(list(values)) for name, values in choices.items()
        }
        return cls(choices, min(trials, size_of(choices)), study, categories, {}, Random(seed))

    def ask(self, count: int) -> list[Values]:
        """Return the next candidates, none when there were enough."""
        found: list[Values] = []
        again = 0
        while len(found) < count and len(self.asked) < self.trials:
            if again >= _PATIENCE:
                self.study.enqueue_trial(self._new())
            trial = self.study.ask(self.distributions)
            key = key_of(trial.params)
            if key in self.asked:  # Optuna may propose what it knows
                self.study.tell(trial, state=self._state("FAIL"))
                again += 1
                continue
            again = 0
            self.asked[key] = trial
            found.append(dict(trial.params))
        return found

    def tell(self, costs: Iterable[tuple[Values, float]]) -> None:
        """Take what candidates cost; infinity is one that does not count."""
        for values, cost in costs:
            trial = self.asked.get(key_of(values))
            if trial is None:
                continue
            if math.isfinite(cost):
                self.study.tell(trial, cost)
            else:
                self.study.tell(trial, state=self._state("FAIL"))

    def _new(self) -> Values:
        """Return some candidate that was not asked for yet."""
        left = size_of(self.choices) - len(self.asked)
        skipped = self.random.randrange(min(left, _LOOKED_AT))
        every = (dict(zip(self.choices, values, strict=True)) for values in itertools.product(*self.choices.values()))
        return next(itertools.islice((one for one in every if key_of(one) not in self.asked), skipped, None))

    def _state(self, name: str) -> Any:
        optuna = import_module("optuna")
        return getattr(optuna.trial.TrialState, name)
