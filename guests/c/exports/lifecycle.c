/* Exports `lifecycle`: compile this one file as well, and define `dg_prepare` and `dg_release`. */
#include "devgate.h"
#include "bindings/lifecycle.c"

bool exports_devgate_plugin_lifecycle_prepare(dg_string *resource, exports_devgate_plugin_lifecycle_list_unit_t *units, dg_error *error) {
    return dg_prepare(*resource, (dg_given_units){.ptr = units->ptr, .len = units->len}, error);
}

bool exports_devgate_plugin_lifecycle_release(dg_string *resource, exports_devgate_plugin_lifecycle_list_unit_t *units, dg_error *error) {
    return dg_release(*resource, (dg_given_units){.ptr = units->ptr, .len = units->len}, error);
}
