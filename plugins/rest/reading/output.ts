import type { Json } from "propylon";
import { isObject } from "propylon/kit";
import { isSafeKey } from "propylon/internal";
import type { Operation } from "./operations.ts";
import type { References } from "./references.ts";
import { SchemaWriter } from "./schema.ts";

/** What is told of the answers of an API: what its document says, what no answer can break, or nothing. */
export type OutputSchemas = "strict" | "loose" | "off";

/** Longest output schema, in characters: lists of tools are read by every client. */
const MAX_SIZE = 20_000;
/** Characters of a loose one with two levels of members; above it has one. */
const TWO_LEVELS = 3_000;
/** Characters of the description of an answer and of its members, and of what is in those. */
const MAX_DESCRIPTION = 140;
const MAX_INNER = 80;

/** Writes what operations answer. */
export class OutputWriter {
  /** Operations whose schema was too long. */
  readonly dropped: string[] = [];
  readonly #references: References;
  readonly #kind: OutputSchemas;
  readonly #writer: SchemaWriter;

  constructor(references: References, kind: OutputSchemas) {
    this.#references = references;
    this.#kind = kind;
    // Answers are passed on as they are: their members have the names that they have.
    const asWritten = { alias: (name: string) => name };
    this.#writer = new SchemaWriter(references, "output", asWritten);
  }

  /** The output schema of an operation's tool; `undefined` where its document promises no object. */
  write(operation: Operation): Json | undefined {
    if (this.#kind === "off") return undefined;
    const schema = promised(operation, this.#references);
    if (schema === undefined) return undefined;
    const written = this.#kind === "strict" ? this.#strict(schema) : this.#loose(schema);
    if (written === undefined) this.dropped.push(`${operation.method} ${operation.path}`);
    return written;
  }

  #strict(schema: Json): Json | undefined {
    const written = this.#writer.write(schema) as Json;
    const { schema: whole, isWhole } = this.#writer.finish(written, MAX_SIZE);
    if (!isWhole || JSON.stringify(whole).length > MAX_SIZE) return undefined;
    return textForIntegers(whole) as Json;
  }

  #loose(schema: Json): Json | undefined {
    for (const [levels, limit] of [
      [2, TWO_LEVELS],
      [1, MAX_SIZE],
    ] as const) {
      const loose = new LooseWriter(this.#references, limit);
      const written = loose.write(schema, levels);
      if (loose.left > 0) return { type: "object", ...written };
    }
    return undefined;
  }
}

/** Names and descriptions of members and nothing that an answer could break: documents are wrong about answers all the time. */
class LooseWriter {
  /** Characters. */
  left: number;
  readonly #references: References;

  constructor(references: References, left: number) {
    this.#references = references;
    this.left = left;
  }

  write(node: unknown, levels: number, depth = 0): Json {
    const schema = this.#references.follow(node);
    if (!isObject(schema) || this.left <= 0) return {};
    const { description, items } = schema;
    const properties = levels > 0 ? this.#members(schema, levels, depth) : {};
    const written = {
      ...(typeof description === "string" && {
        description: beginning(description, depth > 1 ? MAX_INNER : MAX_DESCRIPTION),
      }),
      ...(Object.keys(properties).length > 0 && { properties }),
    };
    this.left -= 20 + (written.description?.length ?? 0);
    if (items === undefined || levels === 0) return written;
    const each = this.write(items, levels - 1, depth + 1);
    return Object.keys(each).length > 0 ? { ...written, items: each } : written;
  }

  #members(schema: Json, levels: number, depth: number): Json {
    const members: Json = {};
    for (const part of [schema, ...(Array.isArray(schema["allOf"]) ? schema["allOf"] : [])]) {
      const own = this.#references.follow(part);
      const properties = isObject(own) && isObject(own["properties"]) ? own["properties"] : {};
      for (const [name, property] of Object.entries(properties)) {
        if (this.left <= 0) return members;
        const meant = this.#references.follow(property);
        if (!isSafeKey(name) || (isObject(meant) && meant["writeOnly"] === true)) continue;
        this.left -= name.length;
        members[name] = this.write(property, levels - 1, depth + 1);
      }
    }
    return members;
  }
}

/** As many whole sentences as there is room for, or as much of the first. */
function beginning(text: string, room: number): string {
  if (text.length <= room) return text;
  const end = text.lastIndexOf(". ", room - 1);
  return end > 0 ? text.slice(0, end + 1) : `${text.slice(0, room - 1)}…`;
}

/** Only when every success is the same JSON object. */
function promised({ responses, method }: Operation, references: References): Json | undefined {
  const named = Object.entries(responses).filter(([status]) => /^2..$/.test(status));
  if (method === "HEAD" || named.length !== 1) return undefined;
  const response = references.follow(named[0]![1]);
  const content = isObject(response) && isObject(response["content"]) ? response["content"] : {};
  const types = Object.keys(content);
  if (types.length !== 1 || !/^application\/(?:[\w.-]+\+)?json\b/i.test(types[0]!))
    return undefined;
  const media = references.follow(content[types[0]!]);
  const schema = isObject(media) ? references.follow(media["schema"]) : undefined;
  if (!isObject(schema) || schema["type"] !== "object" || schema["nullable"] === true)
    return undefined;
  return schema;
}

/** An integer that JavaScript cannot hold comes as text. */
function textForIntegers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(textForIntegers);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, part]) => [
    key,
    key === "type" && part === "integer" ? ["integer", "string"] : textForIntegers(part),
  ]);
  return Object.fromEntries(entries);
}
