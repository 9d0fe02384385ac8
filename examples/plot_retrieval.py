"""
Before a search for similar things
==================================

"Show me more like this one." A search by nearest neighbours finds what looks alike, and pictures under the same light
look more alike than pictures of the same thing. `Focus` learns on *other* things what light does, and the search is
free of it.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import NearestNeighbors

from undistract import EvidenceWarning, Focus
from undistract.datasets import make_illuminated_digits

BLUE, AMBER = "#0072B2", "#E69F00"
N_FOUND = 6

# %%
# The shelf: threes and eights that no group has seen, all of them under light. The groups: all other digits.

digits = make_illuminated_digits(normal=3, odd=8, n_hidden=170, lit_test=1.0, amplitude=0.7)
# 64 groups are few for 64 pixels, and `Focus` warns about it; we know that there are two directions of light.
warnings.filterwarnings("ignore", category=EvidenceWarning)
focus = Focus().fit_groups(digits.training)

# %%
# For every picture the six most similar ones are fetched, and we count how many show the same digit.


def fetched(rows):
    nearest = NearestNeighbors(n_neighbors=N_FOUND + 1).fit(rows)
    return nearest.kneighbors(rows, return_distance=False)[:, 1:]  # the first is the picture itself


found = {"raw": fetched(digits.test), "FOCUS": fetched(focus.transform(digits.test))}
is_same = {name: digits.is_anomaly[which] == digits.is_anomaly[:, None] for name, which in found.items()}
share = {name: same.mean() for name, same in is_same.items()}
print(f"same digit among the first {N_FOUND}: raw {share['raw']:.2f}, FOCUS {share['FOCUS']:.2f}")

# %%
# Two questions and their answers. Blue frames are right, amber ones wrong: without `Focus` the answers share the
# light, with it they share the digit.

questions = np.argsort(is_same["raw"].mean(axis=1) - is_same["FOCUS"].mean(axis=1), kind="stable")[[0, 6]]
figure, grid = plt.subplots(4, N_FOUND + 1, figsize=(8, 4.9), layout="constrained")
for row, axes in enumerate(grid):
    question, name = questions[row // 2], ("raw", "FOCUS")[row % 2]
    shown = [question, *found[name][question]]
    for place, (one, image) in enumerate(zip(axes, digits.test[shown], strict=True)):
        one.imshow(image.reshape(8, 8), cmap="gray_r")
        one.set(xticks=[], yticks=[])
        colour = "black" if not place else BLUE if is_same[name][question][place - 1] else AMBER
        one.spines[:].set(color=colour, linewidth=3.5)
    axes[0].set_ylabel(name, rotation=0, ha="right", va="center")
grid[0, 0].set_title("question")
grid[0, 1].set_title("answers, the nearest first", loc="left").set_in_layout(False)
plt.show()
