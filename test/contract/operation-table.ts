import { formSchema, type Operation } from "../../core/plugin/operation.ts";
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
  const { properties = {}, required = [] } = formSchema(input) as {
    properties?: object;
    required?: string[];
  };
  const names = Object.keys(properties);
  if (names.length === 0) return "";
  if (method === "GET" || method === "DELETE")
    return names.map((name) => `\`?${name}=\``).join(" ");
  return `\`{${names.map((name) => (required.includes(name) ? name : `${name}?`)).join(", ")}}\``;
}
