/* What a program of a user's does first: it ends with 0 where the installed library works. */
#include <holdfast.h>

int main(int argc, char **argv) {
    hf_store *store = NULL;
    hf_repository *songs = NULL;
    hf_entity song = HF_ENTITY_INIT;
    if (argc != 2 || hf_version_select(HF_API_VERSION, NULL) != HF_OK ||
        hf_store_open(argv[1], NULL, &store, NULL) != HF_OK ||
        hf_repository_open(store, "songs", NULL, &songs, NULL) != HF_OK ||
        hf_repository_save(songs, NULL, "{\"id\": \"s1\"}", HF_NTS, NULL, NULL) != HF_OK ||
        hf_repository_fetch(songs, NULL, "s1", HF_NTS, &song, NULL) != HF_OK ||
        hf_store_close(store, 60000, NULL) != HF_OK)
        return 1;
    hf_entity_free(&song);
    hf_repository_free(songs);
    hf_store_free(store);
    return 0;
}
