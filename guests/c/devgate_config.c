/*
 * Reads one setting from the policy's `config:`. The host gives it as JSON that it has written itself, so that it is well formed;
 * it is still read with care for where it ends. Parameters are what a tenant wrote, and are read strictly.
 */
#include "devgate.h"

#include <string.h>

typedef struct {
    const char *at, *end;
} reader;

static char peek(const reader *text) {
    return text->at < text->end ? *text->at : '\0';
}

/* Passes white space. */
static void blank(reader *text) {
    while (text->at < text->end && strchr(" \t\r\n", *text->at) != NULL) {
        text->at++;
    }
}

/* Whether the next thing that is not white space is this character, which is then passed. */
static bool pass(reader *text, char wanted) {
    blank(text);
    if (peek(text) != wanted) {
        return false;
    }
    text->at++;
    return true;
}

/* What is in a string, from behind its first quote on; escapes stay as they are, and `plain` says whether there are any. */
static dg_string string(reader *text, bool *plain) {
    const char *start = text->at;
    *plain = true;
    while (text->at < text->end && *text->at != '"') {
        bool escape = *text->at == '\\';
        *plain = *plain && !escape;
        text->at += escape && text->end - text->at > 1 ? 2 : 1;
    }
    dg_string found = {.ptr = (uint8_t *)start, .len = (size_t)(text->at - start)};
    if (text->at < text->end) {
        text->at++;
    }
    return found;
}

/* Passes a value of any kind. */
static void skip(reader *text) {
    size_t depth = 0;
    bool plain;
    do {
        if (pass(text, '"')) {
            string(text, &plain);
        } else if (peek(text) == '{' || peek(text) == '[') {
            depth++;
            text->at++;
        } else if (peek(text) == '}' || peek(text) == ']') {
            if (depth == 0) {
                return;
            }
            depth--;
            text->at++;
        } else if (depth == 0 && peek(text) == ',') {
            return;
        } else if (text->at < text->end) {
            text->at++;
        }
    } while (text->at < text->end && (depth > 0 || (peek(text) != ',' && peek(text) != '}')));
}

bool dg_config_text(const char *key, const char *fallback, dg_string *value, dg_error *error) {
    dg_string json;
    devgate_plugin_config_json(&json);
    reader text = {.at = (const char *)json.ptr, .end = (const char *)json.ptr + json.len};
    *value = dg_text(fallback);
    if (dg_equal(json, "null")) {
        return true;
    }
    if (!pass(&text, '{')) {
        return dg_fail(error, DG_INVALID, dg_text("config: is not a mapping"));
    }
    while (pass(&text, '"')) {
        bool plain;
        dg_string name = string(&text, &plain);
        pass(&text, ':');
        if (!plain || !dg_equal(name, key)) {
            skip(&text);
        } else if (pass(&text, '"')) {
            *value = string(&text, &plain);
            if (plain) {
                return true;
            }
            return dg_fail(error, DG_INVALID, dg_concat("config: ", key, " has an escape in it", NULL));
        } else {
            return dg_fail(error, DG_INVALID, dg_concat("config: ", key, " is no text", NULL));
        }
        pass(&text, ',');
    }
    return true;
}

/* Reads `"key": "text"` into the value of that key. */
static bool member(reader *text, const char *whose, size_t count, const char *const keys[], dg_string values[], dg_error *error) {
    bool plain = false;
    dg_string name = {0}, value = {0};
    if (pass(text, '"')) {
        name = string(text, &plain);
    }
    size_t at = 0;
    while (at < count && !dg_equal(name, keys[at])) {
        at++;
    }
    if (!plain || at == count) {
        return dg_fail(error, DG_INVALID, dg_concat(whose, ": ", dg_chars(name), ": is not known", NULL));
    }
    plain = false;
    if (pass(text, ':') && pass(text, '"')) {
        value = string(text, &plain);
    }
    if (!plain || values[at].ptr != NULL) {
        return dg_fail(error, DG_INVALID, dg_concat(whose, ": ", keys[at], ": is no text, has an escape in it, or is there twice", NULL));
    }
    values[at] = value;
    return true;
}

bool dg_setting_texts(dg_setting setting, size_t count, const char *const keys[], dg_string values[], dg_error *error) {
    const char *whose = setting.origin == DG_BY_CLAIM ? "the claim" : "the class";
    reader text = {.at = (const char *)setting.json.ptr, .end = (const char *)setting.json.ptr + setting.json.len};
    for (size_t i = 0; i < count; i++) {
        values[i] = (dg_string){0};
    }
    bool open = pass(&text, '{');
    bool closed = open && pass(&text, '}');
    while (open && !closed) {
        DG_TRY(member(&text, whose, count, keys, values, error));
        closed = pass(&text, '}');
        open = closed || pass(&text, ',');
    }
    blank(&text);
    if (!closed || text.at < text.end) {
        return dg_fail(error, DG_INVALID, dg_concat(whose, ": is not a mapping", NULL));
    }
    return true;
}
