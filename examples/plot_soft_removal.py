"""
Shrink instead of cut
=====================

What is cut away cannot be seen any more. A machine whose load suddenly is five times what it ever was has a problem,
though load as such means nothing. Soft removal shrinks the nuisance, but keeps enough of it
that a very large deviation is still visible.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import average_precision_score

from undistract import Focus, NearestDetector
from undistract.algebra.shrinkage import strengths as strengths_of

BLUE, AMBER, GREY = "#0072B2", "#E69F00", "#666666"

# %%
# Forty machines with ten sensors. The load moves all sensors in the same proportions, up and down, all day.

rng = np.random.default_rng(0)
LOAD = rng.normal(size=10)
LOAD *= 6 / np.linalg.norm(LOAD)


def machine(n_rows):
    return rng.normal(size=10) + rng.normal(size=(n_rows, 1)) * LOAD + rng.normal(scale=0.4, size=(n_rows, 10))


training = {number: machine(100) for number in range(40)}

# %%
# A new machine, yesterday and today. Six rows of today have a fault that has nothing to do with the load. Six others
# have a load beyond all measure.

both_days = machine(700)
yesterday, today = both_days[:300], both_days[300:]
faulty, overloaded = np.split(rng.choice(400, 12, replace=False), 2)
today[faulty] += rng.choice([-1, 1], size=(6, 1)) * np.tile([1.1, -1.1], 5)
today[overloaded] += rng.choice([-1, 1], size=(6, 1)) * 8 * LOAD
is_strange = {"a fault": np.isin(np.arange(400), faulty), "an overload": np.isin(np.arange(400), overloaded)}
is_strange["both"] = is_strange["a fault"] | is_strange["an overload"]


def found(**settings):
    """Return how well each kind is found among all rows that are none of the other kind."""
    focus = Focus(n_remove=1, **settings).fit_groups(training)
    scores = NearestDetector().fit(focus.transform(yesterday)).anomaly_score(focus.transform(today))
    return {
        kind: average_precision_score(flags[rows], scores[rows])
        for kind, flags in is_strange.items()
        for rows in [flags | ~is_strange["both"]]
    }


# %%
# The strength goes from nothing (rows as they are) to without bound (cut away). Left to itself, `Focus` takes a very
# large one here: it reads the spectrum, and there the load looks like pure distraction. That an overload matters is
# something that we know, so we set how much to keep: a strength of 100 leaves a tenth.

strengths = np.geomspace(0.1, 1e6, 15)
lines = [found(removal="soft", strength=one) for one in strengths]
raw, hard, soft = found(removal="soft", strength=0), found(), found(removal="soft", strength=100)
print(f"cut away: a fault {hard['a fault']:.2f}, an overload {hard['an overload']:.2f}, both {hard['both']:.2f}")
print(f"average precision of both: raw {raw['both']:.2f}, FOCUS {soft['both']:.2f}")

# %%
# Too weak, and the load drowns the fault. Too strong, and the overload is gone. In between both are found.

figure, axes = plt.subplots(figsize=(8, 4.2))
for kind, colour in (("a fault", BLUE), ("an overload", AMBER)):
    axes.plot(strengths, [one[kind] for one in lines], color=colour, linewidth=2.4, label=kind)
    axes.scatter([strengths[0] / 4, strengths[-1] * 4], [raw[kind], hard[kind]], color=colour, s=45)
axes.set(xscale="log", ylim=(0, 1.05), xlabel="strength", ylabel="average precision")
axes.set_xticks([strengths[0] / 4, 1, 100, 1e4, strengths[-1] * 4], ["nothing", "1", "100", "10 000", "cut away"])
axes.minorticks_off()
focus = Focus(n_remove=1, removal="soft").fit_groups(training)
chosen = float(strengths_of(focus.spectrum_, 1)[0] / focus.distraction_[0])
axes.axvline(chosen, color=GREY, linestyle=(0, (4, 3)))
axes.text(chosen * 1.2, 0.06, "chosen by itself", color=GREY)
axes.legend(frameon=False, loc="lower left")
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
plt.show()
