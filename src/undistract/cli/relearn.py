"""`undistract relearn`: a model and what people said about its alarms make the next model."""

from __future__ import annotations

from pathlib import Path

import click

from undistract.cli import options
from undistract.cli.commands import Command
from undistract.cli.talk import Talk


@click.command(cls=Command, replaces="model")
@options.file_argument("model")
@click.option(
    "--from", "reviews", required=True, multiple=True, metavar="REVIEW", help="A log of answers; may come again."
)
@options.save_option("MODEL", help="Where the next model goes, such as street-2.focus.")
@click.pass_obj
def relearn(talk: Talk, model: Path, reviews: tuple[str, ...], save: Path) -> None:
    """Learn from what people answered in `undistract review`.

    What they called familiar is ignored from now on, but never what a confirmed anomaly is seen by; a calm stretch is
    one more set. The model is made anew of its training and of the answers that stand: to learn twice is to learn
    once, and an answer that was taken back leaves no trace.

    \b
    Examples:
      undistract relearn street.focus --from match.review --save street-2.focus
      undistract relearn street.focus --from monday.review --from tuesday.review --save street-2.focus
      undistract relearn street.focus --from postgresql+psycopg://me@host/review --save street-2.focus
    """  # noqa: D301
    from undistract import workflow

    before = workflow.Model.load(model)
    after = before
    for review in reviews:
        after = workflow.relearn(after, review if "://" in review else Path(review))
    from undistract.review.database import name_of  # SQLAlchemy is there, or the lines above have said so

    after.save(save, provenance={"model": str(model), "reviews": [name_of(one) for one in reviews]})
    counts = after.summary()["lessons"]
    said = ", ".join(f"{number} {answer}" for answer, number in counts.items() if number) or "nothing yet"
    talk.say(f"People said: {said}.")
    talk.say(after.focus.describe())
    talk.say(f"Directions ignored: {before.focus.n_removed_} before, {after.focus.n_removed_} now.")
    talk.say(f"Saved the model: {save}")
    talk.give(
        {
            "model": save,
            "lessons": counts,
            "removed_before": before.focus.n_removed_,
            "removed": after.focus.n_removed_,
        }
    )
