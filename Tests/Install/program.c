/* What a program of a user's does first, and its tests: it ends with 0 where what is installed works. */
#include <holdfast.h>
#include <holdfast/testing.h>

static int mock(void) {
    hf_mock_storage *storage = hf_mock_storage_create();
    hf_provider provider = hf_mock_storage_provider(storage);
    hf_store *store = NULL;
    hf_repository *songs = NULL;
    hf_mock_storage_fail(storage, HF_MOCK_SAVE, 1, "the disk is full");
    int is_right = hf_store_open_provider(&provider, NULL, &store, NULL) == HF_OK &&
                   hf_repository_open(store, "songs", NULL, &songs, NULL) == HF_OK &&
                   hf_repository_save(songs, NULL, "{\"id\": \"s1\"}", HF_NTS, NULL, NULL) == HF_HOST_ERROR;
    hf_repository_free(songs);
    hf_store_free(store);
    hf_mock_storage_free(storage);
    return is_right;
}

static int queue(void) {
    hf_store *store = NULL;
    hf_repository *songs = NULL;
    hf_transaction *transaction = NULL;
    hf_event event;
    int is_right = hf_store_open("memory:", "{\"delivery\": \"queue\"}", &store, NULL) == HF_OK &&
                   hf_repository_open(store, "songs", NULL, &songs, NULL) == HF_OK &&
                   hf_transaction_begin(store, NULL, &transaction, NULL) == HF_OK &&
                   hf_repository_save(songs, transaction, "{\"id\": \"s1\"}", HF_NTS, NULL, NULL) == HF_OK &&
                   hf_transaction_submit(transaction, NULL, NULL, NULL, NULL) == HF_OK &&
                   hf_store_events(store, &event, 1, 60000) == 1;
    if (is_right) {
        is_right = event.status == HF_OK;
        hf_events_free(&event, 1);
    }
    hf_transaction_free(transaction);
    hf_repository_free(songs);
    hf_store_free(store);
    return is_right;
}

int main(int argc, char **argv) {
    hf_store *store = NULL;
    hf_repository *songs = NULL;
    hf_entity song = HF_ENTITY_INIT;
    if (argc != 2 || hf_version_select(HF_API_VERSION, NULL) != HF_OK ||
        hf_store_open(argv[1], NULL, &store, NULL) != HF_OK ||
        hf_repository_open(store, "songs", NULL, &songs, NULL) != HF_OK ||
        hf_repository_save(songs, NULL, "{\"id\": \"s1\"}", HF_NTS, NULL, NULL) != HF_OK ||
        hf_repository_fetch(songs, NULL, "s1", HF_NTS, &song, NULL) != HF_OK ||
        hf_store_close(store, 60000, NULL) != HF_OK || !mock() || !queue())
        return 1;
    hf_entity_free(&song);
    hf_repository_free(songs);
    hf_store_free(store);
    return 0;
}
