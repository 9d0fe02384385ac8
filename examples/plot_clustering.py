"""
Before clustering
=================

Clusters are drawn along what varies most. Where that is a distractor, they are clusters of the distractor. Here
k-means should find the two kinds of digits in a pile, but finds the light, until `Focus` has removed it.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from undistract import EvidenceWarning, Focus
from undistract.datasets import make_illuminated_digits

BLUE, AMBER = "#0072B2", "#E69F00"

# %%
# The pile: zeros and sevens, half of each, all under strong light. The groups that teach: the eight other digits.

digits = make_illuminated_digits(normal=0, odd=7, n_hidden=170, lit_test=1.0, amplitude=1.0)
# 64 groups are few for 64 pixels, and `Focus` warns about it; we know that there are two directions of light.
warnings.filterwarnings("ignore", category=EvidenceWarning)
focus = Focus().fit_groups(digits.training)

# %%
# The same k-means, before and after.

rows = {"raw": digits.test, "FOCUS": focus.transform(digits.test)}
clusters = {name: KMeans(2, n_init=10, random_state=0).fit_predict(X) for name, X in rows.items()}
agreement = {name: adjusted_rand_score(digits.is_anomaly, found) for name, found in clusters.items()}
print(f"agreement with the digits (adjusted Rand): raw {agreement['raw']:.2f}, FOCUS {agreement['FOCUS']:.2f}")

# %%
# Every digit is at its first two principal components, in the colour of its cluster. Light spreads the
# raw rows in all directions, and k-means cuts through the middle.

figure, panels = plt.subplots(1, 2, figsize=(10, 4.6))
for axes, (name, X) in zip(panels, rows.items(), strict=True):
    flat = PCA(2).fit_transform(X)
    found = clusters[name]
    # Clusters have no names: the one with most sevens is drawn amber.
    sevens = np.argmax([digits.is_anomaly[found == cluster].mean() for cluster in (0, 1)])
    for place, is_seven, cluster in zip(flat, digits.is_anomaly, found, strict=True):
        colour = AMBER if cluster == sevens else BLUE
        axes.text(*place, "7" if is_seven else "0", color=colour, ha="center", va="center", fontsize=9, clip_on=True)
    axes.set(xlim=(flat[:, 0].min() - 0.3, flat[:, 0].max() + 0.3), xticks=[], yticks=[])
    axes.set(ylim=(flat[:, 1].min() - 0.3, flat[:, 1].max() + 0.3))
    axes.set(title=f"{name}: agreement {agreement[name]:.2f}", xlabel="first principal component")
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("second")
figure.tight_layout()
plt.show()
