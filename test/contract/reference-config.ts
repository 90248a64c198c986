import { z } from "zod";
import { configSchema } from "../../core/config/schema.ts";
import { sectionOf } from "../../core/config/sections.ts";
import type { AnyPlugin } from "../../core/index.ts";
import { page, table } from "./page.ts";

interface Node {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
  readonly anyOf?: readonly Node[];
  readonly items?: Node;
  readonly required?: readonly string[];
}

/** docs/reference/config.md, from the schema that validates the file. */
export function configPage(plugins: readonly AnyPlugin[]): string {
  const { $schema: _, ...schema } = z.toJSONSchema(configSchema, { io: "input" }) as Node & {
    $schema: string;
  };
  const rows = [...optionRows(schema, ""), ...plugins.flatMap(sectionRow)];
  return page(
    "Configuration",
    "Every option of `gateway.yaml`. `<name>` stands for a name of your choice. `propylon schema` prints the same as JSON Schema for editors; [the guide](../guide/config.md) explains how they work together. A duration is `30s`, `1500ms`, `10m` or a number of seconds, a size `64KiB`, `16MiB` or a number of bytes.",
    table(["option", "type", "default", "meaning"], rows),
  );
}

function sectionRow(plugin: AnyPlugin): string[][] {
  const section = sectionOf(plugin);
  if (!section) return [];
  const link = `[${plugin.name}](../plugins/${plugin.name}.md)`;
  const options = section.option === undefined ? "options" : `option \`${section.option}\``;
  return [
    [`\`${section.key}\``, "map", "", `The ${options} of the plugin ${link}, which joins by it.`],
  ];
}

function optionRows(node: Node, path: string): string[][] {
  const named = Object.entries(node.properties ?? {}).flatMap(([name, child]) =>
    optionRow(child, path ? `${path}.${name}` : name),
  );
  const open =
    typeof node.additionalProperties === "object"
      ? optionRows(node.additionalProperties, `${path}.<name>`)
      : [];
  const either = (node.anyOf ?? []).flatMap((child) => optionRows(child, path));
  const seen = new Set<string>();
  return [...named, ...open, ...either].filter(
    ([option]) => !seen.has(option!) && seen.add(option!),
  );
}

function optionRow(node: Node, path: string): string[][] {
  return [
    [`\`${path}\``, typeName(node, path), defaultOf(node, path), node.description ?? ""],
    ...optionRows(node, path),
  ];
}

/** One of everything, to read the defaults of durations and sizes from: they are set behind a conversion JSON Schema cannot show. */
const SAMPLE = configSchema.parse({
  servers: { stdio: { command: "x" }, http: { url: "http://x" } },
});

function defaultOf(node: Node, path: string): string {
  if (isQuantity(node)) {
    const value = lookUp(SAMPLE, path.split("."));
    return value === undefined ? "" : `\`${isSize(path) ? sizeText(value) : durationText(value)}\``;
  }
  if (node.default === undefined || hasOptions(node)) return "";
  return `\`${JSON.stringify(node.default)}\``;
}

function lookUp(value: unknown, path: readonly string[]): number | undefined {
  const [first, ...rest] = path;
  if (first === undefined) return typeof value === "number" ? value : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  if (first !== "<name>") return lookUp((value as Record<string, unknown>)[first], rest);
  return Object.values(value)
    .map((one) => lookUp(one, rest))
    .find((found) => found !== undefined);
}

/** A number with a unit; whether of bytes or of time shows in what it accepts. */
const isQuantity = (node: Node): boolean =>
  Array.isArray(node.type) && node.type.includes("number");

function isSize(path: string): boolean {
  const [name, ...rest] = path.split(".").toReversed();
  const nested = rest.reduce<unknown>((inner, key) => ({ [key === "<name>" ? "x" : key]: inner }), {
    [name!]: "1KiB",
    ...(rest[0] === "<name>" && { command: "x" }),
  });
  return configSchema.safeParse(nested).success;
}

function sizeText(bytes: number): string {
  return bytes % 1_048_576 === 0 ? `${bytes / 1_048_576}MiB` : `${bytes / 1_024}KiB`;
}

function durationText(ms: number): string {
  if (ms % 60_000 === 0 && ms > 60_000) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}

const hasOptions = (node: Node): boolean =>
  node.properties !== undefined || typeof node.additionalProperties === "object";

function typeName(node: Node, path: string): string {
  if (isQuantity(node)) return isSize(path) ? "size" : "duration";
  if (node.enum) return node.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (node.anyOf)
    return [...new Set(node.anyOf.map((child) => typeName(child, path)))].join(" or ");
  if (node.type === "array") return `list of ${node.items ? typeName(node.items, path) : "any"}`;
  if (node.type === "object" && !node.properties) return "map";
  return typeof node.type === "string" ? node.type : "any";
}
