/* The helpers of devgate.h. */
#include "devgate.h"

#include <stdlib.h>
#include <string.h>

static devgate_plugin_types_borrow_device_t borrowed(dg_device device) {
    return (devgate_plugin_types_borrow_device_t){.__handle = device.__handle};
}

void *dg_alloc(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (memory == NULL && count != 0 && size != 0) {
        dg_log(DG_ERROR, dg_text("out of memory"));
        abort();
    }
    return memory;
}

dg_string dg_text(const char *text) {
    return (dg_string){.ptr = (uint8_t *)text, .len = strlen(text)};
}

dg_string dg_concat(const char *first, ...) {
    va_list parts;
    size_t len = 0;
    va_start(parts, first);
    for (const char *part = first; part != NULL; part = va_arg(parts, const char *)) {
        len += strlen(part);
    }
    va_end(parts);
    dg_string whole = {.ptr = dg_alloc(len + 1, 1), .len = 0};
    va_start(parts, first);
    for (const char *part = first; part != NULL; part = va_arg(parts, const char *)) {
        size_t more = strlen(part);
        memcpy(whole.ptr + whole.len, part, more);
        whole.len += more;
    }
    va_end(parts);
    return whole;
}

const char *dg_chars(dg_string text) {
    char *copy = dg_alloc(text.len + 1, 1);
    if (text.len > 0) {
        memcpy(copy, text.ptr, text.len);
    }
    return copy;
}

bool dg_equal(dg_string text, const char *other) {
    return text.len == strlen(other) && memcmp(text.ptr, other, text.len) == 0;
}

bool dg_not_granted(const dg_error *error) {
    return error->kind == DG_DENIED && dg_equal(error->code, "not-granted");
}

bool dg_fail(dg_error *error, int kind, dg_string message) {
    *error = (dg_error){.kind = (uint8_t)kind, .message = message};
    return false;
}

void dg_log(int level, dg_string message) {
    devgate_plugin_log_write((uint8_t)level, &message);
}

/* What `assert` calls where its condition does not hold, in the place of the C library's, which prints: the admin reads it. */
void __assert_fail(const char *condition, const char *file, int line, const char *function) {
    char digits[12] = {0};
    char *number = digits + sizeof digits - 1;
    for (; line > 0; line /= 10) {
        *--number = (char)('0' + line % 10);
    }
    dg_log(DG_ERROR, dg_concat(file, ":", number, ": ", function, ": assertion failed: ", condition, NULL));
    __builtin_trap();
}

bool dg_devices_of(const char *subsystem, dg_devices *devices, dg_error *error) {
    dg_string name = dg_text(subsystem);
    devgate_plugin_hardware_list_own_device_t found;
    DG_TRY(devgate_plugin_hardware_devices(&name, &found, error));
    *devices = (dg_devices){.ptr = found.ptr, .len = found.len};
    return true;
}

bool dg_children(dg_device device, const char *subsystem, dg_devices *children, dg_error *error) {
    dg_string name = dg_text(subsystem);
    return devgate_plugin_types_method_device_children(borrowed(device), &name, children, error);
}

bool dg_attribute(dg_device device, const char *path, dg_string *value, dg_error *error) {
    dg_string name = dg_text(path);
    return devgate_plugin_types_method_device_attribute(borrowed(device), &name, value, error);
}

bool dg_link(dg_device device, const char *path, dg_string *name, dg_error *error) {
    dg_string link = dg_text(path);
    return devgate_plugin_types_method_device_link(borrowed(device), &link, name, error);
}

bool dg_nodes_of(dg_device device, dg_nodes *nodes, dg_error *error) {
    return devgate_plugin_types_method_device_nodes(borrowed(device), nodes, error);
}

bool dg_driver(dg_device device, dg_string *driver) {
    return devgate_plugin_types_method_device_driver(borrowed(device), driver);
}

dg_string dg_name(dg_device device) {
    dg_string name;
    devgate_plugin_types_method_device_name(borrowed(device), &name);
    return name;
}

dg_device dg_duplicate(dg_device device) {
    return devgate_plugin_types_method_device_duplicate(borrowed(device));
}

dg_unit dg_unit_of(dg_string id, dg_device device, dg_nodes nodes, size_t properties) {
    dg_unit unit = {.id = id, .nodes = nodes};
    unit.backing.ptr = dg_alloc(1, sizeof *unit.backing.ptr);
    unit.backing.ptr[0] = device;
    unit.backing.len = 1;
    unit.properties.ptr = dg_alloc(properties, sizeof *unit.properties.ptr);
    return unit;
}

void dg_add(dg_properties *list, const char *name, dg_string value) {
    list->ptr[list->len++] = (dg_property){.name = dg_text(name), .value = value};
}

void dg_unread(dg_string *names, dg_string name) {
    enum { MOST = 4096 };
    if (names->ptr == NULL) {
        names->ptr = dg_alloc(MOST, 1);
    }
    size_t between = names->len > 0 ? 1 : 0;
    if (name.len == 0 || name.len > MOST - between || names->len > MOST - between - name.len) {
        return;
    }
    if (between > 0) {
        names->ptr[names->len] = ' ';
    }
    memcpy(names->ptr + names->len + between, name.ptr, name.len);
    names->len += between + name.len;
}

bool dg_property_of(dg_unit unit, const char *name, dg_string *value) {
    for (size_t i = 0; i < unit.properties.len; i++) {
        if (dg_equal(unit.properties.ptr[i].name, name)) {
            *value = unit.properties.ptr[i].value;
            return true;
        }
    }
    return false;
}

dg_verdict dg_healthy(void) {
    return (dg_verdict){.tag = DEVGATE_PLUGIN_TYPES_VERDICT_HEALTHY};
}

dg_verdict dg_unhealthy(dg_string reason) {
    return (dg_verdict){.tag = DEVGATE_PLUGIN_TYPES_VERDICT_UNHEALTHY, .val.unhealthy = reason};
}

dg_verdict dg_unknown(dg_string reason) {
    return (dg_verdict){.tag = DEVGATE_PLUGIN_TYPES_VERDICT_UNKNOWN, .val.unknown = reason};
}

/* The exports, under their short names. */

bool exports_devgate_plugin_plugin_enumerate(dg_pools *pools, dg_error *error) {
    return dg_enumerate(pools, error);
}

bool exports_devgate_plugin_plugin_health(dg_string *resource, dg_given_units *units, dg_verdicts *verdicts, dg_error *error) {
    return dg_health(*resource, *units, verdicts, error);
}

bool exports_devgate_plugin_plugin_allocate(dg_string *resource, dg_given_units *units, dg_edits *edits, dg_error *error) {
    return dg_allocate(*resource, *units, edits, error);
}
