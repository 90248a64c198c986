/**
 * Whether a client takes gzip. Stricter than RFC 9110 section 12.5.3 on purpose: the source wants it said, so a request without
 * the header does not.
 */
export function acceptsGzip(header: string | null): boolean {
  if (header === null) return false;
  const weights = new Map(header.toLowerCase().split(",").map(readCoding));
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}

/** A weight that cannot be read counts as none, so that a refusal is never taken for consent. */
function readCoding(item: string): readonly [coding: string, weight: number] {
  const [coding = "", ...parameters] = item.split(";").map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  if (weight === undefined) return [coding, 1];
  return [coding, /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0];
}
