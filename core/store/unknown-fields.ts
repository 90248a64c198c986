import { isObject } from "../kit/json.ts";

/**
 * What a stored object has and a schema does not know: a later version of the gateway wrote it. Fields of objects in lists are not in
 * it: nothing says which element of a new list is which of the old one.
 */
export interface UnknownFields {
  /** Fields nothing is known of. */
  readonly own: ReadonlyMap<string, unknown>;
  /** The same of known fields that are objects. */
  readonly inside: ReadonlyMap<string, UnknownFields>;
}

/**
 * @param stored as it is in the store
 * @param known what the schema made of it
 * @returns `undefined` when the schema knows everything
 */
export function unknownFields(stored: unknown, known: unknown): UnknownFields | undefined {
  if (!isObject(stored) || !isObject(known)) return undefined;
  const own = new Map<string, unknown>();
  const inside = new Map<string, UnknownFields>();
  for (const [key, value] of Object.entries(stored)) {
    if (!Object.hasOwn(known, key)) own.set(key, value);
    else {
      const further = unknownFields(value, known[key]);
      if (further) inside.set(key, further);
    }
  }
  return own.size + inside.size > 0 ? { own, inside } : undefined;
}

/** A value with the fields that its maker did not know; one that it removed as a whole takes them along. */
export function withUnknown(value: unknown, unknown: UnknownFields | undefined): unknown {
  if (!unknown || !isObject(value)) return value;
  // Not assigned one by one: a field may be called __proto__.
  const merged: Record<string, unknown> = Object.fromEntries([
    ...unknown.own,
    ...Object.entries(value),
  ]);
  for (const [key, further] of unknown.inside)
    if (Object.hasOwn(merged, key))
      Object.defineProperty(merged, key, { value: withUnknown(merged[key], further) });
  return merged;
}
