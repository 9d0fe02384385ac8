"""`network`: embedding of each frame by an image model in an ONNX file.

The user provides the file and is responsible for its licence. The preprocessing is declared, not guessed. The file is
treated as untrusted data: models that refer to other files or to custom operators are rejected.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from undistract._optional import import_optional
from undistract.errors import InputError
from undistract.features.base import Extractor, check_at_least
from undistract.features.grid import Float32, Frames, Size, area_average

Triple = tuple[float, float, float]
OWN_OPERATORS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}  # built into onnxruntime


@dataclass(frozen=True)
class Network(Extractor):
    """The output of an ONNX image model, one row per frame; spatial axes are averaged.

    Parameters
    ----------
    path : str
        The model, with one input (n, 3, h, w) or (n, h, w, 3).
    size : (width, height)
        Frames are averaged to this size.
    mean, std : three numbers
        (value - mean) / std, with values from 0 to 1; the defaults are those of ImageNet.
    layout : {"nchw", "nhwc"}
        Channels before or after height and width.
    colour : {"rgb", "bgr"}
    batch : int
        Frames per run; a model with a fixed batch size overrides it.
    output : str
        Name of the output; default: the first.

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
                f"network: layout must be nchw or nhwc, colour rgb or bgr, and std positive, got {self.layout}, "
                f"{self.colour} and {self.std}."
            )

    grey = False

    @property
    def fingerprint(self) -> str:
        """The specification and the sha256 of the model file: another model at the same path returns other rows."""
        return f"{self.name} {_sum(self.path)}"

    @property
    def feature_names(self) -> tuple[str, ...]:
        n_features = self(np.zeros((1, 2, 2, 3), np.uint8)).shape[1]
        return tuple(f"network {number}" for number in range(n_features))

    def __call__(self, frames: Frames) -> Float32:
        session = _session(self.path, _sum(self.path))
        batch = session.get_inputs()[0].shape[0]
        if not isinstance(batch, int):  # a symbolic size accepts any number
            batch = self.batch
        # The last batch is padded: with the same size of all batches a frame has the same row in each.
        filled = np.concatenate([frames, np.repeat(frames[-1:], -len(frames) % batch, axis=0)])
        rows = [self._run(session, filled[start : start + batch]) for start in range(0, len(filled), batch)]
        return np.concatenate(rows)[: len(frames)]

    def _run(self, session: Any, frames: Frames) -> Float32:
        inputs = session.get_inputs()
        outputs = [output.name for output in session.get_outputs()]
        chosen = self.output
        if chosen == "first":
            chosen = outputs[0]
        if len(inputs) != 1 or chosen not in outputs:
            raise InputError(
                f"{self.path} has {len(inputs)} inputs and the outputs {', '.join(outputs)}; expected one input of "
                f"images, and an output {chosen!r}. Choose one with output=..."
            )
        try:
            output = np.asarray(session.run([chosen], {inputs[0].name: self._prepared(frames)})[0])
        except Exception as error:  # the errors of onnxruntime have no common class
            raise InputError(
                f"{self.path} cannot be run on {self.layout} images of {self.size[0]} x {self.size[1]}; it expects "
                f"{inputs[0].type} of shape {inputs[0].shape}. Set size and layout to match. ({error})"
            ) from error
        # Global average pooling over all axes except the batch and the channels.
        spatial = range(2, output.ndim)
        if self.layout == "nhwc":
            spatial = range(1, output.ndim - 1)
        if spatial:
            output = output.mean(axis=tuple(spatial))
        rows = np.asarray(output, dtype=np.float32).reshape(len(frames), -1)
        if not np.isfinite(rows).all():
            raise InputError(
                f"{self.path} returned values that are not finite. Are mean and std those of its training?"
            )
        return rows

    def _prepared(self, frames: Frames) -> Float32:
        if frames.ndim == 3:
            frames = np.repeat(frames[..., None], 3, axis=3)
        channels = np.moveaxis(frames, 3, 1).astype(np.float32) / np.float32(255)  # (n, 3, h, w)
        small = area_average(channels, self.size)
        mean = np.array(self.mean, np.float32)[:, None, None]
        std = np.array(self.std, np.float32)[:, None, None]
        scaled = (small - mean) / std
        if self.colour == "bgr":
            scaled = scaled[:, ::-1]
        if self.layout == "nhwc":
            scaled = np.moveaxis(scaled, 1, 3)
        return np.ascontiguousarray(scaled)


def _sum(path: str) -> str:
    try:
        stat = Path(path).stat()
        return _sum_of(path, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        raise InputError(
            f"The model {path} cannot be read: {error.strerror}. Pass the path of an ONNX file."
        ) from error


@lru_cache(maxsize=16)
def _sum_of(path: str, *_version: int) -> str:
    """Return the sha256 of one version of a file; cached, because rows are made in many chunks and models are large."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=4)
def _session(path: str, _content: str) -> Any:
    runtime = import_optional("onnxruntime", extra="onnx", to="Running a network")
    model = Path(path).read_bytes()
    _check_self_contained(path, model)
    options = runtime.SessionOptions()
    # One thread: sums in another order would change the last digits from run to run.
    options.intra_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 4  # errors are raised; nothing is printed
    try:
        # Without the fallback, which onnxruntime announces on stdout.
        return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"], enable_fallback=0)
    except Exception as error:  # the errors of onnxruntime have no common class
        raise InputError(f"{path} cannot be used as a network: {error}. Expected an ONNX image model.") from error


def _check_self_contained(path: str, content: bytes) -> None:
    onnx = import_optional("onnx", extra="onnx", to="Running a network")
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # the error class of protobuf is not public
        raise InputError(
            f"{path} is not an ONNX model: {str(error).splitlines()[0]}. Export the model again."
        ) from error
    foreign = {entry.domain for entry in model.opset_import} - OWN_OPERATORS
    if foreign or _points_outside(model):
        reason = "weights in other files"
        if foreign:
            reason = f"operators of {', '.join(sorted(foreign))}"
        raise InputError(f"{path} uses {reason}; only self-contained models are run. Export it as one plain ONNX file.")


def _points_outside(message: Any) -> bool:
    """Return whether any tensor, at any depth of the model, stores its values in another file."""
    if message.DESCRIPTOR.name == "TensorProto":
        return bool(message.data_location == message.EXTERNAL or message.external_data)
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        children = value if hasattr(value, "__len__") else [value]  # a repeated field, or a single message
        if any(map(_points_outside, children)):
            return True
    return False
