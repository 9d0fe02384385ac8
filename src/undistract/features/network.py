"""`network`: what any image model in an ONNX file says about each frame.

The file is the user's own, and so is the question of its licence. How frames are prepared is declared, not guessed.
Such a file is data: models that point to other files or to operators of others are refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from undistract.errors import InputError
from undistract.extras import need
from undistract.features.area import Float32, Frames, Size, area_average
from undistract.features.extractor import check_at_least, spec_of

Triple = tuple[float, float, float]
OWN_OPERATORS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}  # those that come with onnxruntime


@dataclass(frozen=True)
class Network:
    """The output of an ONNX image model, one row per frame; more than one axis is averaged over its places.

    Parameters
    ----------
    path : str
        The model: one input (n, 3, h, w) or (n, h, w, 3).
    size : (width, height)
        Frames are averaged to it.
    mean, std : three numbers
        (value - mean) / std, values from 0 to 1; the usual ones of ImageNet unless given.
    layout : {"nchw", "nhwc"}
        Channels before or after height and width.
    colour : {"rgb", "bgr"}
    batch : int
        Frames at a time; a model with a fixed number takes that.
    output : str
        Which output; the first unless given.

    Examples
    --------
    >>> Network("street.onnx", size=(224, 224)).name
    'network(path=street.onnx,size=224x224,mean=0.485/0.456/0.406,...,layout=nchw,colour=rgb,batch=16,output=first)'
    """

    path: str
    size: Size = (224, 224)
    mean: Triple = (0.485, 0.456, 0.406)
    std: Triple = (0.229, 0.224, 0.225)
    layout: str = "nchw"
    colour: str = "rgb"
    batch: int = 16
    output: str = "first"

    def __post_init__(self) -> None:
        check_at_least(self, size=1, batch=1)
        if self.layout not in ("nchw", "nhwc") or self.colour not in ("rgb", "bgr") or not min(self.std) > 0:
            raise InputError(
                f"network: layout={self.layout}, colour={self.colour}, std={self.std} was given; expected layout nchw "
                "or nhwc, colour rgb or bgr, and std above 0."
            )

    name = property(spec_of)
    grey = False
    context = 0
    image_shape = None

    @property
    def fingerprint(self) -> str:
        """The spec, and the sum of the model file: another model under the same name gives other rows."""
        return f"{self.name} {_sum(self.path)}"

    @property
    def feature_names(self) -> tuple[str, ...]:
        n_features = self(np.zeros((1, 2, 2, 3), np.uint8)).shape[1]
        return tuple(f"network {number}" for number in range(n_features))

    def __call__(self, frames: Frames) -> Float32:
        session = _session(self.path, _sum(self.path))
        fixed = session.get_inputs()[0].shape[0]
        batch = fixed if isinstance(fixed, int) else self.batch
        # The last batch is filled up, so that all have one size and a frame gives the same row in each.
        filled = np.concatenate([frames, np.repeat(frames[-1:], -len(frames) % batch, axis=0)])
        rows = [self._run(session, filled[start : start + batch]) for start in range(0, len(filled), batch)]
        return np.concatenate(rows)[: len(frames)]

    def _run(self, session: Any, frames: Frames) -> Float32:
        inputs, outputs = session.get_inputs(), [output.name for output in session.get_outputs()]
        wanted = outputs[0] if self.output == "first" else self.output
        if len(inputs) != 1 or wanted not in outputs:
            raise InputError(
                f"{self.path} has {len(inputs)} inputs and the outputs {', '.join(outputs)}; expected one input of "
                f"images, and an output {wanted!r}. Name one with output=..."
            )
        try:
            found = np.asarray(session.run([wanted], {inputs[0].name: self._prepared(frames)})[0])
        except Exception as error:  # onnxruntime has no common class for what it raises
            raise InputError(
                f"{self.path} cannot be run on {self.layout} images of {self.size[0]} x {self.size[1]}; it expects "
                f"{inputs[0].type} of shape {inputs[0].shape}. Set size and layout to match. ({error})"
            ) from error
        places = tuple(range(1, found.ndim - 1) if self.layout == "nhwc" else range(2, found.ndim))
        rows = np.asarray(found.mean(axis=places) if places else found, dtype=np.float32).reshape(len(frames), -1)
        if not np.isfinite(rows).all():
            raise InputError(
                f"{self.path} returned values that are not finite. Are mean and std those it was trained with?"
            )
        return rows

    def _prepared(self, frames: Frames) -> Float32:
        colour = frames if frames.ndim == 4 else np.repeat(frames[..., None], 3, axis=3)
        channels = np.moveaxis(colour, 3, 1).astype(np.float32) / np.float32(255)  # (n, 3, h, w)
        small = area_average(channels, self.size)
        mean, std = (np.array(three, np.float32)[:, None, None] for three in (self.mean, self.std))
        ready = (small - mean) / std
        ready = ready[:, ::-1] if self.colour == "bgr" else ready
        return np.ascontiguousarray(np.moveaxis(ready, 1, 3) if self.layout == "nhwc" else ready)


def _sum(path: str) -> str:
    try:
        seen = Path(path).stat()
        return _sum_of(path, seen.st_ino, seen.st_size, seen.st_mtime_ns)
    except OSError as error:
        raise InputError(
            f"The model {path} cannot be read: {error.strerror}. Give the path of an ONNX file."
        ) from error


@lru_cache(maxsize=16)
def _sum_of(path: str, *_version: int) -> str:
    """Sum up a version of a file, once: rows are made in many pieces, and a model is large."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=4)
def _session(path: str, _content: str) -> Any:
    runtime = need("onnxruntime", extra="onnx", to="Running a network")
    model = Path(path).read_bytes()
    _check_self_contained(path, model)
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.use_deterministic_compute = 1, True
    options.log_severity_level = 4  # errors are raised; nothing is printed
    try:
        # Without a second try, which onnxruntime announces on stdout.
        return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"], enable_fallback=0)
    except Exception as error:  # onnxruntime has no common class for what it raises
        raise InputError(f"{path} cannot be used as a network: {error}. Expected an ONNX image model.") from error


def _check_self_contained(path: str, content: bytes) -> None:
    onnx = need("onnx", extra="onnx", to="Running a network")
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # protobuf has an error of its own, which is nowhere public
        raise InputError(
            f"{path} is not an ONNX model: {str(error).splitlines()[0]}. Export the model again."
        ) from error
    foreign = {entry.domain for entry in model.opset_import} - OWN_OPERATORS
    if foreign or _points_outside(model):
        what = f"operators of {', '.join(sorted(foreign))}" if foreign else "weights in other files"
        raise InputError(f"{path} uses {what}; only models that stand alone are run. Export it as one plain ONNX file.")


def _points_outside(message: Any) -> bool:
    """Tell whether any tensor, at any depth of the model, keeps its numbers in another file."""
    if message.DESCRIPTOR.name == "TensorProto":
        return bool(message.data_location == message.EXTERNAL or message.external_data)
    held = (value for field, value in message.ListFields() if field.type == field.TYPE_MESSAGE)
    return any(_points_outside(m) for value in held for m in (value if hasattr(value, "__len__") else [value]))
