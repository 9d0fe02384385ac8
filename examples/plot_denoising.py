"""
Taking a hum out of a signal
============================

Eight sensors of a machine pick up the mains and the warmth of the hall. There is no recording without them.
Other machines on the same kind of wiring show what the hum looks like, and it can be taken out of a signal whose own
shape none of them has.
"""

import matplotlib.pyplot as plt
import numpy as np

from undistract import Focus

BLUE, GREY = "#0072B2", "#BDBDBD"

# %%
# Thirty machines are idle, each in its own state; each is a group. How strongly a sensor picks up the hum and the
# warmth is the same everywhere, and unknown.

rng = np.random.default_rng(4)
WIRES = rng.normal(size=(2, 8))


def disturbance(n_rows):
    time = np.arange(n_rows)
    hum = 3 * np.sin(2 * np.pi * time / 9.7 + rng.uniform(0, 7)) * (1 + 0.3 * np.sin(time / 40))
    warmth = 3 * np.sin(2 * np.pi * time / 260 + rng.uniform(0, 7))
    return np.stack([hum, warmth], axis=1) @ WIRES


def still(n_rows):
    return rng.normal(scale=0.6, size=8) + disturbance(n_rows) + rng.normal(scale=0.05, size=(n_rows, 8))


focus = Focus().fit_groups({number: still(400) for number in range(30)})
print(f"{focus.n_removed_} of {focus.n_features_in_} directions are ignored")

# %%
# The new machine moves: a step, a ramp, a short knock. Filters in time would blur all three. `denoise` looks at all
# sensors at one moment and takes out what the wires have in common, so that nothing is blurred.

time = np.arange(300)
shapes = np.stack([time > 90, np.clip((time - 150) / 80, 0, 1), np.exp(-(((time - 220) / 2.5) ** 2))], axis=1)
clean = rng.normal(scale=0.6, size=8) + shapes @ rng.normal(scale=1.2, size=(3, 8))
signal = clean + disturbance(300) + rng.normal(scale=0.05, size=(300, 8))
denoised = focus.denoise(signal)

before, after = (np.sqrt(((one - clean) ** 2).mean()) for one in (signal, denoised))
print(f"root mean square error: raw {before:.2f}, FOCUS {after:.2f}")

# %%
# Three of the sensors. The remaining error is movement along the wires' own pattern: that part of a movement cannot be
# separated from hum.

figure, panels = plt.subplots(3, 1, figsize=(8.5, 5.6), sharex=True)
for axes, sensor in zip(panels, np.argsort(-np.abs(WIRES).sum(axis=0))[:3], strict=True):
    axes.plot(time, signal[:, sensor], color=GREY, linewidth=1, label="as recorded")
    axes.plot(time, denoised[:, sensor], color=BLUE, linewidth=1.6, label="denoised")
    axes.plot(time, clean[:, sensor], color="black", linewidth=1, linestyle=(0, (4, 3)), label="clean, for comparison")
    axes.set_ylabel(f"sensor {sensor + 1}")
    axes.spines[["top", "right"]].set_visible(False)
panels[0].legend(frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
panels[-1].set_xlabel("time")
figure.tight_layout()
plt.show()
