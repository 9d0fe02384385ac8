"""
How many groups are needed?
===========================

With few groups the evidence is weak: a direction that happens to be alike in three machines may still
separate the fourth, and must be kept. More groups give more evidence. Here it is measured on a task with known truth.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import average_precision_score

from undistract import EvidenceWarning, Focus, Moments, NearestDetector

BLUE, AMBER, GREY = "#0072B2", "#E69F00", "#666666"
COUNTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
N_DRAWS = 5

# %%
# Machines with twenty sensors. In four directions machines differ, and wander; six others are load and the like, the
# same in all of them. All is mixed, so that no sensor is only one thing.

rng = np.random.default_rng(0)
MIXING = np.linalg.qr(rng.normal(size=(20, 20)))[0]
INSIDE = np.array([3.0] * 6 + [2.5] * 4 + [0.3] * 10)  # standard deviations inside a machine
BETWEEN = np.array([0.0] * 6 + [4.0] * 4 + [0.3] * 10)  # and of the machines


def machine(n_rows):
    return (BETWEEN * rng.normal(size=20) + INSIDE * rng.normal(size=(n_rows, 20))) @ MIXING


sums = [Moments.of({number: machine(60)}) for number in range(COUNTS[-1])]  # of one group each; they are added as we go
warnings.filterwarnings("ignore", category=EvidenceWarning)  # that few groups are few is what we look at

# %%
# A new machine, with ten readings that are further out than it ever wanders.

today = machine(300)
is_strange = np.arange(300) < 10
STEPS = np.zeros((10, 20))
STEPS[np.arange(10), 6 + np.arange(10) % 4] = 10.0
today[is_strange] += STEPS @ MIXING


def quality(rows):
    return average_precision_score(is_strange, NearestDetector().fit(rows).scores_)


# %%
# Some groups are drawn at random, several times. Once `Focus` decides automatically how many directions to remove;
# once the number, six, is given.

found = {"automatic": [], "given: six": []}
n_removed = []
for count in COUNTS:
    values = {name: [] for name in found}
    removed = []
    for _ in range(N_DRAWS):
        first, *others = rng.choice(len(sums), count, replace=False)
        moments = sum((sums[one] for one in others), start=sums[first])
        for name, focus in {"automatic": Focus(), "given: six": Focus(n_remove=6)}.items():
            values[name].append(quality(focus.fit_moments(moments).transform(today)))
            if name == "automatic":
                removed.append(focus.n_removed_)
    for name, line in found.items():
        line.append(values[name])
    n_removed.append(np.mean(removed))
raw, clean = quality(today), quality(today @ MIXING.T[:, 6:])
for count, some, removed in zip(COUNTS, found["automatic"], n_removed, strict=True):
    print(f"{count} groups: {np.mean(some):.2f}, {removed:.1f} directions ignored")
print(f"average precision with all groups: raw {raw:.2f}, FOCUS {np.mean(found['automatic'][-1]):.2f}")

# %%
# Lines are means, bands go from the worst draw to the best. Left to itself, `Focus` prefers to keep: with four to eight
# groups it removes nothing. Who knows the number can do with fewer groups, at the risk of losing what matters.

figure, axes = plt.subplots(figsize=(8, 4.2))
for (name, line), colour in zip(found.items(), (BLUE, AMBER), strict=True):
    axes.fill_between(COUNTS, np.min(line, axis=1), np.max(line, axis=1), color=colour, alpha=0.18, linewidth=0)
    axes.plot(COUNTS, np.mean(line, axis=1), "o-", color=colour, linewidth=2.2, label=name)
for value, words in ((raw, "raw"), (clean, "nothing\ndistracts")):
    axes.axhline(value, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
    axes.text(1.01, value, words, color=GREY, va="center", transform=axes.get_yaxis_transform())
axes.set(xscale="log", ylim=(0, 1), xlabel="groups that teach", ylabel="average precision")
axes.set_xticks(COUNTS, [str(count) for count in COUNTS])
axes.minorticks_off()
axes.legend(frameon=False, loc="lower right", title="how many directions go")
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
plt.show()
