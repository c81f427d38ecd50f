# Forks and threads that get in each other's way, to be included by the top Makefile, which says where the library
# is:
#
#     test-races    samples, for every test run
#     races         as long as it takes

RACES_BUILD := $(BUILD)/races
RACES_PROGRAMS := $(addprefix $(RACES_BUILD)/,forks races)

$(RACES_BUILD)/%: Tests/Races/%.c Tests/ABI/every_function.c Tests/ABI/every_function.h $(HEADERS)
	@mkdir -p $(RACES_BUILD)
	$(CC) -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -Iinclude $(filter %.c,$^) -o $@ \
	    -L$(LIBRARY_DIRECTORY) -lholdfast -Wl,-rpath,$(LIBRARY_DIRECTORY) -lsqlite3 -pthread

.PHONY: test-races races

test-races: library $(RACES_PROGRAMS) ## Forks beside busy threads, calls against close and free, a sample
	$(RACES_BUILD)/forks 100
	$(RACES_BUILD)/races 5

races: library $(RACES_PROGRAMS) ## Forks beside busy threads, calls against close and free, for long
	$(RACES_BUILD)/forks 5000
	$(RACES_BUILD)/races 600
