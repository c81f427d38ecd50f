# Planted bugs, to be included by the top Makefile:
#
#     test-mutants    whether each still applies, for every test run
#     mutants         which test finds each, and in how long; MUTANTS="name folder" for some, JOBS=2 at a time, and
#                     EXPECTED=1 to ask only those tests that are expected to. MUTANTS_SAMPLE=30 draws so many of them, by
#                     HOLDFAST_SEED, which is printed, and UNHINTED=6 looks for the last so many of them without asking
#                     first who is expected
#
# Each patch in a folder here is a bug that somebody could have made. It begins with the promise that it breaks and ends
# its prose with who should notice, by the names that commands.py explains:
#
#     A savepoint's rollback takes writes back and never reads: what was decided by them is still a conflict.
#     Found by abi/test_isolation, python/test_nested.py
#
#     --- a/Sources/HoldfastCore/Transactions/…
#
# All are built into one copy of the sources, so each stands behind a question by the name of its file, which the code
# of switch.patch answers by the environment variable HOLDFAST_MUTANT:
#
#     if mutant("savepoint-forgets-reads") { … }              Swift, in every module of the library
#     if (hfpayload_mutant("plain-takes-control-characters")) …   C, in CHoldfastPayload
#     if (hfplatform_mutant("wait-spins")) …                      C, in CHoldfastPlatform
#     from holdfast._mutant import mutant                     Python, imported where it is asked
#
# Patches apply to the sources as they are, alone and together: two in one place need a line of their own, and the fewest
# lines of context that find it (diff -U1). A bug that no test finds is a test to write.

MUTANTS ?=
MUTANTS_SAMPLE ?=
UNHINTED ?=
JOBS ?= 2

.PHONY: mutants test-mutants

test-mutants: ## Whether the planted bugs still apply
	$(PYTHON) Tests/Mutants/mutants.py --check

mutants: dependencies $(VENV)/tools ## Which test finds each planted bug, or MUTANTS="…", JOBS=2 at once
	$(PYTHON) Tests/Mutants/mutants.py --jobs $(JOBS) $(if $(EXPECTED),--expected) \
	    $(if $(MUTANTS_SAMPLE),--sample $(MUTANTS_SAMPLE)) $(if $(UNHINTED),--unhinted $(UNHINTED)) $(MUTANTS)
