"""The few-shot benchmark: distortions, examples, and settings chosen without the tested classes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.linalg import eigh

pytest.importorskip("pandas")

from benchmarks.few_shot import page
from benchmarks.few_shot.distortions import DISTORTIONS, light, pen, slant
from benchmarks.few_shot.kernels import ALL_NAMES, PRODUCT_LIKELY, PRODUCT_NAP, in_kernel_space
from benchmarks.few_shot.methods import (
    AUGMENTED,
    COUNTED,
    LIKELY,
    LIKELY_PLDA,
    focus_graded,
    focus_likelihood,
    focus_weighted,
    rca_likelihood,
    two_views,
)
from benchmarks.few_shot.recognise import DISTANCES, SHOWN, accuracies, augmented, draws
from benchmarks.few_shot.run import COLUMNS, PARTS, measure
from benchmarks.few_shot.tasks import Task, tasks
from benchmarks.quality.methods import AUTOMATIC
from undistract import Moments, Spectrum
from undistract.datasets.illumination import illumination_basis

N_FEATURES = 36


@cache
def world() -> Task:
    """Draw thirty training groups and four new classes, all under light; rows are images of 6 × 6 pixels."""
    rng = np.random.default_rng(0)

    def under_light(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rows + 2 * rng.normal(size=(len(rows), 2)) @ illumination_basis(6, 6)

    def draw_group() -> np.ndarray:
        return under_light(rng.normal(size=N_FEATURES) + 0.3 * rng.normal(size=(12, N_FEATURES)), rng)

    taught = {f"set {number}": draw_group() for number in range(30)}
    return Task("drawn", "drawn", 0, taught, {f"class {number}": draw_group() for number in range(4)}, under_light)


def mean() -> np.ndarray:
    return np.asarray(Moments.of(world().taught).mean)


@cache
def results() -> list[dict[str, object]]:
    return [row for part in PARTS for row in measure(world(), part)]


@pytest.mark.parametrize("distort", DISTORTIONS.values(), ids=DISTORTIONS)
def test_distortion_changes_every_image_differently_and_keeps_the_shape(distort):
    image = np.zeros((1, 12, 12), dtype=np.float32)
    image[0, 2:10, 5:8] = 1
    several = distort(np.repeat(image, 4, axis=0), np.random.default_rng(0))
    assert several.shape == (4, 12, 12)
    assert several.dtype == np.float32
    assert len(np.unique(several.reshape(4, -1), axis=0)) == 4


def test_slant_moves_ink_sideways_and_keeps_its_amount():
    image = np.zeros((20, 13, 25), dtype=np.float32)
    image[:, :, 12] = 1
    slanted = slant(image, np.random.default_rng(0))
    np.testing.assert_allclose(slanted.sum(axis=2), 1, atol=1e-5)  # every row keeps its ink, in float32
    np.testing.assert_array_equal(slanted[:, 6], image[:, 6])  # the middle stays


def test_pen_changes_only_the_edges_of_a_stroke():
    image = np.zeros((20, 12, 12), dtype=np.float32)
    image[:, 2:10, 4:9] = 1
    drawn = pen(image, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn[:, 4:8, 6], 1)
    np.testing.assert_array_equal(drawn[:, :, :3], 0)
    ink = drawn.sum(axis=(1, 2))
    assert ink.min() < image[0].sum() < ink.max()


def test_light_is_a_mix_of_two_gradients():
    dark = np.zeros((9, 6, 6), dtype=np.float32)
    rows = light(dark, np.random.default_rng(0)).reshape(9, -1)
    assert np.linalg.matrix_rank(rows, tol=1e-4) == 2  # of numbers near 1, in float32


def test_examples_are_balanced_and_disjoint_from_queries():
    owner = np.repeat(np.arange(4), 12)
    for shown in SHOWN:
        for drawn, others in draws(owner, shown):
            assert np.array_equal(np.bincount(owner[drawn]), np.full(4, shown))
            assert not set(drawn) & set(others)
            assert len(drawn) + len(others) == len(owner)


def test_held_out_groups_are_neither_trained_on_nor_tested():
    held_out = world().held_out()
    assert not set(held_out.taught) & set(held_out.classes)
    assert set(held_out.taught) | set(held_out.classes) == set(world().taught)
    assert len(held_out.classes) == 10


def test_equal_rows_are_always_recognised():
    points = {str(axis): np.eye(4)[[axis] * 6] for axis in range(4)}
    task = Task("easy", "easy", 0, world().taught, points)
    accuracy = accuracies(task, lambda X: X, np.full(4, 0.25))
    assert set(accuracy.values()) == {1.0}
    assert set(accuracy) == {(distance, shown) for distance in DISTANCES for shown in SHOWN}


def test_augmented_copies_help_and_zero_copies_change_nothing():
    plain = accuracies(world(), lambda X: X, mean())
    assert augmented(world(), 0, mean()) == pytest.approx(plain)
    assert augmented(world(), 20, mean())["Euclidean", 1] > plain["Euclidean", 1]


def test_augmentation_without_a_distortion_adds_differences_within_groups():
    shifts = {"a": np.array([[0.0, 5.0], [0.0, -5.0]]), "b": np.array([[0.0, 9.0], [0.0, 1.0]])}
    classes = {name: np.column_stack([np.full(30, x), np.linspace(-12, 12, 30)]) for name, x in (("l", -1), ("r", 1))}
    task = Task("drawn", "drawn", 0, shifts, classes)
    plain = accuracies(task, lambda X: X, np.zeros(2))["Euclidean", 1]
    assert augmented(task, 20, np.zeros(2))["Euclidean", 1] > plain + 0.1


def test_patterns_weighted_by_distraction_give_the_within_group_covariance():
    moments = Moments.of(world().taught)
    spectrum = Spectrum.of(moments, ridge=0.01)
    weighted = (spectrum.patterns * spectrum.distraction) @ spectrum.patterns.T
    np.testing.assert_allclose(weighted, moments.within, atol=1e-10)  # entries are up to 10


def test_grading_shrinks_light_most_and_zero_strength_changes_nothing():
    moments = Moments.of(world().taught)
    right = illumination_basis(6, 6)[:1] / np.linalg.norm(illumination_basis(6, 6)[0])
    other = np.eye(N_FEATURES)[:1] - np.eye(N_FEATURES)[:1] @ illumination_basis(6, 6).T @ np.linalg.pinv(
        illumination_basis(6, 6).T
    )
    graded, untouched = (focus_graded(moments, 0.01, strength) for strength in (100.0, 0.0))
    np.testing.assert_allclose(np.linalg.norm(untouched(right)), 1)
    assert np.linalg.norm(graded(right)) < 0.05 < 0.1 < np.linalg.norm(graded(other)) / np.linalg.norm(other)


def test_weights_follow_from_the_spectrum():
    moments = Moments.of(world().taught)
    between_ridge, ridge, grain = 0.02, 0.1, float(np.trace(moments.total)) / N_FEATURES * np.eye(N_FEATURES)
    inside = moments.within + ridge * grain
    distraction, readings = eigh(inside, inside + moments.between + between_ridge * grain)
    readings /= np.sqrt(distraction)  # unit length in the metric of the within-group covariance
    expected = (readings * (1 - distraction) / (2 - distraction)) @ readings.T
    rows = np.eye(N_FEATURES) + moments.mean
    weighted = focus_weighted(moments, between_ridge, ridge)(rows)
    np.testing.assert_allclose(weighted @ weighted.T, expected, atol=1e-10 * np.abs(expected).max())


def test_products_of_the_likelihood_equal_those_of_the_weighted_rows():
    moments = Moments.of(world().taught)
    rows = np.concatenate(list(world().classes.values()))
    likelihood = focus_likelihood(moments, 0.02, 0.1).change(rows, rows)
    readings = focus_weighted(moments, 0.02, 0.1)(rows)
    # Terms that depend on the row alone, or on the example alone, are removed by centring both ways.
    products, expected = (
        matrix - matrix.mean(axis=0) - matrix.mean(axis=1, keepdims=True) + matrix.mean()
        for matrix in (likelihood, readings @ readings.T)
    )
    np.testing.assert_allclose(products, expected, atol=1e-10 * np.abs(expected).max())


def test_likelihood_ignores_the_distance_and_its_control_ignores_groups():
    moments = Moments.of(world().taught)
    likely, control = (learn(moments, 0.02, 0.1) for learn in (focus_likelihood, rca_likelihood))
    accuracy = accuracies(world(), likely, mean())
    assert all(accuracy["Euclidean", n_examples] == accuracy["cosine", n_examples] for n_examples in SHOWN)
    assert accuracy["cosine", 1] > accuracies(world(), lambda X: X, mean())["cosine", 1] + 0.15
    assert control.change.between.shape == (N_FEATURES, 0)
    assert likely.change.between.shape[1] == 29


def test_methods_can_be_measured_separately():
    rows = list(measure(world(), "report", methods=["raw", LIKELY_PLDA]))
    assert {row["method"] for row in rows} == {"raw", LIKELY_PLDA}


def test_both_views_have_their_given_length():
    moments = Moments.of(world().taught)
    learned = two_views(moments, 0.01, 2, 0.1, 0.25)
    assert learned is not None
    rows = learned(np.concatenate(list(world().classes.values())))
    n_kept = N_FEATURES - 2
    np.testing.assert_allclose(np.linalg.norm(rows[:, :n_kept], axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(rows[:, n_kept:], axis=1), 0.5)
    np.testing.assert_array_equal(learned(moments.mean[None]), 0)  # the mean is mapped to zero


def test_every_method_is_measured_and_removal_helps():
    rows = results()
    assert all(list(row) == COLUMNS for row in rows)
    reported = [row for row in rows if row["part"] == "report" and row["distance"] == "cosine"]
    best = {name: max(float(str(row["1"])) for row in reported if row["method"] == name) for name in ("raw", COUNTED)}
    # This small task removes at most 20 of 36 directions; two views need 100.
    assert {row["method"] for row in reported} >= {"raw", AUGMENTED, "PCA drop-top", "NAP", "RCA", "LDA", COUNTED}
    assert best[COUNTED] > best["raw"] + 0.15


def test_setting_is_chosen_on_held_out_groups_only():
    pd = pytest.importorskip("pandas")
    common = {"data": "d", "task": "t", "seed": 0, "method": "NAP", "distance": "cosine", "n_removed": 1}
    precision = {("choose", "k=1"): 0.9, ("choose", "k=2"): 0.1, ("report", "k=1"): 0.3, ("report", "k=2"): 0.8}
    rows = [
        common | {"part": part, "setting": setting} | dict.fromkeys(map(str, SHOWN), value)
        for (part, setting), value in precision.items()
    ]
    frame = pd.DataFrame(rows)
    assert page.chosen(frame).to_numpy().tolist() == [[0.3] * len(SHOWN)]
    assert page.at_best(frame).to_numpy().tolist() == [[0.8] * len(SHOWN)]


def test_page_has_the_tables_of_the_results():
    text = (page.DOCS / "classification.md").read_text(encoding="utf-8")
    for name, table in page.tables(page.read(), page.read(page.FRESH)).items():
        assert f"<!-- table: {name} -->\n{table}\n<!-- end -->" in text
    assert set(ALL_NAMES) == set(page.read().method)


def test_one_example_of_a_new_person_gains_25_points_over_raw():
    accuracy = page.chosen(page.read())["1"].groupby(["task", "distance", "method"]).mean()
    for distance in DISTANCES:
        yale = accuracy["Yale", distance]
        assert yale[AUTOMATIC.name] > yale["raw"] + 0.25


@pytest.mark.parametrize("seeds", [range(5), range(5, 10), range(10, 15)], ids=["seen", "fresh", "fresher"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_product_beats_every_baseline_at_its_best_on_new_people(seeds, distance):
    pd = pytest.importorskip("pandas")
    results = pd.concat([page.read(), page.read(page.FRESH)])
    results = results[results.seed.isin(seeds) & (results.task == "Yale") & (results.distance == distance)]
    mine, best = (choose(results)["1"].groupby("method").mean() for choose in (page.chosen, page.at_best))
    assert mine[PRODUCT_LIKELY] > best[page.BASELINES].max() + 0.05
    assert mine[PRODUCT_LIKELY] > mine[PRODUCT_NAP]
    assert mine[PRODUCT_LIKELY] > best["raw"] + 0.25


def test_likelihood_beats_every_baseline_with_equally_chosen_settings():
    pd = pytest.importorskip("pandas")
    results = pd.concat([page.read(), page.read(page.FRESH)])
    mine = page.chosen(results[results.task == "Yale"])["1"].unstack("seed").dropna().mean(axis=1)
    for distance in DISTANCES:
        accuracy = mine["Yale"].xs(distance, level="distance")
        assert accuracy[LIKELY] > accuracy[page.BASELINES].max()


def test_kernel_coordinates_reproduce_the_kernel_matrix():
    mapped = in_kernel_space(world(), "polynomial")
    rows, coordinates = (np.concatenate(list(task.taught.values())) for task in (world(), mapped))
    rows = rows - rows.mean(axis=0)
    products = (1 + rows @ rows.T / (rows**2).sum(axis=1).mean()) ** 3
    centring = np.eye(len(rows)) - 1 / len(rows)
    expected = centring @ products @ centring
    np.testing.assert_allclose(coordinates @ coordinates.T, expected, atol=1e-8 * np.abs(expected).max())
    assert set(mapped.classes) == set(world().classes)


@pytest.mark.parametrize("kernel", ["FOCUS product", "NAP product"])
def test_pure_nuisance_vanishes_in_the_product_kernel(kernel):
    right = illumination_basis(6, 6)[0]
    middle = np.concatenate(list(world().taught.values())).mean(axis=0)
    classes = {"light alone": np.stack([middle, middle + right, middle - right]), "more": middle + np.eye(N_FEATURES)}
    mapped = in_kernel_space(replace(world(), classes=classes), kernel)
    lengths = {
        name: np.linalg.norm(rows - mapped.classes["light alone"][0], axis=1) for name, rows in mapped.classes.items()
    }
    assert lengths["light alone"].max() < 0.2 * lengths["more"].mean()


def test_letters_are_for_training_and_digits_for_testing(data):
    for task in tasks("EMNIST", 1):
        assert set(task.classes) == set("0123456789")
        assert len(task.taught) == 52
        break


def test_people_are_for_training_or_for_testing(data):
    (pixels, logarithm) = tasks("Yale/2", 1)
    assert (len(pixels.taught), len(pixels.classes)) == (24, 14)
    assert not set(pixels.taught) & set(pixels.classes)
    assert set(pixels.taught) == set(logarithm.taught)
    rows = next(iter(pixels.classes.values()))
    assert rows.shape[1] == 24 * 21
