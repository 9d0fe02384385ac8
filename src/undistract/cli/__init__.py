"""The command line: one module for each command, imported when the command runs."""

from undistract.cli.main import main as main
