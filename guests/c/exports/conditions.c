/* Exports `conditions`: compile this one file as well, and define `dg_examine`. */
#include "devgate.h"
#include "bindings/conditions.c"

bool exports_devgate_plugin_conditions_examine(dg_string *resource, exports_devgate_plugin_conditions_list_unit_t *units,
                                               dg_examined *conditions, dg_error *error) {
    return dg_examine(*resource, (dg_given_units){.ptr = units->ptr, .len = units->len}, conditions, error);
}
