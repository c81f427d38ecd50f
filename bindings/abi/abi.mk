ABI = $(VENV)/bin/python bindings/abi/generate.py $(VERSION) $(SONAME)

.PHONY: abi abi-released

abi: $(VENV)/tools ## Derives bindings/abi/holdfast-abi.json from the headers, and from that the tables of the bindings
	$(ABI)

# Once a version is out, its contract is what later ones must not break while the soname stays.
abi-released: $(VENV)/tools ## Notes the contract as the last release's
	$(ABI) --release

test-contract: $(VENV)/tools ## The contract as data: what it tells, and what breaks it
	$(VENV)/bin/python -m pytest -q -p no:cacheprovider Tests/Contract
