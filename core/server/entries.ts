import { boundedRecord } from "../kit/bounded-record.ts";
import { z } from "zod";
import { FIRST_PROBLEM } from "../kit/check-shape.ts";
import { isObject } from "../kit/json.ts";
import { problemText } from "../kit/problem-text.ts";
import type { EntryKind, LeftOut } from "../call/left-out-entry.ts";
import { depthFlaw, outputFlaw } from "./schema-flaws.ts";
import type { Catalogue } from "../call/server.ts";
import type { Json } from "../kit/types.ts";

const text = z.string().optional();
const flag = z.boolean().optional();
const common = {
  title: text,
  description: text,
  icons: z
    .array(z.looseObject({ src: z.string() }))
    .max(1_000)
    .optional(),
  _meta: z.looseObject({}).optional(),
};
const forResource = {
  ...common,
  name: z.string(),
  mimeType: text,
  annotations: z
    .looseObject({
      audience: z.array(z.string()).max(1_000).optional(),
      priority: z.number().optional(),
      lastModified: text,
    })
    .optional(),
};
const schemaMembers = {
  properties: boundedRecord(z.string(), z.looseObject({}), 10_000).optional(),
  required: z.array(z.string()).max(1_000).optional(),
};

/**
 * What clients check of an entry (MCP, schema.ts). Most of them refuse a whole list, i.e. the tools of all servers, for one entry
 * that is not so.
 */
const SCHEMAS: Readonly<Record<EntryKind, z.ZodType>> = {
  tools: z.looseObject({
    ...common,
    name: z.string().min(1),
    // Without a type it stays known, for those who look at the catalogue; an endpoint does not show it.
    inputSchema: z.looseObject({ type: z.literal("object").optional(), ...schemaMembers }),
    outputSchema: z.looseObject(schemaMembers).optional(),
    annotations: z
      .looseObject({
        title: text,
        readOnlyHint: flag,
        destructiveHint: flag,
        idempotentHint: flag,
        openWorldHint: flag,
      })
      .optional(),
    execution: z.looseObject({}).optional(),
  }),
  resources: z.looseObject({
    ...forResource,
    uri: z.string().min(1),
    size: z.number().optional(),
  }),
  resourceTemplates: z.looseObject({ ...forResource, uriTemplate: z.string().min(1) }),
  prompts: z.looseObject({
    ...common,
    name: z.string().min(1),
    arguments: z
      .array(z.looseObject({ name: z.string(), title: text, description: text, required: flag }))
      .max(1_000)
      .optional(),
  }),
};

/** The member that names an entry. */
const IDENTITY: Readonly<Record<EntryKind, string>> = {
  tools: "name",
  resources: "uri",
  resourceTemplates: "uriTemplate",
  prompts: "name",
};

/** Most entries that are told to be left out; a list of a hostile server may hold a million of them. */
const MOST_TOLD = 1_000;

/**
 * The entries of a page that can be shown. The others go to `leftOut`, the first 1,000 by name.
 *
 * @param offset how many of the page came before, for the places of those that have no name; default: none
 *
 * @example const tools = usableEntries("tools", page.tools, leftOut);
 */
export function usableEntries(
  kind: EntryKind,
  items: readonly unknown[],
  leftOut: LeftOut[],
  offset = 0,
): Json[] {
  const entries: Json[] = [];
  for (const [index, item] of items.entries()) {
    const tell = (why: string): void => addLeftOut(leftOut, kind, item, offset + index, why);
    if (!isObject(item)) {
      tell("must be a map");
      continue;
    }
    const tidy = tidied(item);
    const entry = kind === "tools" ? withUsableSchemas(tidy, tell) : tidy;
    if (entry === undefined) continue;
    const { error } = SCHEMAS[kind].safeParse(entry, FIRST_PROBLEM);
    if (error) tell(problemText(error.issues[0]!));
    else entries.push(entry);
  }
  return entries;
}

