/* Offers widgets: PCI functions of the vendor's, each with one device of the class `widget` beneath it. */
#include "devgate.h"

static const char RESOURCE[] = "example.com/widget";

/* The mode that containers are told, from the policy's `config`. */
static bool mode(dg_string *given, dg_error *error) {
    DG_TRY(dg_config_text("mode", "fast", given, error));
    if (dg_equal(*given, "fast") || dg_equal(*given, "safe")) {
        return true;
    }
    return dg_fail(error, DG_INVALID, dg_text("config: mode is neither fast nor safe"));
}

/* A card whose driver has registered it; fails with DG_NOT_FOUND where it has not. */
static bool described(dg_device card, dg_string name, dg_unit *unit, dg_error *error) {
    dg_devices widgets;
    dg_string serial, firmware;
    dg_nodes nodes;
    DG_TRY(dg_children(card, "widget", &widgets, error));
    if (widgets.len == 0) {
        return dg_fail(error, DG_NOT_FOUND, dg_text("its driver has not registered it"));
    }
    DG_TRY(dg_attribute(widgets.ptr[0], "serial", &serial, error));
    DG_TRY(dg_attribute(widgets.ptr[0], "firmware", &firmware, error));
    DG_TRY(dg_nodes_of(widgets.ptr[0], &nodes, error));
    *unit = dg_unit_of(serial, card, nodes, 3);
    dg_add(&unit->properties, "serial", serial);
    dg_add(&unit->properties, "firmware", firmware);
    dg_add(&unit->properties, "pci", name);
    return true;
}

/* What the driver says of one widget. */
static dg_verdict verdict(dg_unit unit) {
    dg_devices widgets;
    dg_string status;
    dg_error error;
    if (!dg_children(unit.backing.ptr[0], "widget", &widgets, &error)) {
        return dg_unknown(error.message);
    }
    if (widgets.len == 0) {
        return dg_unhealthy(dg_text("its driver does not know it any more"));
    }
    if (!dg_attribute(widgets.ptr[0], "status", &status, &error)) {
        return dg_unknown(error.message);
    }
    if (dg_equal(status, "ok")) {
        return dg_healthy();
    }
    return dg_unhealthy(dg_concat("status reads ", dg_chars(status), NULL));
}

bool dg_enumerate(dg_pools *pools, dg_error *error) {
    dg_string unused, unread = {0};
    dg_devices cards;
    DG_TRY(mode(&unused, error));
    DG_TRY(dg_devices_of("pci", &cards, error));

    dg_pool *pool = dg_alloc(1, sizeof *pool);
    pool->resource = dg_text(RESOURCE);
    pool->units.ptr = dg_alloc(cards.len, sizeof *pool->units.ptr);
    for (size_t i = 0; i < cards.len; i++) {
        dg_string name = dg_name(cards.ptr[i]);
        dg_error why;
        if (described(cards.ptr[i], name, &pool->units.ptr[pool->units.len], &why)) {
            pool->units.len++;
            continue;
        }
        dg_log(DG_WARN, dg_concat(dg_chars(name), " is not offered: ", dg_chars(why.message), NULL));
        dg_unread(&unread, name);
    }
    if (unread.len > 0) {
        pool->properties.ptr = dg_alloc(1, sizeof *pool->properties.ptr);
        dg_add(&pool->properties, "devgate.unread", unread);
    }
    *pools = (dg_pools){.ptr = pool, .len = 1};
    return true;
}

bool dg_health(dg_string resource, dg_given_units units, dg_verdicts *verdicts, dg_error *error) {
    (void)resource, (void)error;
    verdicts->ptr = dg_alloc(units.len, sizeof *verdicts->ptr);
    verdicts->len = units.len;
    for (size_t i = 0; i < units.len; i++) {
        verdicts->ptr[i] = verdict(units.ptr[i]);
    }
    return true;
}

bool dg_allocate(dg_string resource, dg_given_units units, dg_edits *edits, dg_error *error) {
    (void)resource, (void)units;
    dg_string given;
    DG_TRY(mode(&given, error));
    *edits = (dg_edits){.env.ptr = dg_alloc(1, sizeof *edits->env.ptr)};
    dg_add(&edits->env, "WIDGET_MODE", given);
    return true;
}
