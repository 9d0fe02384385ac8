"""Model files: safetensors with a JSON header. Loading a file never runs code from it."""

from undistract.storage.model_file import (
    describe_file,
    load,
    save,
)
from undistract.storage.onnx import (
    export_onnx,
)

__all__ = ["describe_file", "export_onnx", "load", "save"]
