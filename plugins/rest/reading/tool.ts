import type { Json, Tool } from "propylon";
import { isObject, toToolName, UniqueNames } from "propylon/kit";
import { isSafeKey, SafeNames } from "propylon/internal";
import type { Body, FieldEncoding, Operation, Parameter } from "./operations.ts";
import { OutputWriter, type OutputSchemas } from "./output.ts";
import { broken, type References } from "./references.ts";
import { SchemaWriter } from "./schema.ts";
import { shrink } from "./shrink.ts";
import { describeUpload, isBinary, isBytesBody, PART } from "./uploads.ts";

/** A placeholder, or what a request line does not take as it is (RFC 3986, 3.3 and 3.4). */
const OTHER = /\{[^{}]+\}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]/gu;

/**
 * A path of a document as it stands in requests. A fragment tells operations of one address apart (AWS's documents) and belongs to
 * no request, and a path written for people may have spaces.
 */
function toTarget(path: string): string {
  // Before another segment it is a character like others (Mastercard's `/send/#env/v1`).
  const hash = path.indexOf("#", path.lastIndexOf("/"));
  const before = hash === -1 ? path : path.slice(0, hash);
  return before.replaceAll(OTHER, (found) =>
    found.length > 2 ? found : encodeURIComponent(found.replace(/\p{Surrogate}/u, "\uFFFD")),
  );
}

/** Characters of a tool's description. */
const MAX_DESCRIPTION = 8_000;
/** Characters of a tool's input schema: as many as can be, for all of them together are read by every client. */
const ROOMS = [64, 32, 16, 8, 4, 2].map((kilo) => kilo * 1024);
const ROOM_OF_ALL = 4 * 1024 * 1024;

/** Characters of all tools together, whatever is left out of their schemas: the gateway has to hold and to send them. */
const MAX_LIST = 12 * 1024 * 1024;

/** A parameter as far as a request is written by it. */
export type SentParameter = Omit<Parameter, "schema" | "description">;

/** Where the body of a request is among the arguments, and how it is written. */
export interface SentBody {
  readonly contentType: string;
  readonly required: boolean;
  /** The argument that is the whole body; `undefined` when the body's properties are arguments themselves. */
  readonly argument: string | undefined;
  /** The argument that chooses among several content types. */
  readonly chooser: string | undefined;
  readonly encoding: Readonly<Record<string, FieldEncoding>>;
  /** Properties that are bytes. */
  readonly files: readonly string[];
  /** Whether the whole is bytes, in a content type that says nothing of it. */
  readonly isBytes: boolean;
}

/** An operation as a tool, with the way back from arguments to a request. */
export interface ApiTool {
  readonly tool: Tool;
  /** Upper case. */
  readonly method: string;
  /** As it is sent, with `{name}`. */
  readonly path: string;
  /** Parameters by argument. */
  readonly parameters: ReadonlyMap<string, SentParameter>;
  readonly body: SentBody | undefined;
}

/** What tools are made with. */
export interface ToolOptions {
  readonly references: References;
  readonly outputSchemas: OutputSchemas;
  /** Parameters that the operator sets. */
  isSet(parameter: Parameter): boolean;
}

/** The tools of a document. */
export interface ApiTools {
  readonly tools: readonly ApiTool[];
  /** What was written, by the name that stands for it. */
  readonly originals: ReadonlyMap<string, string>;
  /** Tools whose input schema is there in part, and whose output schema was too long. */
  readonly shortened: readonly string[];
  readonly withoutOutput: readonly string[];
}

/** The tools of operations, their names unique, in their order. */
export function operationTools(operations: readonly Operation[], options: ToolOptions): ApiTools {
  const { references } = options;
  // What is told before it is made: as much as a parameter with its way back takes at least.
  checkSize(operations.map(({ parameters }) => 100 * parameters.length));
  const maker = new ToolMaker(options);
  const tools = maker.makeAll(operations, nameAll(operations));
  checkSize(tools.map(({ tool }) => JSON.stringify(tool).length));
  const output = new OutputWriter(references, options.outputSchemas);
  return {
    tools: tools.map((each, at) => {
      const outputSchema = output.write(operations[at]!);
      if (outputSchema === undefined) return each;
      return { ...each, tool: { ...each.tool, outputSchema } };
    }),
    originals: maker.safe.originals,
    shortened: [...maker.shortened],
    withoutOutput: output.dropped,
  };
}

