// Offers widgets: PCI functions of the vendor's, each with one device of the class `widget` beneath it.

import { json } from 'devgate:plugin/config@0.1.0';
import { devices } from 'devgate:plugin/hardware@0.1.0';
import { write } from 'devgate:plugin/log@0.1.0';

const RESOURCE = 'example.com/widget';

/** The contract's error, which is thrown as it is. */
const failed = (kind, message) => ({ kind, code: '', message });

/** What was thrown as the contract's error: any mistake of this program is one with its text. */
function told(error) {
  const own = error?.payload ?? error;
  return own?.kind === undefined ? failed('other', String(error)) : own;
}

/** The property that names devices which are there and cannot be described now: as many as it holds, 4,096 bytes. */
function unreadable(names) {
  let value = '';
  for (const name of names) {
    // A kernel's names are ASCII: as many bytes as characters.
    if (value.length + 1 + name.length > 4096) break;
    value += value === '' ? name : ` ${name}`;
  }
  return value === '' ? [] : [{ name: 'devgate.unread', value }];
}

/** A call whose mistakes are told. Any other thing than the contract's error that is thrown ends the call as a crash. */
const reported = (call) => (...values) => {
  try {
    return call(...values);
  } catch (error) {
    throw told(error);
  }
};

/** The mode that containers are told, from the policy's `config`. */
function mode() {
  const config = JSON.parse(json()) ?? {};
  if (typeof config !== 'object' || Array.isArray(config)) throw failed('invalid', 'config: is not a mapping');
  const given = config.mode === undefined ? 'fast' : config.mode;
  if (given !== 'fast' && given !== 'safe') throw failed('invalid', 'config: mode is neither fast nor safe');
  return given;
}

/** A card whose driver has registered it; fails with `not-found` where it has not. */
function described(card) {
  const [widget] = card.children('widget');
  if (!widget) throw failed('not-found', 'its driver has not registered it');
  const serial = widget.attribute('serial');
  const properties = [
    { name: 'serial', value: serial },
    { name: 'firmware', value: widget.attribute('firmware') },
    { name: 'pci', value: card.name() },
  ];
  return { id: serial, backing: [card], nodes: widget.nodes(), properties };
}

/** What the driver says of one widget. */
function verdict(unit) {
  try {
    const [widget] = unit.backing[0].children('widget');
    if (!widget) return { tag: 'unhealthy', val: 'its driver does not know it any more' };
    const status = widget.attribute('status');
    return status === 'ok' ? { tag: 'healthy' } : { tag: 'unhealthy', val: `status reads ${status}` };
  } catch (error) {
    return { tag: 'unknown', val: told(error).message };
  }
}

/** The exports. Each call runs in a fresh instance: nothing that is kept here lasts. */
export const plugin = {
  enumerate: reported(() => {
    mode();
    const units = [];
    const unread = [];
    for (const card of devices('pci')) {
      const name = card.name();
      try {
        units.push(described(card));
      } catch (error) {
        write('warn', `${name} is not offered: ${told(error).message}`);
        unread.push(name);
      }
    }
    return [{ resource: RESOURCE, units, sharedNodes: [], properties: unreadable(unread) }];
  }),

  health: reported((resource, units) => units.map(verdict)),

  allocate: reported((resource, units) => {
    return { env: [{ name: 'WIDGET_MODE', value: mode() }], mounts: [], annotations: [], cdi: [], properties: [] };
  }),
};
