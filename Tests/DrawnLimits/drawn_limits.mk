# The contract with limits of the library that are drawn from a seed, to be included by the top Makefile:
#
#     test-drawn-limits    once, what is quick
#     drawn-limits         DRAWS times, all of it
#
# Each program gets a draw of its own, which is printed where it fails; HOLDFAST_SEED and HOLDFAST_LIMITS run it with the same
# again. What tests a limit sets that itself.

DRAWS ?= 20
# With small limits syncs are many: where the system has a place in memory, the files lie there.
DRAWN_PLACE := $(firstword $(wildcard /dev/shm) /tmp)
# Left as they are shipped, because the tests know what these give: what takes snapshots back, which a transaction may notice;
# what makes a conflict of changes beside those that it read, and how long its next run waits for its turn; how soon a stream
# is behind, and into how many events a burst is told; how many entities a cursor gives at once, and an import commits; and how
# often a provider is asked.
DRAWN_EXCEPT := checkpointBytes,checkpointIdle,checkpointRetry,checkpointShortRetry,checkpointLongRetry
DRAWN_EXCEPT := $(DRAWN_EXCEPT),matchedIDs,checkedChanges,longestRetry
DRAWN_EXCEPT := $(DRAWN_EXCEPT),observerChanges,observerBytes,followerBytes,liveQueryEvents
DRAWN_EXCEPT := $(DRAWN_EXCEPT),pieceBytes,importEntities,importBytes,providerListings
DRAWN_CONTRACT := env HOLDFAST_TEST_PLACE=$(DRAWN_PLACE) TMPDIR=$(DRAWN_PLACE) $(DRAWN) --except=$(DRAWN_EXCEPT)

# What transactions, reads, writes and files must be, without waiting for much.
QUICK_ABI_TESTS := test_answers test_arguments test_close test_durability test_files test_fork test_indexes test_isolation \
    test_open_scopes test_operations test_participants test_queries test_query_options test_repository test_scopes \
    test_submitted_trees test_transaction test_transfer test_tree_commits test_updates test_upgrades test_validators
# These set all their limits themselves, count what the limits as they are shipped cost, or use up the memory.
UNDRAWN_ABI_TESTS := test_limits test_failed_syncs test_memory
DRAWN_ABI_TESTS = $(filter-out $(UNDRAWN_ABI_TESTS),$(ABI_TESTS))

DRAWN_PYTHON = $(DRAWN_CONTRACT) --python $(VENV)/bin/python -m pytest -q bindings/python/tests/conformance
DRAWN_SWIFT = $(DRAWN_CONTRACT) swift test --filter conforms

# Runs a command, and shows what it printed if it fails.
RUN_DRAWN = { $(1) > $(BUILD)/drawn-limits.txt 2>&1 || { cat $(BUILD)/drawn-limits.txt; failed="$$failed $(2)"; }; }
RUN_DRAWN_ABI = for test in $(1); do \
	    $(call RUN_DRAWN,$(DRAWN_CONTRACT) timeout 600 $(BUILD)/abi/$$test,$$test); \
	done

.PHONY: test-drawn-limits drawn-limits

test-drawn-limits: library $(addprefix $(BUILD)/abi/,$(QUICK_ABI_TESTS)) $(VENV)/tools ## The contract with drawn limits, once
	@failed=; \
	$(call RUN_DRAWN_ABI,$(QUICK_ABI_TESTS)); \
	$(call RUN_DRAWN,$(DRAWN_PYTHON) -k "not provider and not ten_thousand",python); \
	$(call RUN_DRAWN,$(DRAWN_SWIFT),swift); \
	if [ -n "$$failed" ]; then echo "FAILED:$$failed" >&2; exit 1; fi

drawn-limits: library $(addprefix $(BUILD)/abi/,$(DRAWN_ABI_TESTS)) $(VENV)/tools ## The contract with drawn limits, for long
	@failed=; \
	for draw in $$(seq $(DRAWS)); do \
	    $(call RUN_DRAWN_ABI,$(DRAWN_ABI_TESTS)); \
	    $(call RUN_DRAWN,$(DRAWN_PYTHON),python); \
	    $(call RUN_DRAWN,$(DRAWN_SWIFT),swift); \
	done; \
	if [ -n "$$failed" ]; then echo "FAILED:$$failed" >&2; exit 1; fi
