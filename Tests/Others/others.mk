# What others have written down of what the library does, to be included by the top Makefile, which says where the
# library is: RFCs, Python's own tests of mappings, and the implementations of MongoDB's language that the Python
# package index has.
#
#     test-others    all of it; OTHERS_CASES of each kind, from a seed that is printed and that HOLDFAST_OTHERS_SEED sets

OTHERS_CASES ?= 20000

# Python's tests, where they do not come with the interpreter.
OTHERS_PACKAGES = $(shell $(PYTHON) -c 'import test.mapping_tests' 2> /dev/null || echo libpython3-testsuite)

$(VENV)/others: $(VENV)/tools
	$(VENV)/bin/pip install --quiet 'mongoquery>=1.4.3,<2' 'mongita>=1.2,<2' 'neosqlite>=1.17.2,<1.18'
	@touch $@

.PHONY: test-others others-dependencies

others-dependencies:
	@$(MAKE) --no-print-directory dependencies PACKAGES="$(PACKAGES) $(OTHERS_PACKAGES)"

test-others: others-dependencies library $(VENV)/others ## What RFCs, CPython's tests and others' MongoDBs say, in long
	HOLDFAST_OTHERS_CASES=$(OTHERS_CASES) $(VENV)/bin/python -m pytest -q Tests/Others
