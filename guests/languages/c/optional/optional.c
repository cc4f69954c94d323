/* What the widget in C may export besides: each function is called where the file of the same interface in `exports/` is compiled. */
#include "devgate.h"

/* A handle of the widget beneath a unit's card, and what its status reads. */
static bool status(dg_unit unit, dg_string *reads, dg_error *error) {
    dg_devices widgets;
    DG_TRY(dg_children(unit.backing.ptr[0], "widget", &widgets, error));
    if (widgets.len == 0) {
        return dg_fail(error, DG_GONE, dg_concat(dg_chars(unit.id), ": its driver does not know it any more", NULL));
    }
    return dg_attribute(widgets.ptr[0], "status", reads, error);
}

static bool has(dg_strings ids, dg_string id) {
    for (size_t i = 0; i < ids.len; i++) {
        if (dg_equal(ids.ptr[i], dg_chars(id))) {
            return true;
        }
    }
    return false;
}

/* preference: what must be taken, then the last ones of the list. */
bool dg_choose(dg_string resource, dg_given_units available, dg_strings must_include, uint32_t size, dg_strings *chosen, dg_error *error) {
    (void)resource, (void)error;
    chosen->ptr = dg_alloc(must_include.len + available.len, sizeof *chosen->ptr);
    chosen->len = 0;
    for (size_t i = 0; i < must_include.len; i++) {
        chosen->ptr[chosen->len++] = must_include.ptr[i];
    }
    for (size_t i = available.len; i > 0 && chosen->len < size; i--) {
        if (!has(must_include, available.ptr[i - 1].id)) {
            chosen->ptr[chosen->len++] = available.ptr[i - 1].id;
        }
    }
    return true;
}

/* lifecycle: a widget that is not well now may be, the next time. */
bool dg_prepare(dg_string resource, dg_given_units units, dg_error *error) {
    (void)resource;
    for (size_t i = 0; i < units.len; i++) {
        dg_string reads;
        DG_TRY(status(units.ptr[i], &reads, error));
        if (!dg_equal(reads, "ok")) {
            return dg_fail(error, DG_BUSY, dg_concat(dg_chars(units.ptr[i].id), " is ", dg_chars(reads), NULL));
        }
    }
    return true;
}

bool dg_release(dg_string resource, dg_given_units units, dg_error *error) {
    (void)resource, (void)error;
    for (size_t i = 0; i < units.len; i++) {
        dg_log(DG_WARN, dg_concat(dg_chars(units.ptr[i].id), " is released", NULL));
    }
    return true;
}

/* parameters: the first that says a mode is heard, and no claim gets what its class does not leave to it. */
bool dg_allocate_with(dg_string resource, dg_given_units units, dg_settings settings, dg_edits *edits, dg_error *error) {
    static const char *const keys[] = {"mode"};
    DG_TRY(dg_allocate(resource, units, edits, error));
    for (size_t i = 0, heard = 0; i < settings.len; i++) {
        dg_string mode;
        DG_TRY(dg_setting_texts(settings.ptr[i], 1, keys, &mode, error));
        if (mode.ptr == NULL) {
            continue;
        }
        if (!dg_equal(mode, "fast") && !dg_equal(mode, "safe")) {
            return dg_fail(error, DG_INVALID, dg_text("mode is neither fast nor safe"));
        }
        if (heard++ == 0) {
            edits->env.ptr[0].value = mode;
        }
    }
    return true;
}

/* conditions: a widget that is not well gets no new claim, and old firmware is said. */
static bool examined(dg_unit unit, dg_conditions *conditions, dg_error *error) {
    dg_string reads, firmware;
    conditions->ptr = dg_alloc(2, sizeof *conditions->ptr);
    conditions->len = 0;
    DG_TRY(status(unit, &reads, error));
    if (!dg_equal(reads, "ok")) {
        conditions->ptr[conditions->len++] = (dg_condition){
            .key = dg_text("not-well"), .effect = DG_NO_NEW, .message = dg_concat("status reads ", dg_chars(reads), NULL)};
    }
    if (dg_property_of(unit, "firmware", &firmware) && dg_equal(firmware, "2.4.0")) {
        conditions->ptr[conditions->len++] = (dg_condition){
            .key = dg_text("old-firmware"), .effect = DG_INFORM, .message = dg_text("2.4.1 is there")};
    }
    return true;
}

bool dg_examine(dg_string resource, dg_given_units units, dg_examined *conditions, dg_error *error) {
    (void)resource;
    conditions->ptr = dg_alloc(units.len, sizeof *conditions->ptr);
    conditions->len = units.len;
    for (size_t i = 0; i < units.len; i++) {
        DG_TRY(examined(units.ptr[i], &conditions->ptr[i], error));
    }
    return true;
}