/**
 * One path of thousands of parameters can stand at thousands of addresses, in a few bytes each.
 *
 * @param sizes of tools, in characters
 */
function checkSize(sizes: readonly number[]): void {
  if (sizes.reduce((sum, size) => sum + size, 0) <= MAX_LIST) return;
  throw broken(
    `The tools of the document take more than ${MAX_LIST} characters.`,
    "Choose some of its operations with operations.",
  );
}

function nameAll(operations: readonly Operation[]): string[] {
  const names = new UniqueNames();
  return operations.map(({ id, method, path }) =>
    // MCP allows dots in names of tools, and no model's interface does.
    names.take(
      toToolName((id ?? `${method.toLowerCase()}${path}`).replaceAll(".", "_")) || "operation",
    ),
  );
}

class ToolMaker {
  readonly shortened = new Set<string>();
  readonly safe: SafeNames;
  readonly #options: ToolOptions;
  readonly #writer: SchemaWriter;

  constructor(options: ToolOptions) {
    this.#options = options;
    this.safe = safeNamesOf(() => options.references.documents);
    this.#writer = new SchemaWriter(options.references, "input", this.safe);
  }

  makeAll(operations: readonly Operation[], names: readonly string[]): ApiTool[] {
    let tools: ApiTool[] = [];
    for (const room of ROOMS) {
      this.shortened.clear();
      tools = operations.map((each, at) => this.#make(names[at]!, each, room));
      const sizes = tools.map(({ tool }) => JSON.stringify(tool.inputSchema).length);
      if (sizes.reduce((sum, size) => sum + size, 0) <= ROOM_OF_ALL) break;
    }
    return tools;
  }

  #make(name: string, operation: Operation, room: number): ApiTool {
    const properties: Json = {};
    const required: string[] = [];
    const parameters = new Map<string, SentParameter>();
    const named = nameArguments(operation.parameters.filter((each) => !this.#options.isSet(each)));
    for (const [argument, { schema, description, ...sent }] of named) {
      properties[argument] = describe(this.#writeParameter(sent.in, schema), description);
      parameters.set(argument, sent);
      if (sent.required) required.push(argument);
    }
    const body = operation.body && this.#addBody(operation.body, properties, required);
    const written = {
      type: "object",
      properties,
      ...(required.length > 0 && { required: [...new Set(required)] }),
    };
    const shrunk = shrink(written, room);
    const { schema: inputSchema, isWhole } = this.#writer.finish(shrunk, room);
    if (!isWhole || shrunk !== written) this.shortened.add(name);
    const title = operation.summary;
    const tool: Tool = {
      name,
      ...(title !== undefined && { title }),
      description: descriptionOf(operation),
      inputSchema,
      annotations: annotationsOf(operation),
    };
    return { tool, method: operation.method, path: toTarget(operation.path), parameters, body };
  }

  /** What would make another address of a path is not offered: it would be refused. */
  #writeParameter(place: Parameter["in"], schema: unknown): Json | boolean {
    if (place !== "path") return this.#writer.write(schema);
    const written = this.#writer.write(this.#options.references.follow(schema));
    if (typeof written === "boolean" || !Array.isArray(written["enum"])) return written;
    const { enum: values, ...others } = written as Json & { enum: unknown[] };
    const left = values.filter((value) => !["", ".", ".."].includes(value as string));
    return left.length > 0 ? { ...written, enum: left } : others;
  }

  /** The properties of an object become arguments themselves, unless one of them is the name of a parameter. */
  #addBody(body: Body, properties: Json, required: string[]): SentBody {
    const { references } = this.#options;
    const schema = references.follow(body.schema);
    const own = isObject(schema) && isObject(schema["properties"]) ? schema["properties"] : {};
    const isBytes = isBytesBody(body, references);
    const isSpread = !isBytes && this.#canSpread(schema, properties);
    const argument = isSpread ? undefined : free("body", properties);
    if (argument === undefined) this.#spread(body, schema, properties, required);
    else {
      properties[argument] = describe(this.#writeBody(body, schema, isBytes), body.description);
      if (body.required) required.push(argument);
    }
    const { contentType, encoding, choices } = body;
    const chooser = choices.length > 1 ? free("content_type", properties) : undefined;
    if (chooser !== undefined)
      properties[chooser] = { type: "string", enum: [...choices], default: contentType };
    const files = Object.keys(own).filter((key) => isBinary(own[key], references));
    return { contentType, required: body.required, argument, chooser, encoding, files, isBytes };
  }

  #writeBody(body: Body, schema: unknown, isBytes: boolean): Json | boolean {
    if (isMultipart(body) && isObject(schema) && schema["type"] === "array")
      return { type: "array", items: PART };
    const written = this.#writer.write(body.schema);
    return isBytes ? describeUpload(written, undefined) : written;
  }

  #spread(body: Body, schema: unknown, properties: Json, required: string[]): void {
    const { references } = this.#options;
    const written = this.#writer.write(schema) as Json;
    const own = (schema as Json)["properties"] as Json;
    const arguments_ = written["properties"] as Json;
    if (isMultipart(body))
      for (const [key, node] of Object.entries(own)) {
        const name = this.safe.alias(key);
        if (!isBinary(node, references) || arguments_[name] === undefined) continue;
        arguments_[name] = describeUpload(arguments_[name], references.follow(node));
      }
    Object.assign(properties, arguments_);
    if (body.required && Array.isArray(written["required"]))
      required.push(...(written["required"] as string[]));
  }

