"""Usage: sbom.py LIBRARY VERSION. Prints what the library is made of and what it needs, as CycloneDX."""

import datetime
import hashlib
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.dependency import Dependency
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot5

#: Debian's packages that parts of the library come from, with their names and licences, and that it needs.
INSIDE = {"libstemmer-dev": ("snowball", "BSD-3-Clause")}
NEEDED = {
    "libjansson.so.4": ("libjansson4", "jansson", "MIT"),
    "libpcre2-8.so.0": ("libpcre2-8-0", "pcre2", "BSD-3-Clause"),
    "libsqlite3.so.0": ("libsqlite3-0", "sqlite", "blessing"),
    "libstdc++.so.6": ("libstdc++6", "libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libgcc_s.so.1": ("libgcc-s1", "libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libc.so.6": ("libc6", "glibc", "LGPL-2.1-or-later"),
}


def said_by(*command: "str | Path") -> str:
    """What a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def part(name: str, version: str, licence: str) -> Component:
    """A part of the library, or what it needs."""
    licences = [LicenseExpression(licence)]
    reference = f"{name}@{version}"
    return Component(
        name=name, version=version, licenses=licences, type=ComponentType.LIBRARY, bom_ref=reference
    )


def main(library: Path, version: str) -> None:
    """Prints the document, the same for the same library and SOURCE_DATE_EPOCH."""
    digest = hashlib.sha256(library.read_bytes()).hexdigest()
    holdfast = part("holdfast", version, "MIT")
    holdfast.hashes.add(HashType(alg=HashAlgorithm.SHA_256, content=digest))

    swift = re.search(r"Swift version ([\d.]+)", said_by("swiftc", "--version"))
    assert swift, "swiftc tells no version"
    parts = [part("swift-runtime", swift[1], "Apache-2.0 WITH Swift-exception")]
    parts += [part(name, _installed(package), licence) for package, (name, licence) in INSIDE.items()]
    for soname in re.findall(r"NEEDED.*\[(.*)\]", said_by("readelf", "-d", "-W", library)):
        if not soname.startswith(("libm.", "ld-linux")):  # Parts of glibc, which is named once.
            package, name, licence = NEEDED[soname]
            parts.append(part(name, _installed(package), licence))

    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    references = [Dependency(ref=it.bom_ref) for it in parts]
    bom = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_OID, digest),
        components=parts,
        dependencies=[Dependency(ref=holdfast.bom_ref, dependencies=references), *references],
    )
    bom.metadata.component = holdfast
    bom.metadata.timestamp = time
    print(JsonV1Dot5(bom).output_as_string(indent=1))


def _installed(package: str) -> str:
    return said_by("dpkg-query", "--show", "--showformat=${Version}", package)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
