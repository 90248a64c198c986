import type { ZodType } from "zod";
import { isObject } from "./json.ts";

/**
 * Whether a value is a zod schema, of this copy of the library or another.
 *
 * @example const schemaSchema = z.custom<ZodType>(isZodSchema, "must be a zod schema");
 */
export function isZodSchema(value: unknown): value is ZodType {
  return isObject(value) && isObject(value["_zod"]);
}
