"""Neural FOCUS on the nonlinear tasks, with raw rows and linear FOCUS; one more task has new anomalies.

    python -m benchmarks.nonlinear.neural --save benchmarks/results/neural.csv.gz
    python -m benchmarks.nonlinear.neural --parts choose --tasks "Yale person" "Yale patch"

"neural" and "neural convolutional" have the defaults of `NeuralFocus`; "neural chosen" is tried at many settings on the
part for choosing. Tasks that end in "patch" hide images of the same object or person with a patch that
no group ever showed: an encoder that only separates groups would be blind to it.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

from benchmarks.nonlinear import run, tasks
from benchmarks.nonlinear.methods import METHODS, Method
from benchmarks.nonlinear.tasks import Task
from benchmarks.quality import trials as quality_trials
from benchmarks.quality.methods import Learned, grid
from benchmarks.quality.trials import Ints, Rows
from undistract import NeuralFocus

IMAGES = {784: (28, 28), 1024: (32, 32), 2016: (48, 42)}
FILES = {
    "COIL": ("coil20/coil20_32x32.npz", "object", 14),
    "Yale": ("yale_faces/extended_yale_b_48x42.npz", "subject", 28),
}


def unseen(data: str, kind: str, seed: int, part: str = "report") -> Task:
    """Give a trial of the quality benchmark on unseen objects or people, with the rows that teach."""
    path, owners, n_training = FILES[data]
    file = quality_trials._load(path)
    images, owner = file["images"] / np.float64(255), file[owners]
    trials = quality_trials._unseen(data, part, range(seed, seed + 1), images, owner, n_training)
    trial = next(one for one in trials if one.task == f"{data} {kind}")
    taught = np.isin(owner, np.random.default_rng(seed).permutation(np.unique(owner))[:n_training])
    rows = images.reshape(len(images), -1)[taught]
    return Task(trial.task, part, seed, rows, owner[taught].astype(int), trial.tests, trial.n_neighbors)


TASKS = {
    **tasks.TASKS,
    "COIL patch": partial(unseen, "COIL", "patch"),
    "Yale person": partial(unseen, "Yale", "person"),
    "Yale patch": partial(unseen, "Yale", "patch"),
}

_trained: dict[tuple[str, str, int, int], NeuralFocus] = {}


def trained(rows: Rows, groups: Ints, seed: int, encoder: str, n_components: int) -> NeuralFocus:
    """Train once for all tasks with the same rows, and all settings that differ in what is done with the encoding."""
    key = (sha256(rows.tobytes()).hexdigest(), encoder, n_components, seed)
    if key not in _trained:
        shape = IMAGES[rows.shape[1]] if encoder == "convolutional" else None
        focus = NeuralFocus(encoder, n_components=n_components, image_shape=shape, random_state=seed)
        _trained[key] = focus.fit(rows, groups=groups)
    return _trained[key]


def neural(
    rows: Rows,
    groups: Ints,
    seed: int,
    *,
    encoder: str,
    n_components: int,
    append: str,
    weight: float,
    final_linear: bool,
) -> Learned | None:
    """Encode rows with the given settings; settings that differ only after the encoding share the training."""
    if encoder == "convolutional" and rows.shape[1] not in IMAGES:
        return None
    focus = copy(trained(rows, groups, seed, encoder, n_components))
    focus.append_ = append
    focus.weight_ = weight
    if not final_linear:
        focus.components_ = np.eye(n_components)
    return Learned(focus.transform, n_components - len(focus.components_))


DEFAULTS = {"n_components": 16, "append": "residual", "weight": 1.0, "final_linear": True}

NEURAL = [
    Method("neural", partial(neural, encoder="mlp", **DEFAULTS)),
    Method("neural convolutional", partial(neural, encoder="convolutional", **DEFAULTS)),
    Method(
        "neural chosen",
        neural,
        grid(
            encoder=("mlp", "convolutional"),
            n_components=(16,),
            append=("residual", "rows", "nothing"),
            weight=(0.3, 1.0),
            final_linear=(True, False),
        ),
    ),
]

if __name__ == "__main__":
    METHODS += NEURAL
    tasks.TASKS = run.TASKS = TASKS
    run.SAVED = Path("benchmarks/results/neural.csv.gz")
    run.main()
