import { isObject } from "propylon/kit";
import { SafeNames } from "propylon/internal";

/**
 * Names for the properties of documents that clients do not take as they are.
 *
 * @param documents asked once there is a name to replace
 */
export function safeNamesOf(documents: () => Iterable<unknown>): SafeNames {
  return new SafeNames(() => keysOf(documents()), "value");
}

/** Every key of every map: whether it names a property is not asked. */
function keysOf(values: Iterable<unknown>, found = new Set<string>()): Set<string> {
  for (const value of values) {
    if (Array.isArray(value)) keysOf(value, found);
    else if (isObject(value)) {
      for (const key of Object.keys(value)) found.add(key);
      keysOf(Object.values(value), found);
    }
  }
  return found;
}
