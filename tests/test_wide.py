"""Few rows of very many features: nothing of size d × d is ever formed."""

import subprocess
import sys

import pytest

resource = pytest.importorskip("resource", reason="needs a system that can limit memory")

# A matrix of 30 000 × 30 000 takes 7.2 GB, twice the limit; all that Python and its libraries map takes less than half.
LIMITED = """
import resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (7 * 2**29, 7 * 2**29))
import numpy as np
from pathlib import Path
from undistract import FeatureSet, Focus, FocusDetector, Moments, SketchedMoments, explain, learn, load, save
from undistract.algebra import Taught
warnings.simplefilter("ignore")
folder, dtype = Path(sys.argv[1]), sys.argv[2]
d, rng = 30_000, np.random.default_rng(0)
light = rng.normal(size=d)

def rows(n):
    return (rng.normal(size=d) + rng.normal(size=(n, d)) + 5 * rng.normal(size=(n, 1)) * light).astype(dtype)

sets = {f"day {number}": rows(6) for number in range(10)}
X, labels = np.concatenate(list(sets.values())), np.repeat(list(sets), 6)
"""
STEPS = {
    "fit and transform": """
for removal in ("kept_span", "eigen", "oblique"):
    focus = Focus(n_remove=2, removal=removal).fit(X, sets=labels)
    Z = focus.transform(X)
    assert Z.dtype == X.dtype and Z.shape == (60, {"kept_span": d - 2}.get(removal, Z.shape[1]))
    assert focus.inverse_transform(Z).shape == focus.denoise(X).shape == X.shape
    assert len(focus.kinds_) == len(focus.distraction_) == len(focus.debiased_distraction_) == d
    assert focus.projection_.ignored_share(X - X.mean(axis=0)).max() <= 1
    assert "Removed: 2 of 30000 directions" in focus.describe()
""",
    "sets one by one, in pieces, and joined": """
one = Focus(n_remove=2).fit_sets(sets)
two = Focus(n_remove=2).partial_fit(X[:20], sets=labels[:20]).partial_fit(X[20:], sets=labels[20:])
names = list(sets)
halves = [Moments.of({name: sets[name] for name in some}) for some in (names[:5], names[5:])]
three = Focus(n_remove=2).fit_moments(halves[0] + halves[1])
four = Focus(n_remove=2).fit_moments(SketchedMoments.of(sets, size=60))
for other in (two, three, four):
    assert np.allclose(one.distraction_, other.distraction_, atol=1e-6)
assert one.moments_.without("day 3").n_sets == 9
""",
    "save and load": """
focus = Focus(n_remove=2).fit(X, sets=labels)
again = load(save(focus, folder / "wide.focus"))
assert (again.transform(X) == focus.transform(X)).all()
assert (folder / "wide.focus").stat().st_size < 6 * 8 * X.size
""",
    "what people teach": """
focus = Focus(n_remove=1).fit(X, sets=labels)
taught = focus.taught_by(Taught(9 * rng.normal(size=(2, d)), protected=rng.normal(size=(1, d))))
assert taught.n_removed_ > focus.n_removed_
""",
    "a watch that explains": """
watch = FocusDetector(Focus(n_remove=1)).fit(X, sets=labels)
assert watch.anomaly_score(X[:3]).shape == (3,)
assert len(explain(watch, X, [3])) == 1
""",
    "the story": """
from undistract.workflow.explaining import ignored_directions
from undistract.workflow.learned_files import convert
model = learn([FeatureSet(name, rows) for name, rows in sets.items()], focus=Focus(n_remove=1))
assert len(ignored_directions(model)) == 1
model.save(folder / "wide.focus")
with np.load(convert(model, folder / "wide.npz")) as arrays:
    assert arrays["patterns"].shape == (d, 1)
""",
}


@pytest.mark.parametrize(("step", "dtype"), [*((step, "float64") for step in STEPS), ("fit and transform", "float32")])
def test_nothing_is_as_large_as_the_square_of_the_features(step, dtype, tmp_path):
    line = [sys.executable, "-c", LIMITED + STEPS[step], str(tmp_path), dtype]
    told = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert told.returncode == 0, told.stderr[-2000:]


def test_such_a_matrix_would_be_noticed(tmp_path):
    line = [sys.executable, "-c", LIMITED + "np.zeros((d, d))[:] = 1", str(tmp_path), "float64"]
    assert "MemoryError" in subprocess.run(line, capture_output=True, text=True, timeout=300).stderr
