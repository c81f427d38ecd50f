# How cost grows, to be included by the top Makefile, which says where the library is:
#
#     test-growth    some verbs, for every test run; the seed that chose them is printed
#     growth         all of them, of three sizes: a table, and .build/growth.json

GROWTH := $(BUILD)/growth/growth

$(GROWTH): Tests/Growth/growth.c Tests/Growth/aggregates.c Tests/Growth/live_queries.c Tests/Growth/payloads.c \
    Tests/Growth/growth.h
	@mkdir -p $(dir $@)
	$(CC) -std=c99 -O1 $(C_TEST_FLAGS) $(filter %.c,$^) -o $@ $(LINKED) -pthread

.PHONY: test-growth growth

test-growth: library $(GROWTH) ## Whether cost grows as it may, in instructions, for a sample of verbs
	$(PYTHON) Tests/Growth/growth.py $(GROWTH) --sample 6

growth: dependencies library $(GROWTH) ## How the cost of every verb grows, in instructions, into .build/growth.json
	$(PYTHON) Tests/Growth/growth.py $(GROWTH) --sizes 3 --output $(BUILD)/growth.json
