"""FocusSummary: fields and text, for spectra known by hand."""

import numpy as np
import pandas as pd
import pytest

from tests.algebra.by_hand import spectrum_of
from undistract import Focus
from undistract.algebra import FocusSummary, Projection, select_directions
from undistract.algebra.selection import Selection

# λ .98, .96, .5 and .25; a fifth feature is constant within groups.
SPECTRUM = spectrum_of([98, 48, 1, 1, 0], [2, 2, 1, 3, 5])
EVIDENCE = "200 groups can show differences in 199 directions, 5 vary. Expected distraction of a pure distractor: 0.990"


def summary_of(spectrum, selection, removal="orthogonal", strength="auto", **more):
    projection = Projection.of(spectrum, selection.n_removed, removal, strength)
    return FocusSummary.of(spectrum, selection, projection, **more)


def lines_of(spectrum, selection, *projection, **more):
    return dict(summary_of(spectrum, selection, *projection, **more).lines())


def test_automatic_removal_has_shares_reason_and_meaning():
    summary = summary_of(SPECTRUM, select_directions(SPECTRUM))
    assert summary.lines() == [
        ("Fitted on", "200 groups, 20000 rows, 5 features"),
        (
            "Removed",
            "2 of 5 directions, with 99% of the within-group variance and 93% of the total variance (orthogonal)",
        ),
        ("Strongest", "feature 0"),
        (
            "Reason",
            "distraction 0.960 to 0.980 (de-biased at least 0.960) is at least 0.95, the automatic cut-off: rows vary "
            "there at least 19 times as much within groups as groups differ (with a ridge of 0 mean variances)",
        ),
        ("Kept", "2 descriptive directions (highest distraction 0.500), 1 constant within groups"),
        ("Evidence", EVIDENCE),
    ]
    assert summary.distraction == (pytest.approx(0.96), pytest.approx(0.98))
    assert (summary.n_removed, summary.n_descriptive, summary.n_constant) == (2, 2, 1)
    assert (summary.rule, summary.cutoff, summary.cautions) == ("auto", 0.95, ())
    assert str(summary).splitlines()[0] == "Fitted on 200 groups, 20000 rows, 5 features."
    assert str(summary).splitlines()[-1] == f"Evidence: {EVIDENCE}."


def test_one_direction_by_a_fixed_cutoff():
    text = lines_of(SPECTRUM, select_directions(SPECTRUM, cutoff=0.97))
    assert text["Removed"].startswith("1 of 5 directions, with 66% of the within-group variance and 62% of the total")
    assert text["Reason"].startswith("distraction 0.980 (de-biased at least 0.980) is at least 0.97, the requested cut")
    assert "at least 32.3 times as much" in text["Reason"]
    assert text["Kept"] == "3 descriptive directions (highest distraction 0.960), 1 constant within groups"


def test_cutoff_of_one_has_a_finite_ratio():
    assert "at least 4.5e+15 times as much" in lines_of(SPECTRUM, Selection(1, 1.0, "fixed"))["Reason"]


def test_n_remove_is_the_reason():
    text = lines_of(SPECTRUM, select_directions(SPECTRUM, n_remove=4))
    assert text["Removed"].startswith("4 of 5 directions, with 100% of the within-group variance and 97% of the total")
    assert text["Reason"] == "n_remove=4"
    assert text["Kept"] == "0 descriptive directions, 1 constant within groups"


def test_nothing_removed():
    calm = spectrum_of([1, 1], [1, 3])
    text = lines_of(calm, select_directions(calm))
    assert text["Removed"] == "nothing"
    assert "Strongest" not in text
    assert text["Reason"] == "the highest distraction is 0.500; the automatic cut-off is 0.95"
    assert text["Kept"] == "2 descriptive directions (highest distraction 0.500), 0 constant within groups"
    constant = spectrum_of([0, 0], [1, 3])
    text = lines_of(constant, select_directions(constant))
    assert text["Reason"] == "no direction varies within groups; the automatic cut-off is 0.95"


def test_gap_names_the_next_direction():
    spectrum = spectrum_of([93, 50, 1], [7, 50, 1])
    selection = select_directions(spectrum)
    assert (selection.n_removed, selection.cutoff) == (1, pytest.approx(0.93))
    assert "is at least 0.93, before a gap to the next, 0.500: rows vary" in lines_of(spectrum, selection)["Reason"]


def test_impossible_selection_is_described():
    summary = summary_of(SPECTRUM, Selection(0, 1.0, "insufficient", ("Pass more rows.",)))
    assert dict(summary.lines())["Reason"] == "the requested selection is not possible yet"
    assert summary.cautions == ("Pass more rows.",)
    assert str(summary).splitlines()[-1] == "Caution: Pass more rows."
    assert "Caution" not in summary.text(cautions=False)


