"""
Before any detector
===================

`Focus` is a scikit-learn transformer. It goes before any detector of scikit-learn or PyOD, and the detector need not
know. Here light falls on scanned digits: a detector without this knowledge finds the light, not the foreign digit.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from undistract import EvidenceWarning, Focus, as_detector
from undistract.datasets import make_illuminated_digits

BLUE, GREY = "#0072B2", "#BDBDBD"

# %%
# The test: fives, with a few fours hidden among them, and light on a quarter of the images. The training: other digits,
# turned and mirrored, under other light. None of them is a four or a five.

digits = make_illuminated_digits()
# 64 groups are few for 64 pixels, and `Focus` warns about it; we know that there are two directions of light.
warnings.filterwarnings("ignore", category=EvidenceWarning)
focus = Focus().fit_groups(digits.training)
print(f"{len(digits.training)} groups; {focus.n_removed_} of {focus.n_features_in_} directions are ignored")

# %%
# `detector` takes anything of scikit-learn or PyOD, and gives scores that are high where something is strange.

detectors = {
    "local outlier factor": LocalOutlierFactor(n_neighbors=10),
    "one-class SVM": OneClassSVM(gamma="scale", nu=0.1),
    "isolation forest": IsolationForest(n_estimators=200, random_state=0),
}
try:
    from pyod.models.knn import KNN
    from pyod.models.pca import PCA
except ImportError:
    print("PyOD is not installed, so its detectors are left out: pip install 'undistract[pyod]'")
else:
    detectors |= {"PyOD k nearest": KNN(n_neighbors=10), "PyOD PCA": PCA(random_state=0)}

found = {}
for name, model in detectors.items():
    rows = {"raw": digits.test, "FOCUS": focus.transform(digits.test)}
    found[name] = {
        words: average_precision_score(digits.is_anomaly, as_detector(model).fit(X).scores_)
        for words, X in rows.items()
    }
    print(f"{name}: raw {found[name]['raw']:.2f}, FOCUS {found[name]['FOCUS']:.2f}")

mean = {words: np.mean([one[words] for one in found.values()]) for words in ("raw", "FOCUS")}
print(f"average precision: raw {mean['raw']:.2f}, FOCUS {mean['FOCUS']:.2f}")

# %%
# The same detector twice, on each line: a grey dot on the rows as they are, a blue one after `Focus`.

figure, axes = plt.subplots(figsize=(7.5, 3.4))
for height, one in enumerate(reversed(found.values())):
    axes.plot([one["raw"], one["FOCUS"]], [height, height], color=GREY, zorder=1)
    axes.scatter(one["raw"], height, s=70, color=GREY, label=None if height else "raw", zorder=2)
    axes.scatter(one["FOCUS"], height, s=70, color=BLUE, label=None if height else "after FOCUS", zorder=3)
axes.set_yticks(range(len(found)), list(reversed(found)))
axes.set(xlim=(0, 1.02), xlabel="average precision", title="Fours among fives, under light")
axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
plt.show()
