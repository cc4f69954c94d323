/*
 * Reads one setting from the policy's `config:`. The host gives it as JSON that it has written itself, so that it is well formed;
 * it is still read with care for where it ends.
 */
#include "devgate.h"

#include <string.h>

typedef struct {
    const char *at, *end;
} reader;

static char peek(const reader *text) {
    return text->at < text->end ? *text->at : '\0';
}

/* Whether the next thing that is not white space is this character, which is then passed. */
static bool pass(reader *text, char wanted) {
    while (text->at < text->end && strchr(" \t\r\n", *text->at) != NULL) {
        text->at++;
    }
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
