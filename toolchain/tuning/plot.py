"""A picture of a search: the time of every candidate in the order of measuring, and the best so far."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from ktc.tuning.judging import Verdict, cost


def draw(verdicts: Sequence[Verdict], title: str, path: Path) -> list[Path]:
    """Draw a search as .svg and .png.

    Raises:
        ImportError: there is no matplotlib.
    """
    import_module("matplotlib").use("Agg")
    pyplot = import_module("matplotlib.pyplot")

    base = next((one for one in verdicts if one.times), None)
    costs = [cost(one, base) for one in verdicts]
    good = [(index, value) for index, value in enumerate(costs, 1) if value != float("inf")]
    bad = [index for index, value in enumerate(costs, 1) if value == float("inf")]
    figure, axes = pyplot.subplots(figsize=(7, 3.5))
    axes.plot([at for at, _ in good], [value for _, value in good], "o", ms=4, label="candidate")
    best = [min(value for at, value in good if at <= index) for index, _ in good]
    axes.step([at for at, _ in good], best, where="post", label="best so far")
    values = [1.0, *(value for _, value in good)]
    bottom, top = min(values) / 1.5, 2 * max(values)
    if bad:
        axes.plot(bad, [bottom] * len(bad), "x", ms=4, color="grey", clip_on=False, label="does not count")
    # the slowest may take thirty times as long as the best, which is what the picture is for
    axes.set(xlabel="candidate", ylabel="time / the default's", title=title, yscale="log", ylim=(bottom, top))
    axes.yaxis.set_major_formatter(import_module("matplotlib.ticker").FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(import_module("matplotlib.ticker").NullFormatter())
    axes.legend(loc="upper right", ncols=3, frameon=False)
    figure.tight_layout()
    made = [path.with_suffix(suffix) for suffix in (".svg", ".png")]
    for one in made:
        figure.savefig(one, dpi=150)
    pyplot.close(figure)
    return made
