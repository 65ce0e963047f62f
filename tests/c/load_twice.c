/* Loads a library, uses it from several threads at once, unloads it, and does so again; its threads must be gone each
   time. */
#include <assert.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef int (*double_all_t)(float *, long, char *);

enum { COUNT = 40000, THREADS = 3 };

static double_all_t double_all;
static pthread_barrier_t barrier;

static void *use(void *given) {
    static __thread float data[COUNT];
    for (int i = 0; i < COUNT; i++) data[i] = 1;
    pthread_barrier_wait(&barrier); /* the library has done nothing before */
    assert(double_all(data, COUNT, NULL) == 0 && data[0] == 2 && data[COUNT - 1] == 2);
    return given;
}

static int threads(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    while (readdir(folder)) count++;
    closedir(folder);
    return count - 2;
}

static int is_mapped(const char *name) {
    char line[1024];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) found |= strstr(line, name) != NULL;
    fclose(maps);
    return found;
}

int main(int count, char **words) {
    pthread_t users[THREADS];
    assert(count == 2);
    for (int round = 0; round < 2; round++) {
        void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
        void *again = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
        assert(library && again == library && !dlsym(library, "main"));
        double_all = (double_all_t)dlsym(library, "double_all");
        pthread_barrier_init(&barrier, NULL, THREADS);
        for (int i = 0; i < THREADS; i++) assert(pthread_create(&users[i], NULL, use, NULL) == 0);
        for (int i = 0; i < THREADS; i++) assert(pthread_join(users[i], NULL) == 0);
        dlclose(again);
        assert(is_mapped(words[1]) && threads() > 1);
        dlclose(library);
        assert(!is_mapped(words[1]) && threads() == 1);
    }
    puts("good");
    return 0;
}
