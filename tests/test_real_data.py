"""The default on real data: what it finds, and that it keeps its hands off where there is nothing to find."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.spatial.distance import cdist

from undistract import EvidenceWarning, Focus, load, save
from undistract.sets import silhouettes_under_light


@pytest.fixture(scope="module")
def silhouettes(data):
    """The paper's experiment: characters and silhouettes, rotated and flipped, with light on half of the images."""
    return silhouettes_under_light(data=data, amplitude=0.5)


@pytest.fixture(scope="module")
def focus(silhouettes):
    return Focus().fit_sets(silhouettes.training)


def test_exactly_the_two_directions_of_light_go(focus, silhouettes):
    assert focus.moments_.n_sets == 966
    assert focus.n_removed_ == 2
    assert np.degrees(subspace_angles(focus.patterns_[:, :2], silhouettes.gradients.T)).max() < 2


def test_the_paper_s_setting_removes_a_hundred_directions_with_the_light_among_them(focus, silhouettes):
    # The four corners of the images show nothing but light, which has two degrees of freedom: 782 of 784 vary.
    with pytest.warns(EvidenceWarning, match=r"pure noise would put \d+ of 782 directions above it"):
        paper = Focus(cutoff=0.999, cushion=1e-8).fit_moments(focus.moments_)
    assert 85 <= paper.n_removed_ <= 135
    # The light lies inside the span of what goes, but it is not what leads it.
    assert np.degrees(subspace_angles(paper.patterns_[:, : paper.n_removed_], silhouettes.gradients.T)).max() < 20
    assert np.degrees(subspace_angles(paper.patterns_[:, :2], silhouettes.gradients.T)).max() > 45


def test_real_light_on_real_faces_is_found_by_few_people(data, tmp_path):
    faces = np.load(data / "yale_faces" / "extended_yale_b_48x42.npz")
    people = np.unique(faces["subject"])[:28]
    known = np.isin(faces["subject"], people)
    X = faces["images"].reshape(len(known), -1) / 255.0
    with pytest.warns(EvidenceWarning, match="28 sets can describe at most 27 directions"):
        focus = Focus().fit(X[known], sets=faces["subject"][known])
    assert 8 <= focus.n_removed_ <= 50
    # Directions that never vary inside a set read -3e-14 here once, and the model could not be saved.
    assert focus.debiased_distraction_.min() >= 0
    assert load(save(focus, tmp_path / "faces.focus")).n_removed_ == focus.n_removed_
    # Ten people it never saw, known by one image each in frontal light: 38 % are recognised before, 65 % after.
    who = faces["subject"][~known]
    turned = (np.abs(faces["azimuth"]) + np.abs(faces["elevation"]))[~known]
    shown = np.array([np.flatnonzero(who == one)[np.argmin(turned[who == one])] for one in np.unique(who)])
    before, after = (
        np.mean(who[shown][cdist(rows, rows[shown]).argmin(axis=1)] == who)
        for rows in (X[~known], focus.transform(X[~known]))
    )
    assert after > before + 0.2


def test_on_server_metrics_next_to_nothing_goes(data):
    machines = np.load(data / "smd" / "smd_group1.npz")
    sets = {name: machines[name] for name in machines.files if name.endswith("_train")}
    with pytest.warns(EvidenceWarning, match="7 sets can describe at most 6 directions"):
        focus = Focus().fit_sets(sets)
    assert focus.n_removed_ <= 2
    constant = np.ptp(np.concatenate([rows - rows[0] for rows in sets.values()]), axis=0) == 0
    assert (focus.kinds_ == "constant").sum() >= constant.sum() > 0
