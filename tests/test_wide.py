"""Few rows with very many features: no d × d matrix is ever formed."""

import subprocess
import sys

import pytest

resource = pytest.importorskip("resource", reason="needs a system that can limit memory")

# A 30 000 × 30 000 matrix takes 7.2 GB, twice the limit. Python and its libraries map less than half of the limit.
LIMITED = """
import resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (7 * 2**29, 7 * 2**29))
import numpy as np
from pathlib import Path
from undistract import Source, Focus, FocusDetector, Moments, SketchedMoments, explain, learn, load, save
from undistract.algebra import Feedback
warnings.simplefilter("ignore")
folder, dtype = Path(sys.argv[1]), sys.argv[2]
d, rng = 30_000, np.random.default_rng(0)
light = rng.normal(size=d)

def rows(n):
    return (rng.normal(size=d) + rng.normal(size=(n, d)) + 5 * rng.normal(size=(n, 1)) * light).astype(dtype)

groups = {f"day {number}": rows(6) for number in range(10)}
X, labels = np.concatenate(list(groups.values())), np.repeat(list(groups), 6)
"""
STEPS = {
    "fit and transform": """
for removal in ("orthogonal", "eigen", "oblique"):
    focus = Focus(n_remove=2, removal=removal).fit(X, groups=labels)
    Z = focus.transform(X)
    assert Z.dtype == X.dtype and Z.shape == (60, {"orthogonal": d - 2}.get(removal, Z.shape[1]))
    assert focus.inverse_transform(Z).shape == focus.denoise(X).shape == X.shape
    assert len(focus.kinds_) == len(focus.distraction_) == len(focus.debiased_distraction_) == d
    assert focus.projection_.ignored_share(X - X.mean(axis=0)).max() <= 1
    assert "Removed: 2 of 30000 directions" in str(focus.summary())
""",
    "groups one by one, in chunks, and joined": """
expected = Focus(n_remove=2).fit_groups(groups)
streamed = Focus(n_remove=2).partial_fit(X[:20], groups=labels[:20]).partial_fit(X[20:], groups=labels[20:])
names = list(groups)
halves = [Moments.of({name: groups[name] for name in half}) for half in (names[:5], names[5:])]
joined = Focus(n_remove=2).fit_moments(halves[0] + halves[1])
sketched = Focus(n_remove=2).fit_moments(SketchedMoments.of(groups, size=60))
for other in (streamed, joined, sketched):
    assert np.allclose(expected.distraction_, other.distraction_, atol=1e-6)
assert expected.moments_.without("day 3").n_groups == 9
""",
    "save and load": """
focus = Focus(n_remove=2).fit(X, groups=labels)
again = load(save(focus, folder / "wide.focus"))
assert (again.transform(X) == focus.transform(X)).all()
assert (folder / "wide.focus").stat().st_size < 6 * 8 * X.size
""",
    "feedback": """
focus = Focus(n_remove=1).fit(X, groups=labels)
taught = focus.with_feedback(Feedback(9 * rng.normal(size=(2, d)), confirmed=rng.normal(size=(1, d))))
assert taught.n_removed_ > focus.n_removed_
""",
    "detector and explanation": """
detector = FocusDetector(Focus(n_remove=1)).fit(X, groups=labels)
assert detector.anomaly_score(X[:3]).shape == (3,)
assert len(explain(detector, X, [3])) == 1
""",
    "learn, explain and convert": """
from undistract.pipeline.reporting import ignored_directions
from undistract.pipeline.export import convert
model = learn([Source(name, rows) for name, rows in groups.items()], focus=Focus(n_remove=1))
assert len(ignored_directions(model)) == 1
model.save(folder / "wide.focus")
with np.load(convert(model, folder / "wide.npz")) as arrays:
    assert arrays["patterns"].shape == (d, 1)
""",
}


@pytest.mark.parametrize(("step", "dtype"), [*((step, "float64") for step in STEPS), ("fit and transform", "float32")])
def test_no_square_matrix_is_formed(step, dtype, tmp_path):
    line = [sys.executable, "-c", LIMITED + STEPS[step], str(tmp_path), dtype]
    result = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr[-2000:]


def test_square_matrix_exceeds_the_limit(tmp_path):
    line = [sys.executable, "-c", LIMITED + "np.zeros((d, d))[:] = 1", str(tmp_path), "float64"]
    assert "MemoryError" in subprocess.run(line, capture_output=True, text=True, timeout=300).stderr
