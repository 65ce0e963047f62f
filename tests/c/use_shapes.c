/* Calls everything in shapes.kpy; also compiled as C++. */
#include "shapes.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 100000 };

static void *work(void *given) {
    float *data = (float *)malloc(COUNT * sizeof *data);
    int round;
    for (int i = 0; i < COUNT; i++) data[i] = (float)(i % 7);
    for (round = 0; round < 20; round++) {
        ktc_error error;
        double root_of = 0;
        assert(double_all(data, COUNT, &error) == KTC_OK);
        for (int i = 0; i < COUNT; i++) data[i] /= 2;
        assert(root(-1, &root_of, &error) == KTC_RAISED && root_of == 0);
    }
    for (int i = 0; i < COUNT; i++) assert(data[i] == (float)(i % 7));
    assert(sum_all(data, 70) == 210);
    free(data);
    return given;
}

static int32_t next(int32_t x) { return x + 1; }

static void add_user(int32_t *at, void *user) { *at += *(int32_t *)user; }

static void check_functions(void) {
    int32_t data[] = {3, 1, 2}, ten = 10;
    int (*order)(const void *, const void *) = (int (*)(const void *, const void *))(void (*)(void))compare;
    Stack *stack = stack_new();
    Unused unused = {true, NULL, next};
    assert(unused.step(1) == 2 && twice(next, 5) == 7 && tripling()(7) == 21 && twice(tripling(), 2) == 18);
    visit(data, 3, add_user, &ten);
    qsort(data, 3, sizeof *data, order);
    assert(data[0] == 11 && data[1] == 12 && data[2] == 13);
    assert(stack_push(stack, 1).code == Failure_NONE && stack_push(stack, 2).code == Failure_NONE);
    assert(stack_push(stack, 3).code == Failure_FULL);
    stack_free(stack);
    assert(text_length("hello") == 5);
}

int main(void) {
    Point p = {3, 4};
    Point a = {1, 2}, q = ktc_scaled(p, 2);
    Node last = {40, NULL}, first = {2, &last};
    Mixed m, n;
    ktc_error error;
    ktc_text text = {"h\xc3\xa9llo", 6};
    double result = 7;
    pthread_t threads[4];
    check_functions();
    assert(add(40, 2) == 42 && add(-3, 1) == -2);
    assert(q.x == 6 && q.y == 8);
    memset(&m, 0, sizeof m);
    m.tag = 255, m.default_ = -3, m.weight = 1.5f, m.inner = p, m.cells[0] = 7, m.cells[2] = 9, m.is_set = true;
    n = turned(m);
    assert(n.tag == 0 && n.default_ == 3 && n.weight == 3 && n.inner.x == 4 && n.inner.y == 3);
    assert(n.cells[0] == 9 && n.cells[1] == 0 && n.cells[2] == 7 && !n.is_set);
    assert(narrow(-5, 250, -300, 40000, true) == -5 && narrow(1, 2, -3, 4, false) == 3);
    assert(many(a, a, a, a, a, 1, 2, 3, 4, 5, last) == 1 + 2 + 1 + 2 + 3 + 15 + 40);
    assert(total(&first) == 42);
    move_right(&p, 0.5);
    assert(p.x == 3.5 && p.y == 4);
    assert(root(2.25, &result, &error) == KTC_OK && result == 1.5);
    assert(root(-1, NULL, NULL) == KTC_RAISED && root(4, NULL, NULL) == KTC_OK);
    assert(root(-1, &result, &error) == KTC_RAISED && result == 1.5);
    assert(strncmp(error.text, "no root of -1.0 \xc3\xa9 \xc3\xa9", 21) == 0 && strlen(error.text) >= 509);
    assert(((unsigned char)error.text[strlen(error.text) - 1] & 0xC0) != 0xC0);
    assert(checked(41, &error) == KTC_RAISED && strcmp(error.text, "not 42 but 41") == 0);
    assert(checked(42, &error) == KTC_OK);
    assert(origin(&q, NULL) == KTC_OK && q.x == 0.5 && q.y == -0.5);
    assert(length(text) == 8);
    for (int i = 0; i < 4; i++) assert(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < 4; i++) assert(pthread_join(threads[i], NULL) == 0);
    puts("good");
    return 0;
}
