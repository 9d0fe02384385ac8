"""
What is a distractor?
=====================

A machine has two sensors. Its load moves both of them, all day long, and means nothing. What would mean something is a
reading that does not fit the machine. Here is how a detector is taught the difference, without a single label.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import average_precision_score

from undistract import Focus, NearestDetector

BLUE, AMBER, GREY = "#0072B2", "#E69F00", "#BDBDBD"

# %%
# Twelve machines that run as they should. Every machine has its own state, and every one goes up and down with its
# load. One machine is one group; no other label is needed.

rng = np.random.default_rng(2)
LOAD = np.array([1.0, 0.6])  # how the load moves the two sensors; it is unknown to FOCUS


def machine(n_rows):
    state = rng.normal(scale=1.5, size=2)
    return state + rng.normal(scale=4.0, size=(n_rows, 1)) * LOAD + rng.normal(scale=0.15, size=(n_rows, 2))


training = {f"machine {number}": machine(80) for number in range(12)}

# %%
# A new machine, which was not among them, with six readings that do not fit it. They are within the range of the load,
# so the distance to other rows shows little.

today = machine(150)
is_strange = np.zeros(150, dtype=bool)
is_strange[rng.choice(150, 6, replace=False)] = True
today[is_strange] += np.array([-0.6, 1.0]) * rng.choice([-1, 1], size=(6, 1))

# %%
# `Focus` looks for directions in which rows vary within every group, but which do not differ between groups: here it is
# the load. It takes them out of any rows, also of machines that it has never seen. Of two directions we ask it to take
# one; with more features it decides automatically how many to remove.

focus = Focus(n_remove=1).fit_groups(training)
print(focus.summary())

raw = NearestDetector().fit(today).scores_
better = NearestDetector().fit(focus.transform(today)).scores_
before, after = (average_precision_score(is_strange, scores) for scores in (raw, better))
print(f"average precision: raw {before:.2f}, FOCUS {after:.2f}")

# %%
# On the left, the sensors: machines differ across the load, and the load drowns all of it. On the right, how strange
# each row of the new machine looks to the same detector, before and after.

figure, (rows, scores) = plt.subplots(1, 2, figsize=(10, 4.4), width_ratios=(1.1, 1))
for number, one in enumerate(training.values()):
    rows.scatter(*one.T, s=5, color=GREY, label=None if number else "twelve machines")
rows.scatter(*today[~is_strange].T, s=14, color=BLUE, label="a new machine")
rows.scatter(*today[is_strange].T, s=42, color=AMBER, marker="^", edgecolor="black", label="does not fit it")
pattern = focus.patterns_[:, 0] / np.linalg.norm(focus.patterns_[:, 0])
middle = today[~is_strange].mean(axis=0) + np.array([5.0, -6.0])
rows.annotate("", middle + 4 * pattern, middle - 4 * pattern, arrowprops={"arrowstyle": "<->", "lw": 2})
rows.text(middle[0] + 0.5, middle[1] - 0.4, "what is ignored", va="top")
rows.set(xlabel="sensor 1", ylabel="sensor 2", title="The load drowns what matters")
rows.legend(frameon=False, loc="upper left")

for height, values in enumerate((better, raw)):
    shown = values / np.median(values)
    lift = height + rng.uniform(-0.2, 0.2, size=len(shown))
    scores.scatter(shown[~is_strange], lift[~is_strange], s=14, color=BLUE)
    scores.scatter(shown[is_strange], lift[is_strange], s=42, color=AMBER, marker="^", edgecolor="black")
scores.set(xscale="log", xlabel="how strange, in medians", title="The same detector, before and after")
scores.set_yticks([0, 1], ["FOCUS", "raw"])
for axes in (rows, scores):
    axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
plt.show()
