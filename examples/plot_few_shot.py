"""
Recognise from one example
==========================

Light falls on scanned digits, differently on each. Six digits teach what light does; then the four others are
recognised from one lit example each, by the nearest one. These four are not in the training data.

How much to remove is chosen with scikit-learn alone: some teaching groups are held out and recognised in the same way.
`FewShotClassifier` removes nothing, and weights an example by one minus the distraction of each direction. Light has
only two directions, and removal is a little better; on faces and letters the likelihood is ahead.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from undistract import EvidenceWarning, FewShotClassifier, Focus, Moments
from undistract.datasets.illumination import add_illumination, orientations

# %%
# Training groups: six digits, eight orientations each, under light. Rows of one group differ in handwriting and light.

TAUGHT, UNSEEN, AMPLITUDE = (0, 2, 3, 5, 6, 8), (1, 4, 7, 9), 0.5
scans = load_digits()
images = scans.images / 16
rng = np.random.default_rng(0)

teaching = {
    f"{digit}{words}": add_illumination(turned, 1.0, AMPLITUDE, rng)[0]
    for digit in TAUGHT
    for words, turned in orientations(images[scans.target == digit])
}
X = np.concatenate(list(teaching.values()))
groups = np.repeat(list(teaching), [len(rows) for rows in teaching.values()])

# %%
# How good is a setting? Hold groups out, show one row of each, and see how many of the others are recognised.


def recognised(learned, rows, names, shown=1):
    """Share of rows that are nearest to an example of their own, with the given number of examples of each."""
    near = KNeighborsClassifier(1, metric="cosine")
    draws = StratifiedShuffleSplit(10, train_size=shown * len(np.unique(names)), random_state=0)
    return cross_val_score(near, learned.transform(rows), names, cv=draws).mean()


learner = make_pipeline(Focus(), StandardScaler(with_std=False))  # the mean of what teaches becomes the origin
search = GridSearchCV(learner, {"focus__n_remove": [0, 1, 2, 5, 10]}, scoring=recognised, cv=GroupKFold(3))
with sklearn.config_context(enable_metadata_routing=True), warnings.catch_warnings():
    warnings.simplefilter("ignore", EvidenceWarning)  # few groups for 64 pixels: here held-out groups are the evidence
    search.fit(X, groups, groups=groups)
print(f"Chosen on held-out groups: {search.best_params_}")

# %%
# For `FewShotClassifier`, every third group is held out: both ridges are chosen there.

aside = np.isin(groups, list(teaching)[::3])
tuned = GridSearchCV(
    FewShotClassifier(Moments.from_labels(X[~aside], groups[~aside])),
    {"between_ridge": [0.001, 0.01, 0.1], "within_ridge": [0.01, 0.1, 1.0]},
    cv=StratifiedShuffleSplit(10, train_size=len(list(teaching)[::3]), random_state=0),
).fit(X[aside], groups[aside])
few_shot = FewShotClassifier(Moments.from_labels(X, groups), **tuned.best_params_)
print(f"Chosen on held-out groups: {tuned.best_params_}")

# %%
# The four other digits, under light: as they are, without the nuisance, and by likelihood.

rows, names = [], []
for digit in UNSEEN:
    rows.append(add_illumination(images[scans.target == digit], 1.0, AMPLITUDE, rng)[0])
    names += [digit] * len(rows[-1])
rows, names = np.concatenate(rows), np.array(names)


def recognised_by_likelihood(shown):
    draws = StratifiedShuffleSplit(10, train_size=shown * len(UNSEEN), random_state=0)
    return cross_val_score(few_shot, rows, names, cv=draws).mean()


counts = range(1, 6)
plain = StandardScaler(with_std=False).fit(X)
lines = {
    "as they are": [recognised(plain, rows, names, shown) for shown in counts],
    "without the nuisance": [recognised(search.best_estimator_, rows, names, shown) for shown in counts],
    "by likelihood": [recognised_by_likelihood(shown) for shown in counts],
}
for words, shares in lines.items():
    print(f"{words}: {', '.join(f'{share:.0%}' for share in shares)} with 1 to 5 examples of each")
raw, better, likely = (shares[0] for shares in lines.values())
print(f"recognised from one example: raw {raw:.2f}, FOCUS {better:.2f}")
print(f"by likelihood: {likely:.2f}")

# %%
# In practice: learn once, then fit any classifier to a few examples of the new classes, such as `FewShotClassifier`.

shown = np.concatenate([np.flatnonzero(names == digit)[:1] for digit in UNSEEN])
classifier = make_pipeline(FrozenEstimator(search.best_estimator_), KNeighborsClassifier(1, metric="cosine"))
classifier.fit(rows[shown], names[shown])
few_shot.fit(rows[shown], names[shown])

figure = plt.figure(figsize=(9, 3.3), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1, 1.3))
cleaned = search.best_estimator_["focus"].denoise(rows)
for place, (row, after) in enumerate(zip(rows[shown], cleaned[shown], strict=True)):
    for line, image in enumerate((row, after)):
        axes = left.add_subplot(2, 4, 4 * line + place + 1)
        axes.imshow(image.reshape(8, 8), cmap="gray_r", vmin=-1, vmax=2)
        axes.set_axis_off()
left.suptitle("Shown once, and without light")
axes = right.add_subplot()
for (words, shares), colour in zip(lines.items(), ("#666666", "#0072B2", "#D55E00"), strict=True):
    axes.plot(counts, shares, "o-", color=colour, label=words)
axes.set(xlabel="examples of each digit", ylabel="recognised", ylim=(0, 1), xticks=list(counts))
axes.legend(frameon=False, loc="lower right")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