function addLeftOut(
  leftOut: LeftOut[],
  kind: EntryKind,
  item: unknown,
  index: number,
  why: string,
): void {
  if (leftOut.length < MOST_TOLD) leftOut.push({ kind, name: nameOf(kind, item, index), why });
  else if (leftOut.length === MOST_TOLD)
    leftOut.push({ kind, name: "*", why: "others are left out as well" });
}

/** A tool without an output schema that clients refuse; `undefined` for one whose arguments cannot be read. */
function withUsableSchemas(tool: Json, tell: (why: string) => void): Json | undefined {
  const deep = depthFlaw(tool["inputSchema"]);
  if (deep !== undefined) {
    tell(`inputSchema ${deep}`);
    return undefined;
  }
  const { outputSchema, ...others } = tool;
  if (outputSchema === undefined) return tool;
  const flaw = outputFlaw(outputSchema);
  if (flaw === undefined) return tool;
  tell(`outputSchema alone: it ${flaw}`);
  return others;
}

function isUsable(kind: EntryKind, item: unknown): boolean {
  if (kind === "tools" && isObject(item)) {
    const { inputSchema, outputSchema } = item;
    if (
      depthFlaw(inputSchema) ??
      (outputSchema === undefined ? undefined : outputFlaw(outputSchema))
    )
      return false;
  }
  return SCHEMAS[kind].safeParse(item, FIRST_PROBLEM).success;
}

/**
 * The lists that a plugin's server has of its own, without what cannot be shown. Lists in which nothing is wrong are the very
 * same objects.
 */
export function usableCatalogue(catalogue: Catalogue, leftOut: LeftOut[]): Catalogue {
  const usable = { ...catalogue };
  let isSame = true;
  for (const kind of Object.keys(SCHEMAS) as EntryKind[]) {
    const items: unknown = catalogue[kind];
    if (!Array.isArray(items)) leftOut.push({ kind, name: "*", why: "must be a list" });
    else if (items.every((item) => isUsable(kind, item))) continue;
    isSame = false;
    const entries: unknown = usableEntries(kind, Array.isArray(items) ? items : [], leftOut);
    Object.assign(usable, { [kind]: entries });
  }
  return isSame ? catalogue : usable;
}

function nameOf(kind: EntryKind, item: unknown, index: number): string {
  const name = isObject(item) ? item[IDENTITY[kind]] : undefined;
  return typeof name === "string" && name !== "" ? name.slice(0, 200) : `#${index + 1}`;
}

/**
 * Some libraries write what is absent as null, and a property that may be anything as `true`; neither is a reason to leave an entry
 * out, but most clients refuse both. A schema that is null stays: it is not known what was meant.
 */
function tidied(entry: Json): Json {
  const made = withoutNulls(entry, ["inputSchema", "outputSchema"]);
  if (isObject(made["annotations"])) made["annotations"] = withoutNulls(made["annotations"]);
  if (Array.isArray(made["arguments"]))
    made["arguments"] = made["arguments"].map((each) =>
      isObject(each) ? withoutNulls(each) : each,
    );
  for (const key of ["inputSchema", "outputSchema"])
    if (isObject(made[key])) made[key] = withPlainProperties(made[key]);
  return made;
}

function withoutNulls(object: Json, except: readonly string[] = []): Json {
  return Object.fromEntries(
    Object.entries(object).filter(([key, value]) => value !== null || except.includes(key)),
  );
}

/** `true` and `{}` are the same schema, and so are `false` and `{ not: {} }` (JSON Schema 2020-12, section 4.3.2). */
function withPlainProperties(schema: Json): Json {
  const { properties } = schema;
  if (!isObject(properties)) return schema;
  const values = Object.entries(properties);
  if (values.every(([, value]) => typeof value !== "boolean")) return schema;
  const plain = values.map(([key, value]) => {
    if (typeof value !== "boolean") return [key, value] as const;
    return [key, value ? {} : { not: {} }] as const;
  });
  return { ...schema, properties: Object.fromEntries(plain) };
}
