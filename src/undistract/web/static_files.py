"""The page's own files: read once when the server starts, and served by their names alone."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.responses import Response

FOLDER = Path(__file__).parent / "static"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}


def static_router(folder: Path = FOLDER) -> APIRouter:
    """Serve the files of a folder under /static/: no folder in it, no link, nothing but the kinds in `TYPES`.

    A name is looked up among those that were there at the start and never becomes a path, so no name leads elsewhere.

    Examples
    --------
    >>> [route.path for route in static_router().routes]
    ['/static/{name}']
    """
    files = {path.name: path.read_bytes() for path in _ours(folder)}
    router = APIRouter()

    @router.get("/static/{name}", include_in_schema=False)
    def static(name: str) -> Response:
        """Give one file."""
        if name not in files:
            raise HTTPException(404)
        return Response(files[name], media_type=TYPES[Path(name).suffix])

    return router


def _ours(folder: Path) -> list[Path]:
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in found if path.suffix in TYPES and path.is_file() and not path.is_symlink())
