/*
 * A component for devgate in C: the contract under short names, and the few helpers that every component wants.
 *
 * `devgate_bindings.h` has every type and function with its documentation, and is generated; this header is written by hand.
 * A component defines three functions, `dg_enumerate`, `dg_health` and `dg_allocate`; and those of the optional interfaces whose
 * file in `exports/` is compiled as well.
 *
 * - Every call runs in a fresh instance: nothing that is kept in static variables lasts, and nothing needs to be freed. All memory
 *   goes when the call ends, and so do all handles.
 * - Functions that can fail give `true`, or `false` and an error. DG_TRY passes it on.
 * - A handle can be given away once: what is in a list that the host passed in, or that is returned twice, ends the call. Take
 *   another handle with `dg_duplicate`.
 * - Nothing here prints: `printf` brings 30 KB, and wants `devgatectl pack`, which makes lines of the log of it. Use `dg_log`.
 * - `assert` tells the admin what did not hold, with file and line, and ends the call.
 */
#ifndef DEVGATE_H
#define DEVGATE_H

#include "devgate_bindings.h"
#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Plain data. */
typedef devgate_bindings_string_t dg_string;
typedef devgate_plugin_types_error_t dg_error;
typedef devgate_plugin_types_property_t dg_property;
typedef devgate_plugin_types_unit_t dg_unit;
typedef devgate_plugin_types_pool_t dg_pool;
typedef devgate_plugin_types_verdict_t dg_verdict;
typedef devgate_plugin_types_edits_t dg_edits;
typedef exports_devgate_plugin_parameters_setting_t dg_setting;
typedef exports_devgate_plugin_conditions_condition_t dg_condition;

/* Handles. */
typedef devgate_plugin_types_own_device_t dg_device;
typedef devgate_plugin_types_own_node_t dg_node;
typedef devgate_plugin_types_own_mount_source_t dg_mount;

/* Lists: `ptr` and `len`. */
typedef devgate_plugin_types_list_own_device_t dg_devices;
typedef devgate_plugin_types_list_own_node_t dg_nodes;
typedef devgate_plugin_types_list_property_t dg_properties;
typedef devgate_plugin_types_list_unit_t dg_units;
typedef devgate_bindings_list_string_t dg_strings;
typedef exports_devgate_plugin_plugin_list_unit_t dg_given_units;
typedef exports_devgate_plugin_plugin_list_pool_t dg_pools;
typedef exports_devgate_plugin_plugin_list_verdict_t dg_verdicts;
typedef exports_devgate_plugin_parameters_list_setting_t dg_settings;
typedef exports_devgate_plugin_conditions_list_condition_t dg_conditions;
typedef exports_devgate_plugin_conditions_list_list_condition_t dg_examined; /* the conditions of each unit */

/* What kind of failure (`kind` of an error). */
enum {
    DG_DENIED = DEVGATE_PLUGIN_TYPES_ERROR_KIND_DENIED,
    DG_NOT_FOUND = DEVGATE_PLUGIN_TYPES_ERROR_KIND_NOT_FOUND,
    DG_GONE = DEVGATE_PLUGIN_TYPES_ERROR_KIND_GONE,
    DG_INVALID = DEVGATE_PLUGIN_TYPES_ERROR_KIND_INVALID,
    DG_IO = DEVGATE_PLUGIN_TYPES_ERROR_KIND_IO,
    DG_LIMIT = DEVGATE_PLUGIN_TYPES_ERROR_KIND_LIMIT,
    DG_BUSY = DEVGATE_PLUGIN_TYPES_ERROR_KIND_BUSY,
    DG_UNSUPPORTED = DEVGATE_PLUGIN_TYPES_ERROR_KIND_UNSUPPORTED,
    DG_OTHER = DEVGATE_PLUGIN_TYPES_ERROR_KIND_OTHER,
};

/* How much a line of the log matters. */
enum {
    DG_DEBUG = DEVGATE_PLUGIN_LOG_LEVEL_DEBUG,
    DG_INFO = DEVGATE_PLUGIN_LOG_LEVEL_INFO,
    DG_WARN = DEVGATE_PLUGIN_LOG_LEVEL_WARN,
    DG_ERROR = DEVGATE_PLUGIN_LOG_LEVEL_ERROR,
};

/* Who wrote parameters (`origin` of a setting). */
enum {
    DG_BY_CLASS = EXPORTS_DEVGATE_PLUGIN_PARAMETERS_ORIGIN_CLASS,
    DG_BY_CLAIM = EXPORTS_DEVGATE_PLUGIN_PARAMETERS_ORIGIN_CLAIM,
};

