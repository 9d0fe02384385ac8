"""What was learned, as files: safetensors with a JSON header, never code."""

from undistract.storage.model_file import describe_file, load, save
from undistract.storage.projection_onnx import export_onnx

__all__ = ["describe_file", "export_onnx", "load", "save"]
