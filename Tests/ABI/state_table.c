#include "state_table.h"

enum { MOST_CALLS = 32, ANSWER_SIZE = 64, TEXT_SIZE = 2048 };

static void append(char *text, const char *part) {
    size_t length = strlen(text);
    snprintf(text + length, TEXT_SIZE - length, "%s", part);
}

static void describe_row(const state_table *table, const state_row *row, void *context, char *text) {
    char answers[MOST_CALLS][ANSWER_SIZE] = {{0}};
    assert_true(table->call_count <= MOST_CALLS);
    for (size_t i = 0; i < table->call_count; i++) {
        table->run(row, i, context, answers[i], ANSWER_SIZE);
        assert_true(answers[i][0] != '\0'); /* the state was brought about */
    }
    text[0] = '\0';
    for (size_t i = 0; i < table->call_count; i++) {
        if (answers[i][0] == '\0')
            continue; /* told with an earlier one */
        append(text, text[0] == '\0' ? "" : "; ");
        append(text, answers[i]), append(text, ":");
        for (size_t k = i + 1; k <= table->call_count; k++) {
            size_t call = k == i + 1 ? i : k - 1;
            if (call != i && strcmp(answers[call], answers[i]) != 0)
                continue;
            append(text, " "), append(text, table->calls[call]);
            if (call != i)
                answers[call][0] = '\0';
        }
    }
}

/* As a literal of C, in lines that fit. */
static void show(const char *state, const char *text) {
    enum { WIDTH = 96 };
    fprintf(stderr, "%s:\n", state);
    while (*text != '\0') {
        size_t length = strlen(text);
        if (length > WIDTH) {
            length = WIDTH;
            while (text[length - 1] != ' ')
                length--;
        }
        fprintf(stderr, "     \"%.*s\"\n", (int)length, text);
        text += length;
    }
}

void check_state_table(const state_table *table, void *context) {
    size_t differing = 0;
    for (size_t i = 0; i < table->row_count; i++) {
        char text[TEXT_SIZE];
        describe_row(table, &table->rows[i], context, text);
        if (strcmp(text, table->rows[i].answers) != 0) {
            show(table->rows[i].state, text);
            differing++;
        }
    }
    if (differing > 0)
        fail_msg("%zu states answer otherwise than the table says", differing);
}