/* What a condition asks for (`effect` of a condition). */
enum {
    DG_INFORM = EXPORTS_DEVGATE_PLUGIN_CONDITIONS_EFFECT_INFORM,
    DG_NO_NEW = EXPORTS_DEVGATE_PLUGIN_CONDITIONS_EFFECT_NO_NEW,
    DG_EVICT = EXPORTS_DEVGATE_PLUGIN_CONDITIONS_EFFECT_EVICT,
};

/* What a component exports. */
bool dg_enumerate(dg_pools *pools, dg_error *error);
bool dg_health(dg_string resource, dg_given_units units, dg_verdicts *verdicts, dg_error *error);
bool dg_allocate(dg_string resource, dg_given_units units, dg_edits *edits, dg_error *error);

/* What it exports besides, each where the file of that name is compiled. */
/* exports/preference.c */
bool dg_choose(dg_string resource, dg_given_units available, dg_strings must_include, uint32_t size, dg_strings *chosen, dg_error *error);
/* exports/lifecycle.c */
bool dg_prepare(dg_string resource, dg_given_units units, dg_error *error);
bool dg_release(dg_string resource, dg_given_units units, dg_error *error);
/* exports/parameters.c */
bool dg_allocate_with(dg_string resource, dg_given_units units, dg_settings settings, dg_edits *edits, dg_error *error);
/* exports/conditions.c: `conditions` has a list for each unit, in their order. */
bool dg_examine(dg_string resource, dg_given_units units, dg_examined *conditions, dg_error *error);

/* Passes an error on: `DG_TRY(dg_attribute(device, "serial", &serial, error));` */
#define DG_TRY(call)          \
    do {                      \
        if (!(call)) {        \
            return false;     \
        }                     \
    } while (0)

/* Text. A `dg_string` has no NUL at its end. */
dg_string dg_text(const char *text);
dg_string dg_concat(const char *first, ...) __attribute__((sentinel)); /* of `const char *`, ended by NULL */
const char *dg_chars(dg_string text);                                  /* a copy with NUL at its end */
bool dg_equal(dg_string text, const char *other);

/* Zeroed memory for `count` of `size` bytes; ends the call where there is none. */
void *dg_alloc(size_t count, size_t size);

/* Whether the policy does not grant the interface at all, which the component can do without (devgatectl pack --optional). */
bool dg_not_granted(const dg_error *error);
/* Fills in an error, and gives false. */
bool dg_fail(dg_error *error, int kind, dg_string message);
/* One line for the admin's log. */
void dg_log(int level, dg_string message);

/* What the host has; all of what the policy grants. */
bool dg_devices_of(const char *subsystem, dg_devices *devices, dg_error *error);
bool dg_children(dg_device device, const char *subsystem, dg_devices *children, dg_error *error);
bool dg_attribute(dg_device device, const char *path, dg_string *value, dg_error *error);
bool dg_link(dg_device device, const char *path, dg_string *name, dg_error *error);
bool dg_nodes_of(dg_device device, dg_nodes *nodes, dg_error *error);
bool dg_driver(dg_device device, dg_string *driver); /* false where none is bound */
dg_string dg_name(dg_device device);
dg_device dg_duplicate(dg_device device);

/* A unit of this id, made of one device and handing out these nodes, with room for `properties` more. */
dg_unit dg_unit_of(dg_string id, dg_device device, dg_nodes nodes, size_t properties);
/* Adds a property; a list made by `dg_unit_of` or with `dg_alloc` must have room. */
void dg_add(dg_properties *list, const char *name, dg_string value);
/* Adds a device's name to what a pool's property `devgate.unread` holds, as long as there is room: 4,096 bytes. */
void dg_unread(dg_string *names, dg_string name);
/* The value of a property of a unit; false where it has none. */
bool dg_property_of(dg_unit unit, const char *name, dg_string *value);

/* Verdicts. */
dg_verdict dg_healthy(void);
dg_verdict dg_unhealthy(dg_string reason);
dg_verdict dg_unknown(dg_string reason);

/*
 * The text of one key of the policy's `config:`; `fallback` where the key is not there. Fails with DG_INVALID where its value
 * is no plain text, or `config:` is no mapping. Enough for settings; for more, bring a parser of JSON and `devgate_plugin_config_json`.
 */
bool dg_config_text(const char *key, const char *fallback, dg_string *value, dg_error *error);
/*
 * The texts of these keys of a setting, each with `ptr` NULL where it is not there. What else there is in it fails with DG_INVALID:
 * a pod must not start with something else than it asked for.
 */
bool dg_setting_texts(dg_setting setting, size_t count, const char *const keys[], dg_string values[], dg_error *error);

#endif
