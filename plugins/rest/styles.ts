import { isObject, writeJson } from "propylon/kit";

/** Writes one text into a URL. */
export type Encode = (text: string) => string;

/** A value without its nulls, which no address, header or form can say: an empty text is another value. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter(isSaid).map(withoutNulls);
  if (!isObject(value)) return value;
  const said = Object.entries(value).filter(([, part]) => isSaid(part));
  return Object.fromEntries(said.map(([key, part]) => [key, withoutNulls(part)]));
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** A value that has no parts, as text. */
export function plain(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : writeJson(value);
}

/** A path or header value (OpenAPI 3.1, 4.8.12.2): styles `simple`, `label` and `matrix`. */
export function segment(
  name: string,
  value: unknown,
  style: string,
  explode: boolean,
  encode: Encode,
): string {
  const of = (part: unknown): string => encode(plain(part));
  if (style === "matrix") return matrix(name, value, explode, of);
  const separator = style === "label" && explode ? "." : ",";
  const start = style === "label" ? "." : "";
  if (Array.isArray(value)) return start + value.map(of).join(separator);
  if (!isObject(value)) return start + of(value);
  const between = explode ? "=" : separator;
  const parts = Object.entries(value).map(([key, part]) => `${encode(key)}${between}${of(part)}`);
  return start + parts.join(separator);
}

function matrix(name: string, value: unknown, explode: boolean, of: WritePart): string {
  if (Array.isArray(value))
    return explode
      ? value.map((part) => `;${name}=${of(part)}`).join("")
      : `;${name}=${value.map(of).join(",")}`;
  if (!isObject(value)) return `;${name}=${of(value)}`;
  const entries = Object.entries(value);
  return explode
    ? entries.map(([key, part]) => `;${of(key)}=${of(part)}`).join("")
    : `;${name}=${entries.flatMap(([key, part]) => [of(key), of(part)]).join(",")}`;
}

type WritePart = (part: unknown) => string;

const SEPARATORS: Readonly<Record<string, string>> = {
  form: ",",
  spaceDelimited: "%20",
  pipeDelimited: "%7C",
};

/** The `name=value` pairs of a query or cookie value: styles `form`, `spaceDelimited`, `pipeDelimited` and `deepObject`. */
export function pairs(
  name: string,
  value: unknown,
  style: string,
  explode: boolean,
  encode: Encode,
): string[] {
  const of = (part: unknown): string => encode(plain(part));
  const key = encode(name);
  const separator = SEPARATORS[style] ?? ",";
  if (style === "deepObject") return deep(name, value, encode);
  if (Array.isArray(value)) {
    if (explode) return value.map((part) => `${key}=${of(part)}`);
    return [`${key}=${value.map(of).join(separator)}`];
  }
  if (!isObject(value)) return [`${key}=${of(value)}`];
  const entries = Object.entries(value);
  if (explode) return entries.map(([each, part]) => `${encode(each)}=${of(part)}`);
  return [`${key}=${entries.flatMap(([each, part]) => [encode(each), of(part)]).join(separator)}`];
}

/** `filter[owner][name]=ann`; OpenAPI leaves open what lists are, and most that read this style know `filter[ids][0]=7`. */
function deep(path: string, value: unknown, encode: Encode): string[] {
  if (!isObject(value) && !Array.isArray(value)) return [`${encode(path)}=${encode(plain(value))}`];
  return Object.entries<unknown>(value).flatMap(([key, part]) =>
    deep(`${path}[${key}]`, part, encode),
  );
}
