/* Loads a library, uses it, unloads it, and does so again; its threads must be gone each time. */
#include <assert.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*double_all_t)(float *, long, char *);

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
    static float data[40000];
    assert(count == 2);
    for (int round = 0; round < 2; round++) {
        void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
        void *again = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
        double_all_t double_all;
        assert(library && again == library && !dlsym(library, "main"));
        double_all = (double_all_t)dlsym(library, "double_all");
        for (int i = 0; i < 40000; i++) data[i] = 1;
        assert(double_all(data, 40000, NULL) == 0 && data[0] == 2 && data[39999] == 2);
        dlclose(again);
        assert(is_mapped(words[1]) && threads() > 1);
        dlclose(library);
        assert(!is_mapped(words[1]) && threads() == 1);
    }
    puts("good");
    return 0;
}
