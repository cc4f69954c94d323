/* Exports `preference`: compile this one file as well, and define `dg_choose`. */
#include "devgate.h"
#include "bindings/preference.c"

bool exports_devgate_plugin_preference_choose(dg_string *resource, exports_devgate_plugin_preference_list_unit_t *available,
                                              dg_strings *must_include, uint32_t size, dg_strings *chosen, dg_error *error) {
    dg_given_units units = {.ptr = available->ptr, .len = available->len};
    return dg_choose(*resource, units, *must_include, size, chosen, error);
}
