import { z } from "zod";

/**
 * Name of a header (RFC 9110 section 5.6.2).
 *
 * @example const name = z.string().regex(HEADER_NAME);
 */
export const HEADER_NAME: RegExp = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Value of a header (RFC 9110 section 5.5): no line break, or a value could add headers of its own.
 *
 * @example const isSendable = HEADER_VALUE.test(text);
 */
export const HEADER_VALUE: RegExp = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Schema of headers that an operator writes for a server, e.g. `Authorization`.
 *
 * @example const config = z.strictObject({ headers: headersSchema().default({}).describe("Sent with every request.") });
 */
export function headersSchema(): z.ZodRecord<z.ZodString, z.ZodString> {
  return z.record(z.string().regex(HEADER_NAME), z.string().regex(HEADER_VALUE));
}

/**
 * Headers by their names in lower case, so that of two with one name the later replaces the earlier and is not sent beside it.
 *
 * @example const headers = { ...lowerCaseNames(options.headers), "content-type": "application/json" };
 */
export function lowerCaseNames<T>(headers: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
