"""What `NeuralFocus` learned, in words."""

from __future__ import annotations

from typing import Any


def in_words(focus: Any) -> str:
    """Say what was learned, when training ended, and what `transform` returns."""
    shape = focus.architecture_
    if shape is None:
        return "Seen no sets; two sets with several rows are needed. Rows stay as they are."
    rows, encoded = focus.share_inside_
    n_epochs = len(focus.losses_)
    ended = (
        f"The best of {n_epochs} rounds on {focus.n_held_out_} held-out sets was round {focus.n_epochs_}, and is kept."
        if focus.n_held_out_
        else f"All {n_epochs} rounds were run: "
        + ("there were too few sets to hold some out." if focus.held_out else "no sets were to be held out.")
    )
    beside = {
        "news": f"what could not be rebuilt ({1 - focus.rebuilt_:.0%} of the variation)",
        "rows": "the rows themselves",
        "nothing": "nothing",
    }[focus.beside_]
    return "\n".join(
        (
            f"Learned from {focus.n_sets_seen_} sets with {focus.n_rows_seen_} rows of {shape.n_features} features "
            f"({shape.encoder}).",
            ended,
            f"Inside sets lie {rows:.0%} of the variation of the rows, and {encoded:.0%} of that of their encoding in "
            f"{shape.n_components} directions, of which {shape.n_components - len(focus.components_)} still distracted "
            "and were removed.",
            f"Beside the encoding stands {beside}.",
        )
    )
