import type { z } from "zod";

/**
 * What is wrong with a value, with the place.
 *
 * @param whole what the value itself is called; without it a fault of the whole has no place in front
 * @example const words = error.issues.map((issue) => problemText(issue, "arguments")).join("; "); // servers.0: must be a name
 */
export function problemText(
  { path, message }: Pick<z.core.$ZodIssue, "path" | "message">,
  whole = "",
): string {
  const place = path.join(".") || whole;
  return place === "" ? message : `${place}: ${message}`;
}
