/* Exports `parameters`: compile this one file as well, and define `dg_allocate_with`. */
#include "devgate.h"
#include "bindings/parameters.c"

bool exports_devgate_plugin_parameters_allocate_with(dg_string *resource, exports_devgate_plugin_parameters_list_unit_t *units,
                                                     dg_settings *settings, dg_edits *edits, dg_error *error) {
    return dg_allocate_with(*resource, (dg_given_units){.ptr = units->ptr, .len = units->len}, *settings, edits, error);
}
