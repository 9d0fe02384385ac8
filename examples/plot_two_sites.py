"""
Two sites learn together, and share no row
==========================================

What `Focus` learns from is a sum: how many rows, their mean, how they vary inside groups and between them. Sums of two
sites can be added. Neither site shows the other a single row, and the result is the same, to the last digits, as if all
rows had been in one place.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import average_precision_score

from undistract import EvidenceWarning, Focus, Moments, NearestDetector

BLUE, AMBER, GREY = "#0072B2", "#E69F00", "#BDBDBD"
warnings.filterwarnings("ignore", category=EvidenceWarning)  # a site alone has few groups; that is the point

# %%
# Both sites run the same kind of machine with thirty sensors. The north knows cold, the south knows dust, and both
# know the mains. Each of the three moves all sensors in its own proportions.

rng = np.random.default_rng(3)
MAINS, COLD, DUST = 8 * rng.normal(size=(3, 30)) / np.sqrt(30)


def machine(n_rows, *moves):
    moved = sum(rng.normal(size=(n_rows, 1)) * 3 * one for one in moves)
    return rng.normal(size=30) + moved + rng.normal(scale=0.7, size=(n_rows, 30))


north = {f"north {number}": machine(80, MAINS, COLD) for number in range(25)}
south = {f"south {number}": machine(80, MAINS, DUST) for number in range(25)}

# %%
# Each site sums up its own groups. A sum contains no row, for any number of rows; it can be saved, sent and added.

sums = {"the north": Moments.of(north), "the south": Moments.of(south)}
sums["both, by their sums"] = sums["the north"] + sums["the south"]
models = {name: Focus().fit_moments(one) for name, one in sums.items()}
in_one_place = Focus().fit_groups({**north, **south})
apart = np.abs(in_one_place.distraction_ - models["both, by their sums"].distraction_).max()
print(f"joined sums and joined rows differ by {apart:.0e}")

# %%
# A third site opens, with cold and with dust. Eight readings do not fit.

today = machine(300, MAINS, COLD, DUST)
is_strange = np.arange(300) < 8
today[is_strange] += 1.2 * rng.choice([-1, 1], size=(8, 30))


def quality(rows):
    return average_precision_score(is_strange, NearestDetector().fit(rows).scores_)


found = {"nothing": quality(today)} | {name: quality(focus.transform(today)) for name, focus in models.items()}
for name, focus in models.items():
    print(f"{name}: {focus.n_removed_} of 30 directions are ignored")
print(f"average precision: raw {found['nothing']:.2f}, FOCUS {found['both, by their sums']:.2f}")

# %%
# On the left, how much is left of cold and of dust: each site takes out what it has seen, and both together take out
# both. On the right, what that is worth at the third site.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
names = list(models)
for offset, (move, words) in enumerate(((COLD, "cold"), (DUST, "dust"))):
    shares = [
        np.linalg.norm(focus.projection_.embed(focus.projection_(move[None]))) / np.linalg.norm(move)
        for focus in models.values()
    ]
    bars = left.barh(np.arange(3) - 0.2 + 0.4 * offset, shares, 0.36, color=(BLUE, AMBER)[offset], label=words)
    left.bar_label(bars, fmt="{:.0%}", padding=3)
left.set_yticks(range(3), names)
left.set(xlim=(0, 1.15), title="What is left of cold and dust, taught by", xlabel="share")
left.legend(frameon=False, loc="lower right")
right.barh(range(4), found.values(), 0.6, color=[GREY, GREY, GREY, BLUE])
right.set_yticks(range(4), found)
right.set(xlim=(0, 1), title="At the third site, taught by", xlabel="average precision")
for axes in (left, right):
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
plt.show()