  #canSpread(schema: unknown, taken: Json): boolean {
    if (!isObject(schema) || !isObject(schema["properties"])) return false;
    if (["allOf", "anyOf", "oneOf", "not", "if"].some((key) => schema[key] !== undefined))
      return false;
    if (schema["additionalProperties"] !== undefined && schema["additionalProperties"] !== false)
      return false;
    const names = Object.keys(schema["properties"]).map((name) => this.safe.alias(name));
    return names.length > 0 && names.every((name) => !Object.hasOwn(taken, name));
  }
}

/** Names that need no other come first, so that no other takes one of them. */
function nameArguments(parameters: readonly Parameter[]): [string, Parameter][] {
  const names = new Map<Parameter, string>();
  const taken = new UniqueNames();
  for (const safe of [true, false])
    for (const parameter of parameters) {
      if (isSafeKey(parameter.name) !== safe) continue;
      const wanted = safe ? parameter.name : toToolName(parameter.name) || "value";
      const placed = taken.has(wanted) ? toToolName(`${parameter.in}_${wanted}`) : wanted;
      names.set(parameter, taken.take(placed));
    }
  return parameters.map((parameter) => [names.get(parameter)!, parameter]);
}

function free(name: string, taken: Json): string {
  return Object.hasOwn(taken, name) ? free(`request_${name}`, taken) : name;
}

function isMultipart({ contentType }: Body): boolean {
  return /^multipart\//i.test(contentType);
}

function descriptionOf({ method, path, summary, description, deprecated }: Operation): string {
  const words = [summary, description].filter((part) => part !== undefined);
  const said = [...new Set(words)].join("\n\n") || `${method} ${path}`;
  const whole = deprecated ? `Deprecated. ${said}` : said;
  return whole.length > MAX_DESCRIPTION ? `${whole.slice(0, MAX_DESCRIPTION - 1)}…` : whole;
}

function annotationsOf({ method, summary }: Operation): Json {
  const reads = method === "GET" || method === "HEAD";
  return {
    ...(summary !== undefined && { title: summary }),
    readOnlyHint: reads,
    ...(!reads && { destructiveHint: method === "DELETE" }),
    ...(!reads && { idempotentHint: method === "PUT" || method === "DELETE" }),
    openWorldHint: true,
  };
}

function describe(schema: Json | boolean, description: string | undefined): Json | boolean {
  if (description === undefined || typeof schema === "boolean") return schema;
  return { description, ...schema };
}

/**
 * Names for the properties of documents that clients do not take as they are.
 *
 * @param documents asked once there is a name to replace
 */
function safeNamesOf(documents: () => Iterable<unknown>): SafeNames {
  return new SafeNames(() => keysOf(documents()), "value");
}

/** Every key of every map: whether it names a property is not asked. */
function keysOf(values: Iterable<unknown>, found = new Set<string>()): Set<string> {
  for (const value of values) {
    if (Array.isArray(value)) keysOf(value, found);
    else if (isObject(value)) {
      for (const key of Object.keys(value)) found.add(key);
      keysOf(Object.values(value), found);
    }
  }
  return found;
}
