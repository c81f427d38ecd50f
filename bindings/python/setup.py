"""Puts the native library inside the package, so that an installed one needs nothing else."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

REPOSITORY = Path(__file__).resolve().parent.parent.parent
BUILT = REPOSITORY / ".build" / "holdfast" / "libholdfast.so"


def native_library() -> Path:
    """The library to bundle: $HOLDFAST_LIBRARY, else the repository's own, built if need be."""
    if "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or ""):
        sys.exit(
            "holdfast-store: this Python is linked with musl, for which there is no Swift runtime and so no "
            "libholdfast.so: use one that is linked with glibc 2.34 or later"
        )
    named = os.environ.get("HOLDFAST_LIBRARY")
    if named:
        return Path(named)
    if not (REPOSITORY / "Package.swift").exists():
        sys.exit(
            "holdfast-store: a source distribution has no libholdfast.so. Install a wheel (Linux on x86-64 "
            "with glibc 2.34 or later), or set HOLDFAST_LIBRARY to the path of one that `make library` built"
        )
    if not BUILT.exists():
        subprocess.run(["make", "library"], cwd=REPOSITORY, check=True)
    return BUILT


class BuildWithLibrary(build_py):
    """Builds the package and copies the library beside its modules."""

    def run(self) -> None:
        """Copies the modules, then the library."""
        super().run()
        if not self.editable_mode:
            shutil.copy2(native_library(), Path(self.build_lib) / "holdfast" / "libholdfast.so")


class PlatformWheel(bdist_wheel):
    """Tags the wheel for any Python 3, because ctypes needs no extension module, on this platform."""

    def get_tag(self) -> tuple[str, str, str]:
        """The tag of the wheel."""
        return "py3", "none", super().get_tag()[2]


class PlatformDistribution(Distribution):
    """Says that the wheel is bound to a platform although no extension module is built."""

    def has_ext_modules(self) -> bool:
        """Whether the wheel is bound to a platform."""
        return True


setup(
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel},
    distclass=PlatformDistribution,
)