def test_directions_from_feedback_are_described():
    both = spectrum_of([98, 48, 1], [2, 2, 1], feedback_share=np.array([1.0, 0.0, 0.0]))
    summary = summary_of(both, select_directions(both))
    assert summary.n_from_feedback == 1
    assert dict(summary.lines())["Reason"] == (
        "1 direction by feedback, 1 direction by the groups (distraction at least 0.95)"
    )
    two = spectrum_of([98, 48, 1], [2, 2, 1], feedback_share=np.array([1.0, 1.0, 0.0]))
    assert lines_of(two, select_directions(two))["Reason"] == "2 directions by feedback"


@pytest.mark.parametrize("removal", ["orthogonal", "eigen", "oblique"])
def test_removal_is_named(removal):
    summary = summary_of(SPECTRUM, select_directions(SPECTRUM), removal)
    assert summary.removal == removal
    assert dict(summary.lines())["Removed"].endswith(f"of the total variance ({removal})")


@pytest.mark.parametrize(
    ("n_removed", "strength", "text"),
    [
        (1, 99 / 0.98, "soft, strength 101.02: 0.1 of the length is kept"),
        (2, 1000.0, "soft, strength 1000: 0.032 of the length is kept"),
        (4, 10.0, "soft, strength 10: 0.3 to 0.53 of the length is kept"),
        (1, "auto", "soft, strength auto: 0.01 of the length is kept"),
    ],
)
def test_soft_removal_has_the_kept_share_of_the_length(n_removed, strength, text):
    summary = summary_of(SPECTRUM, select_directions(SPECTRUM, n_remove=n_removed), "soft", strength)
    assert summary.length_kept is not None
    shrunk = dict(summary.lines())["Shrunk"]
    assert shrunk.startswith(f"{n_removed} of 5 directions")
    assert shrunk.endswith(f"({text})")


def test_few_groups_leave_directions_without_evidence():
    few = spectrum_of([1, 1, 1, 1, 1], [1, 1, 1, 1, 1], n_groups=3, n_rows=600)
    assert lines_of(few, select_directions(few))["Evidence"].startswith(
        "3 groups can show differences in 2 of 5 directions; for the other 3 there is no evidence either way."
    )


def test_strongest_features_are_named():
    """The light moves "red" and "green" together, and "blue" the other way; "dust" hardly moves."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 40)
    X = rng.normal(size=(1200, 5)) * 0.1 + rng.normal(size=(30, 5))[group]
    X += rng.normal(size=(1200, 1)) * [9.0, 8.0, -7.0, 0.5, 0.0]
    names = ["red", "green", "blue", "dust", "time"]
    summary = Focus().fit(pd.DataFrame(X, columns=names), groups=group).summary()
    assert summary.strongest == ("red", "green", "blue")
    assert not summary.rise_together
    assert "Strongest: red · green · blue (some rise while others fall)." in str(summary)
    summary = Focus().fit(X[:, [0, 1, 3, 4]], groups=group).summary()
    assert summary.strongest == ("feature 0", "feature 1")
    assert "(all rise together)" in str(summary)


def test_notebook_shows_a_table_with_escaped_text():
    summary = summary_of(
        SPECTRUM, select_directions(SPECTRUM), feature_names=("<b>", "b", "c", "d", "e"), notes=("a & b",)
    )
    html = summary._repr_html_()
    assert "<th>Strongest</th><td>&lt;b&gt;</td>" in html
    assert "<th>Note</th><td>a &amp; b</td>" in html


def test_without_groups_nothing_is_removed_yet():
    with pytest.warns(UserWarning, match="fitted without groups"):
        focus = Focus().fit(np.arange(12.0).reshape(4, 3))
    assert str(focus.summary()) == (
        "Fitted on 0 groups, 4 rows, 3 features.\nRemoved: nothing yet; two groups with several rows are needed."
    )


@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
@pytest.mark.parametrize("settings", [{}, {"cutoff": 0.5}, {"n_remove": 0}, {"n_remove": 3}], ids=str)
@pytest.mark.parametrize("size", [(8, 6, 200), (5, 100, 1200), (90, 9, 450)], ids=str)
def test_summary_does_not_solve_for_all_directions(size, settings):
    """Regression: describing 500 rows with 100 000 features took ten seconds, to solve for unused directions."""
    n_groups, n_rows, n_features = size
    rng = np.random.default_rng(0)
    within = rng.normal(size=size) + 4 * rng.normal(size=(n_groups, n_rows, 3)) @ rng.normal(size=(3, n_features))
    within[:, :, ::5] = 0.0  # these differ between groups, and are constant within them
    focus = Focus(**settings).fit_groups(within + 3 * rng.normal(size=(n_groups, 1, n_features)))
    assert not focus.spectrum_.is_complete
    text = str(focus.summary())
    assert not focus.spectrum_.is_complete
    assert text == str(FocusSummary.of(focus.full_spectrum(), focus.selection_, focus.projection_))
    assert f"{focus.spectrum_.n_constant} constant" in text
