"""Plans, keyed noise and saved streams are the same whatever the processor can do.

Each child process computes everything with other libraries' kernels: OpenBLAS's for other
processors, numpy and numba without vector extensions, the C library without fused multiply-add.
"""

import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

ROOT = Path(__file__).parents[2]
PLAIN = {"OPENBLAS_NUM_THREADS": "1"}
NO_DISPATCH = " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name))
NO_FMA = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX,-AVX512F,-AVX512VL,-AVX2_Usable,-FMA_Usable"


def configurations(folder):
    """Each with the variables that it sets.  `test_known_digests` is for this machine's own.

    A process costs seconds, so some disable the extensions of several libraries at once.
    """
    for core in ("Haswell", "SkylakeX"):
        yield f"OpenBLAS for {core}", {"OPENBLAS_CORETYPE": core}
    without_fma = {"GLIBC_TUNABLES": NO_FMA} if platform.libc_ver()[0] == "glibc" else {}
    yield (
        "OpenBLAS for Zen, the C library without fused multiply-add",
        {"OPENBLAS_CORETYPE": "Zen"} | without_fma,
    )
    plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    plain |= {"NUMBA_CACHE_DIR": str(folder / "numba")}
    if NO_DISPATCH:
        plain["NPY_DISABLE_CPU_FEATURES"] = NO_DISPATCH
    yield (
        "OpenBLAS for Nehalem, numpy and numba without vector extensions",
        {"OPENBLAS_CORETYPE": "Nehalem"} | plain,
    )


def computed(folder, variables, *bugs):
    """The child's findings; None where this processor cannot execute the kernels."""
    made = subprocess.run(
        [sys.executable, "-m", "tests.planning.identity_on_this_machine", str(folder), *bugs],
        env=os.environ | PLAIN | variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode == -signal.SIGILL and "OPENBLAS_CORETYPE" in variables:
        return None
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


def differing(one, other):
    """The names of what is not the same."""
    return [name for name in one if one[name] != other[name]]


@pytest.mark.slow
def test_plans_noise_and_saved_streams_are_the_same_on_every_machine(tmp_path):
    findings = {}
    for name, variables in configurations(tmp_path):
        found = computed(tmp_path, variables)
        if found is None:
            print(f"{name}: this processor has not the instructions")
        else:
            findings[name] = found
    assert len(findings) >= 3
    first = next(iter(findings))
    expected = findings.pop(first)
    assert len(expected["plans"]) > 70
    assert len(expected["draws"]) > 30
    for name, found in findings.items():
        for part in ("plans", "mu", "draws", "series"):
            assert differing(expected[part], found[part]) == [], (name, part)
        for stream, of in expected["streams"].items():
            other = found["streams"][stream]
            assert of["private"] == other["private"], (name, stream)
            assert of["noise"] == other["noise"], (name, stream)
            if of["digits"] is None:
                assert of["released"] == other["released"], (name, stream)
            else:
                away = np.abs(np.array(of["released"]) - np.array(other["released"]))
                assert np.max(away) <= of["scale"] * 10.0 ** -of["digits"], (name, stream)


@pytest.mark.slow
def test_a_figure_of_floating_point_in_the_digest_is_noticed(tmp_path):
    if not NO_DISPATCH:
        pytest.skip("this machine has one variant of each library only")
    seen = set()
    for _name, variables in configurations(tmp_path):
        used = {name: value for name, value in variables.items() if not name.startswith("NUMBA")}
        found = computed(tmp_path, used, "--loss-in-digest")  # the loops of numba exist already
        if found is not None:
            seen.add(json.dumps(found["plans"]))
        if len(seen) > 1:
            return
    pytest.fail("every configuration has the same figures")
