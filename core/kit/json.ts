import type { Json } from "../call/types.ts";

/**
 * Whether a value is a JSON object (not an array).
 *
 * @example const id = isObject(data) && typeof data["id"] === "string" ? data["id"] : undefined;
 */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
