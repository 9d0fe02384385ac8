"""
From rows to alarms
===================

A score is not yet an alarm. `FocusDetector` takes groups of normal days, learns what to ignore, and sets a threshold on
days that it held out; neighbouring rows above it become one alarm. Here a pump runs through its load cycle, and two
small leaks hide in it.
"""

import matplotlib.pyplot as plt
import numpy as np

from undistract import Focus, FocusDetector

BLUE, AMBER, GREY = "#0072B2", "#E69F00", "#8C8C8C"

# %%
# Thirty calm days of twelve sensors. Load, warmth, speed and pressure go up and down, each day in its own rhythm; every
# day the pump is set up a little differently.

rng = np.random.default_rng(1)
CYCLES = rng.normal(size=(4, 12))


def day(n_rows=240):
    time = np.arange(n_rows)
    rhythm = [
        size * np.sin(2 * np.pi * time / rng.uniform(*periods) + rng.uniform(0, 7))
        for size, periods in ((10, (50, 90)), (9, (150, 300)), (9, (20, 40)), (8, (90, 150)))
    ]
    return rng.normal(scale=0.5, size=12) + np.stack(rhythm, axis=1) @ CYCLES + rng.normal(scale=0.5, size=(n_rows, 12))


days = np.repeat(np.arange(30), 240)
calm = np.concatenate([day() for _ in range(30)])

# %%
# Today: two leaks, small compared with the load.

today = day()
leaks = (slice(70, 82), slice(165, 175))
for leak in leaks:
    today[leak, 3:6] += 3.2

# %%
# The same detector and the same promise, one row in a thousand, once on the rows as they are and once after `Focus`.

detectors = {
    "raw": FocusDetector(Focus(n_remove=0), threshold=0.001).fit(calm, groups=days),
    "FOCUS": FocusDetector(Focus(), threshold=0.001).fit(calm, groups=days),
}
alarms = {name: detector.find_alarms(today, gap=5) for name, detector in detectors.items()}
for name, detector in detectors.items():
    print(f"{name}: {detector.focus_.n_removed_} directions ignored, {len(alarms[name])} alarms")
is_leak = np.zeros(len(today), dtype=bool)
for leak in leaks:
    is_leak[leak] = True
share = {name: np.mean(detector.predict(today)[is_leak] == -1) for name, detector in detectors.items()}
print(f"share of the leaks' rows that alarm: raw {share['raw']:.2f}, FOCUS {share['FOCUS']:.2f}")

# %%
# Grey bands are the leaks, amber bars the alarms. The raw track shows the load; the track after `Focus` is flat but for
# what does not belong there.

figure, panels = plt.subplots(3, 1, figsize=(8.5, 5.6), sharex=True)
panels[0].plot(today, color=GREY, linewidth=0.8)
panels[0].set_ylabel("sensors")
for axes, (name, detector) in zip(panels[1:], detectors.items(), strict=True):
    axes.plot(detector.anomaly_score(today), color=BLUE, linewidth=1.4)
    axes.axhline(detector.threshold_.value, color="black", linewidth=1, linestyle=(0, (4, 3)))
    for one in alarms[name]:
        axes.axvspan(one.start, one.stop, ymin=0.94, color=AMBER)
    axes.set_ylabel(f"score, {name}")
    axes.set_ylim(0, None)
for axes in panels:
    for leak in leaks:
        axes.axvspan(leak.start, leak.stop, color="#DDDDDD", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
panels[2].text(120, detectors["FOCUS"].threshold_.value * 1.04, "threshold", ha="center")
panels[-1].set_xlabel("time")
figure.tight_layout()
plt.show()
