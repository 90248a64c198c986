import type { ZodType } from "zod";
import type { Operation } from "../../core/index.ts";
import { table } from "./page.ts";

/** What a page says of operations; one that is a part of another stands with its command alone. */
export function operationTable(operations: readonly Operation[]): string {
  const routes = new Map(
    operations.toReversed().map((one) => [`${one.method} ${one.path}`, one] as const),
  );
  const rows = [...routes]
    .toReversed()
    .map(([route, one]) => [
      `\`${route}\``,
      one.access === "principal" ? "own" : one.access,
      inputOf(one),
      one.words,
    ]);
  return table(["route", "for", "takes", "what"], rows, { aligned: true });
}

function inputOf({ method, input }: Operation): string {
  const members = Object.entries(input.shape);
  if (members.length === 0) return "";
  if (method === "GET" || method === "DELETE")
    return members.map(([name]) => `\`?${name}=\``).join(" ");
  const names = members.map(([name, schema]) =>
    (schema as ZodType).isOptional() ? `${name}?` : name,
  );
  return `\`{${names.join(", ")}}\``;
}
