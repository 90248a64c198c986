import type { Json } from "propylon";
import { isObject } from "propylon/kit";
import { followPointer, SafeKeys } from "propylon/internal";
import type { ModelTool } from "../model.ts";

/** Schemas that are combined at most: each may refer to all others, and to itself. */
const MAX_COMBINED = 200;
/** Sentences about what goes together, at most. */
const MAX_CHOICES = 5;
const COMBINATORS = ["allOf", "anyOf", "oneOf"] as const;
/** What neither Anthropic nor OpenAI takes at the top of a tool's schema: they refuse the whole request for one such tool. */
const REFUSED: ReadonlySet<string> = new Set([...COMBINATORS, "enum", "const", "not"]);

/** A tool's schema as every provider takes it. */
export interface FittedSchema {
  readonly schema: Json;
  /** What the arguments of a call mean to the tool. */
  readonly restore: (args: Json) => Json;
}

/** A catalogue has the same schema at each request. */
const fitted = new WeakMap<object, FittedSchema>();

/** The schema of a tool without what makes providers refuse all tools. The tool's server checks arguments by its own. */
export function fitSchema({ inputSchema }: Pick<ModelTool, "inputSchema">): FittedSchema {
  const known = fitted.get(inputSchema);
  if (known) return known;
  const safe = SafeKeys.of(inputSchema);
  const schema = foldTop(safe?.schema ?? inputSchema);
  const made = { schema, restore: (args: Json) => safe?.restore(args) ?? args };
  fitted.set(inputSchema, made);
  return made;
}

/** One plain object, with the properties of all that was combined. */
function foldTop(schema: Json): Json {
  if (!Object.keys(schema).some((key) => REFUSED.has(key))) return schema;
  const { properties, required, choices } = gather(schema, schema, { left: MAX_COMBINED });
  const kept = Object.entries(schema).filter(([key]) => !REFUSED.has(key));
  const words = [schema["description"], ...choices.slice(0, MAX_CHOICES)].filter(
    (each) => typeof each === "string",
  );
  return {
    ...Object.fromEntries(kept),
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.size > 0 && { required: [...required] }),
    ...(words.length > 0 && { description: words.join(" ") }),
  };
}

interface Gathered {
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: ReadonlySet<string>;
  /** Sentences about what goes together. */
  readonly choices: readonly string[];
}

function gather(schema: unknown, root: Json, budget: { left: number }): Gathered {
  const found = resolve(schema, root);
  const properties = new Map<string, unknown>();
  const required = new Set<string>();
  const choices: string[] = [];
  if (!isObject(found) || budget.left-- <= 0) return { properties, required, choices };
  addAll(properties, isObject(found["properties"]) ? Object.entries(found["properties"]) : []);
  for (const name of namesIn(found["required"])) required.add(name);
  for (const keyword of COMBINATORS) {
    const branches = (Array.isArray(found[keyword]) ? found[keyword] : []).map((branch) =>
      gather(branch, root, budget),
    );
    for (const branch of branches) {
      addAll(properties, branch.properties);
      choices.push(...branch.choices);
    }
    const needed = branches.map((branch) => branch.required);
    const common = keyword === "allOf" ? unionOf(needed) : intersectionOf(needed);
    for (const name of common) required.add(name);
    if (keyword !== "allOf") choices.push(...choiceOf(needed, common));
  }
  return { properties, required, choices };
}

function resolve(schema: unknown, root: Json): unknown {
  const reference = isObject(schema) ? schema["$ref"] : undefined;
  if (typeof reference !== "string" || !reference.startsWith("#")) return schema;
  return followPointer(root, reference.slice(1)) ?? schema;
}

function addAll(
  properties: Map<string, unknown>,
  more: Iterable<readonly [string, unknown]>,
): void {
  for (const [key, value] of more) {
    const known = properties.get(key);
    if (known === undefined) properties.set(key, value);
    else if (JSON.stringify(known) !== JSON.stringify(value))
      properties.set(key, { anyOf: [known, value] });
  }
}

function namesIn(required: unknown): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function unionOf(sets: readonly ReadonlySet<string>[]): ReadonlySet<string> {
  return new Set(sets.flatMap((set) => [...set]));
}

function intersectionOf(sets: readonly ReadonlySet<string>[]): ReadonlySet<string> {
  const [first = new Set<string>(), ...others] = sets;
  return new Set([...first].filter((name) => others.every((set) => set.has(name))));
}

/** What must be given together, where the branches differ in that. */
function choiceOf(needed: readonly ReadonlySet<string>[], common: ReadonlySet<string>): string[] {
  const ways = needed.map((set) => [...set].filter((name) => !common.has(name)).join(" and "));
  const told = [...new Set(ways)].filter((way) => way !== "");
  return told.length < 2 ? [] : [`Give one of these: ${told.join("; or ")}.`];
}
