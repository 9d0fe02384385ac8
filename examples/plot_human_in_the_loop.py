"""
People teach it
===============

No group has ever shown the distractor: all training images were taken indoors, and now light falls in. The list of
alarms fills with false ones. A person sees the strongest and answers "false alarm". After a few such answers the
light is ignored, also on images that were not reviewed.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import average_precision_score

from undistract import EvidenceWarning, Focus, NearestDetector
from undistract.algebra import Feedback
from undistract.datasets import make_illuminated_digits

BLUE, AMBER = "#0072B2", "#E69F00"
N_ANSWERS = 8

# %%
# Sevens, with some zeros hidden among them, under light. Half of the images are looked at; the other half shows how
# well it works. The groups that teach are other digits, without any light.

digits = make_illuminated_digits(normal=7, odd=0, n_hidden=16, lit_training=0.0, lit_test=0.4, amplitude=1.0)
looked_at, fresh = np.arange(0, len(digits.test), 2), np.arange(1, len(digits.test), 2)
# 64 groups are few for 64 pixels, and `Focus` warns about it; here people decide what to ignore.
warnings.filterwarnings("ignore", category=EvidenceWarning)
focus = Focus().fit_groups(digits.training)


def strange(focus, which):
    return NearestDetector().fit(focus.transform(digits.test[which])).scores_


# %%
# One answer after the other: the strongest alarm without an answer is shown. For a false alarm, its difference from
# the usual image must be ignored. A real anomaly must stay visible.

usual = np.median(digits.test[looked_at], axis=0)
answered, feedback, models = [], None, [focus]
for _ in range(N_ANSWERS):
    order = np.argsort(-strange(models[-1], looked_at))
    first = next(row for row in looked_at[order] if row not in answered)
    answered.append(first)
    step = digits.test[first : first + 1] - usual
    answer = Feedback(ignored=[], confirmed=step) if digits.is_anomaly[first] else Feedback(ignored=step)
    feedback = answer if feedback is None else feedback + answer
    models.append(focus.with_feedback(feedback))

quality = [average_precision_score(digits.is_anomaly[fresh], strange(one, fresh)) for one in models]
print(f"average precision on images without review: raw {quality[0]:.2f}, FOCUS {quality[-1]:.2f}")

# %%
# On the left, what eight answers do. On the right, the strongest alarms among the images without review, before
# and after: amber frames are false alarms, blue ones the hidden zeros.

figure = plt.figure(figsize=(9.5, 3.2), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1, 1.35))
axes = left.add_subplot()
axes.plot(range(N_ANSWERS + 1), quality, "o-", color=BLUE)
axes.set(xlabel="answers", ylabel="average precision, other images", ylim=(0, 1.03), xticks=range(0, N_ANSWERS + 1, 2))
axes.spines[["top", "right"]].set_visible(False)
panels = right.subplots(2, 7)
for line, (words, model) in zip(panels, {"before": models[0], "after": models[-1]}.items(), strict=True):
    for panel, row in zip(line, fresh[np.argsort(-strange(model, fresh))], strict=False):
        panel.imshow(digits.test[row].reshape(8, 8), cmap="gray_r", vmin=-1, vmax=2)
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set(color=BLUE if digits.is_anomaly[row] else AMBER, linewidth=3.5)
    line[0].set_ylabel(words, rotation=0, ha="right", va="center")
right.suptitle("The strongest alarms")
plt.show()
