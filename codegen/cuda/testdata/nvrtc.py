"""Compiles CUDA C++ with NVRTC, one JSON request on standard input, one JSON answer on standard output.

Request:  {"archs": ["sm_90"], "sources": [{"name": "a.cu", "text": "...", "options": ["--fmad=false"]}]}
Answer:   {"version": "13.0", "skip": "why there is no NVRTC", "results": [{"name", "arch", "ok", "log", "cubin"}]}
          cubin is the size of the machine code in bytes; with "keep" in the request its base64 text. A source with
          "archs" of its own is compiled for these. With "registers" in the request a result has those of each kernel,
          by name, as ptxas tells them; none where ptxas is not beside NVRTC. With "ptx" a result has its text.
"""

import base64
import ctypes
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor


def find():
    """Returns the path of libnvrtc in the site-packages of this Python."""
    for folder in sys.path:
        for pattern in ("nvidia/cu*/lib", "nvidia/cuda_nvrtc/lib"):
            for path in glob.glob(os.path.join(folder, pattern, "libnvrtc.so.*")):
                return path
    return None


def compile_one(nvrtc, source, arch, keep):
    text, name = source["text"].encode(), source["name"].encode()
    program = ctypes.c_void_p()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, name, 0, None, None) != 0:
        return {"ok": False, "log": "nvrtcCreateProgram failed"}
    options = [o.encode() for o in source["options"] + ["--gpu-architecture=" + arch]]
    rc = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    result = {"ok": rc == 0, "log": log_of(nvrtc, program)}
    if rc == 0:
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        result["cubin"] = size.value
        result["ok"] = size.value > 0
        if keep:
            data = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetCUBIN(program, data)
            result["code"] = base64.b64encode(data.raw).decode()
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return result


def ptx(nvrtc, source, arch):
    """Returns the PTX of a source, None where it does not compile."""
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source["text"].encode(), b"k.cu", 0, None, None)
    options = [o.encode() for o in source["options"] + ["--gpu-architecture=" + arch.replace("sm", "compute")]]
    if nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)) != 0:
        return None
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, text)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return text.value.decode()


def registers(ptxas, nvrtc, source, arch):
    """Returns the registers of a thread of each kernel of a source."""
    text = ptx(nvrtc, source, arch)
    if text is None:
        return {}
    with tempfile.NamedTemporaryFile(suffix=".ptx") as file:
        file.write(text.encode())
        file.flush()
        said = subprocess.run([ptxas, "-v", "-arch=" + arch, "-o", os.devnull, file.name], capture_output=True, text=True, check=True)
    found = re.findall(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", said.stderr, re.S)
    return {name: int(n) for name, n in found}


def log_of(nvrtc, program):
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    return log.value.decode(errors="replace")


def main():
    path = find()
    if path is None:
        print(json.dumps({"skip": "no libnvrtc beside this Python: pip install nvidia-cuda-nvrtc"}))
        return
    # The library of the built-in functions is found by its path only when it is loaded already.
    for builtins in glob.glob(os.path.join(os.path.dirname(path), "libnvrtc-builtins.so.*")):
        ctypes.CDLL(builtins, mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(path)
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    request = json.load(sys.stdin)
    jobs = [(s, arch) for s in request["sources"] for arch in s.get("archs") or request["archs"]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(lambda job: compile_one(nvrtc, job[0], job[1], request.get("keep", False)), jobs))
    results = [dict(r, name=s["name"], arch=a) for (s, a), r in zip(jobs, done)]
    ptxas = os.path.join(os.path.dirname(os.path.dirname(path)), "bin", "ptxas")
    if request.get("registers") and os.path.exists(ptxas):
        for (s, arch), r in zip(jobs, results):
            r["registers"] = registers(ptxas, nvrtc, s, arch)
    if request.get("ptx"):
        for (s, arch), r in zip(jobs, results):
            r["ptx"] = ptx(nvrtc, s, arch)
    print(json.dumps({"version": "%d.%d" % (major.value, minor.value), "results": results}))


main()
