#!/usr/bin/env python3
"""image.py NAME OUT.tar ENTRYPOINT FILE=PATH_IN_IMAGE...: a docker-archive image of one layer, without Docker."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path

Member = tuple[str, bytes, int]  # name, content, mode


def tar(members: list[Member]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content, mode in members:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), mode
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def image(name: str, entrypoint: str, files: list[tuple[Path, str]]) -> bytes:
    """The archive: a configuration, one layer with `files` (source, path in the image), and the manifest that names them."""
    layer = tar([(inside.lstrip("/"), source.read_bytes(), 0o755) for source, inside in files])
    config = {
        "architecture": "amd64",
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": {"Entrypoint": [entrypoint], "Env": ["PATH=/"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "image.py"}],
    }
    encoded = json.dumps(config).encode()
    config_name = hashlib.sha256(encoded).hexdigest() + ".json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    return tar([(config_name, encoded, 0o644), ("layer.tar", layer, 0o644), ("manifest.json", manifest, 0o644)])


if __name__ == "__main__":
    given_name, out_path, given_entrypoint, *pairs = sys.argv[1:]
    sources = [(Path(source), inside) for source, _, inside in (pair.partition("=") for pair in pairs)]
    Path(out_path).write_bytes(image(given_name, given_entrypoint, sources))
