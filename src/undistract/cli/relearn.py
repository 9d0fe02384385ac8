"""`undistract relearn`: update a model with the feedback from a review."""

from __future__ import annotations

from pathlib import Path

import click

from undistract.cli import options
from undistract.cli.main import Command
from undistract.cli.output import Output


@click.command(cls=Command, replaces="model")
@options.file_argument("model")
@click.option(
    "--from", "reviews", required=True, multiple=True, metavar="REVIEW", help="A review file or database; repeatable."
)
@options.save_option("MODEL", help="The updated model to write, such as street-2.focus.")
@click.pass_obj
def relearn(output: Output, model: Path, reviews: tuple[str, ...], save: Path) -> None:
    """Update a model with the verdicts given in `undistract review`.

    Deviations marked as false alarms are ignored in future, except along directions of a confirmed anomaly. A calm
    stretch becomes one more group. The update starts from the original training data and uses all active verdicts:
    running it twice gives the same model, and a withdrawn verdict has no effect.

    \b
    Examples:
      undistract relearn street.focus --from match.review --save street-2.focus
      undistract relearn street.focus --from monday.review --from tuesday.review --save street-2.focus
      undistract relearn street.focus --from postgresql+psycopg://me@host/review --save street-2.focus
    """  # noqa: D301
    from undistract import pipeline
    from undistract.review.feedback import relearn as relearn_model

    before = pipeline.Model.load(model)
    after = before
    for review in reviews:
        after = relearn_model(after, review if "://" in review else Path(review))
    from undistract.review.store import review_name

    after.save(save, provenance={"model": str(model), "reviews": [review_name(review) for review in reviews]})
    counts = after.summary()["feedback"]
    verdicts = ", ".join(f"{number} {answer}" for answer, number in counts.items() if number) or "none yet"
    output.print(f"Verdicts: {verdicts}.")
    output.print(str(after.focus.summary(after.feature_names)))
    output.print(f"Directions ignored: {before.focus.n_removed_} before, {after.focus.n_removed_} now.")
    output.print(f"Saved the model: {save}")
    output.print_json(
        {
            "model": save,
            "feedback": counts,
            "removed_before": before.focus.n_removed_,
            "removed": after.focus.n_removed_,
        }
    )
