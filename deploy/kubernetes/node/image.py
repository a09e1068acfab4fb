#!/usr/bin/env python3
"""image.py NAME OUT.tar ENTRYPOINT FILE=PATH_IN_IMAGE...: a docker-archive image of one layer, without Docker."""
import hashlib, io, json, sys, tarfile
name, out, entry, *files = sys.argv[1:]
def tar(members):
    b = io.BytesIO()
    with tarfile.open(fileobj=b, mode="w", format=tarfile.GNU_FORMAT) as t:
        for n, data, mode in members:
            i = tarfile.TarInfo(n); i.size = len(data); i.mode = mode
            t.addfile(i, io.BytesIO(data))
    return b.getvalue()
layer = tar([(p.split("=", 1)[1].lstrip("/"), open(p.split("=", 1)[0], "rb").read(), 0o755) for p in files])
diff = "sha256:" + hashlib.sha256(layer).hexdigest()
config = json.dumps({"architecture": "amd64", "os": "linux", "created": "1970-01-01T00:00:00Z",
  "config": {"Entrypoint": [entry], "Env": ["PATH=/"]}, "rootfs": {"type": "layers", "diff_ids": [diff]},
  "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "image.py"}]}).encode()
h = hashlib.sha256(config).hexdigest()
with open(out, "wb") as f:
    f.write(tar([(h + ".json", config, 0o644), ("layer.tar", layer, 0o644),
      ("manifest.json", json.dumps([{"Config": h + ".json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode(), 0o644)]))
