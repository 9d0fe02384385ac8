"""`python -m undistract`: the command line."""

from undistract.cli import main

if __name__ == "__main__":
    main(prog_name="undistract")
