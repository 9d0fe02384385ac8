"""The default on real data: it removes the nuisance, and almost nothing if there is none."""

import warnings

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.spatial.distance import cdist

from undistract import EvidenceWarning, Focus, load, save
from undistract.datasets import make_illuminated_silhouettes


@pytest.fixture(scope="module")
def silhouettes(data):
    """Return the paper's experiment: characters and silhouettes, rotated and flipped, half of them under light."""
    return make_illuminated_silhouettes(data=data, amplitude=0.5)


@pytest.fixture(scope="module")
def focus(silhouettes):
    return Focus().fit_groups(silhouettes.training)


def test_exactly_the_two_directions_of_light_are_removed(focus, silhouettes):
    assert focus.moments_.n_groups == 966
    assert focus.n_removed_ == 2
    assert np.degrees(subspace_angles(focus.patterns_[:, :2], silhouettes.gradients.T)).max() < 2


def test_setting_of_the_paper_removes_a_hundred_directions_including_the_light(focus, silhouettes):
    # The four corners of the images show nothing but light, which has two degrees of freedom: 782 of 784 vary.
    with pytest.warns(EvidenceWarning, match=r"pure noise would put \d+ of 782 directions above it"):
        paper = Focus(cutoff=0.999, ridge=1e-8).fit_moments(focus.moments_)
    assert 85 <= paper.n_removed_ <= 135
    # The light is in the span of the removed directions, but does not lead it.
    assert np.degrees(subspace_angles(paper.patterns_[:, : paper.n_removed_], silhouettes.gradients.T)).max() < 20
    assert np.degrees(subspace_angles(paper.patterns_[:, :2], silhouettes.gradients.T)).max() > 45


def test_real_light_on_real_faces_with_few_people(data, tmp_path):
    faces = np.load(data / "yale_faces" / "extended_yale_b_48x42.npz")
    people = np.unique(faces["subject"])[:28]
    training = np.isin(faces["subject"], people)
    X = faces["images"].reshape(len(training), -1) / 255.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        focus = Focus().fit(X[training], groups=faces["subject"][training])
    assert 8 <= focus.n_removed_ <= 50
    # Regression: constant directions had -3e-14 here, and the model could not be saved.
    assert focus.debiased_distraction_.min() >= 0
    assert load(save(focus, tmp_path / "faces.focus")).n_removed_ == focus.n_removed_
    # Ten new people with one image each in frontal light: 38 % are recognised before, 65 % after.
    subject = faces["subject"][~training]
    angle = (np.abs(faces["azimuth"]) + np.abs(faces["elevation"]))[~training]
    examples = np.array(
        [np.flatnonzero(subject == person)[np.argmin(angle[subject == person])] for person in np.unique(subject)]
    )
    before, after = (
        np.mean(subject[examples][cdist(rows, rows[examples]).argmin(axis=1)] == subject)
        for rows in (X[~training], focus.transform(X[~training]))
    )
    assert after > before + 0.2


def test_almost_nothing_is_removed_from_server_metrics(data):
    machines = np.load(data / "smd" / "smd_group1.npz")
    groups = {name: machines[name] for name in machines.files if name.endswith("_train")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        focus = Focus().fit_groups(groups)
    assert focus.n_removed_ <= 2
    constant = np.ptp(np.concatenate([rows - rows[0] for rows in groups.values()]), axis=0) == 0
    assert (focus.kinds_ == "constant").sum() >= constant.sum() > 0
