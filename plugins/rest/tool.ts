import type { Json, Tool } from "propylon";
import { isObject, toToolName, uniqueName } from "propylon/kit";
import type { Body, Operation, Parameter } from "./operations.ts";
import { type References } from "./references.ts";
import { SchemaWriter } from "./schema.ts";

/** Where the body of a request is among the arguments. */
export interface BodyArgument {
  readonly body: Body;
  /** The argument that is the whole body; `undefined` when the body's properties are arguments themselves. */
  readonly argument: string | undefined;
  /** Schemas of the body's properties, for forms. */
  readonly properties: Json;
}

/** An operation as a tool, with the way back from arguments to a request. */
export interface ApiTool {
  readonly tool: Tool;
  readonly operation: Operation;
  /** Parameters by argument. */
  readonly parameters: ReadonlyMap<string, Parameter>;
  readonly body: BodyArgument | undefined;
}

/** The tools of operations, their names unique, by name and in their order. */
export function operationTools(
  operations: readonly Operation[],
  references: References,
): ReadonlyMap<string, ApiTool> {
  const tools = new Map<string, ApiTool>();
  for (const operation of operations) {
    const { id, method, path } = operation;
    const wanted = toToolName(id ?? `${method.toLowerCase()}${path}`) || "operation";
    const name = uniqueName(wanted, (taken) => tools.has(taken));
    tools.set(name, makeTool(name, operation, references));
  }
  return tools;
}

function makeTool(name: string, operation: Operation, references: References): ApiTool {
  const writer = new SchemaWriter(references, "input");
  const properties: Json = {};
  const required: string[] = [];
  const parameters = new Map<string, Parameter>();
  for (const parameter of operation.parameters) {
    const argument = Object.hasOwn(properties, parameter.name)
      ? `${parameter.in}_${parameter.name}`
      : parameter.name;
    properties[argument] = describe(writer.write(parameter.schema), parameter.description);
    parameters.set(argument, parameter);
    if (parameter.required) required.push(argument);
  }
  const body = operation.body && addBody(operation.body, properties, required, writer, references);
  const inputSchema = writer.finish({
    type: "object",
    properties,
    ...(required.length > 0 && { required }),
  });
  const outputSchema = outputOf(operation, references);
  const title = operation.summary;
  const tool: Tool = {
    name,
    ...(title !== undefined && { title }),
    description: descriptionOf(operation),
    inputSchema,
    ...(outputSchema && { outputSchema }),
    annotations: annotationsOf(operation),
  };
  return { tool, operation, parameters, body };
}

function descriptionOf({ method, path, summary, description, deprecated }: Operation): string {
  const words = [summary, description].filter((part) => part !== undefined);
  const said = [...new Set(words)].join("\n\n") || `${method} ${path}`;
  return deprecated ? `Deprecated. ${said}` : said;
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

function describe(schema: Json | boolean, description: string | undefined): unknown {
  if (description === undefined || typeof schema === "boolean") return schema;
  return { description, ...schema };
}

/** The properties of an object become arguments themselves, unless one of them is the name of a parameter. */
function addBody(
  body: Body,
  properties: Json,
  required: string[],
  writer: SchemaWriter,
  references: References,
): BodyArgument {
  const schema = references.follow(body.schema);
  const own = isObject(schema) && isObject(schema["properties"]) ? schema["properties"] : {};
  const argument = canSpread(schema, properties)
    ? undefined
    : Object.hasOwn(properties, "body")
      ? "request_body"
      : "body";
  if (argument !== undefined) {
    properties[argument] = describe(writer.write(body.schema), body.description);
    if (body.required) required.push(argument);
    return { body, argument, properties: own };
  }
  const written = writer.write(schema) as Json;
  Object.assign(properties, written["properties"]);
  if (body.required && Array.isArray(written["required"]))
    required.push(...(written["required"] as string[]));
  return { body, argument, properties: own };
}

function canSpread(schema: unknown, taken: Json): boolean {
  if (!isObject(schema) || !isObject(schema["properties"])) return false;
  if (["allOf", "anyOf", "oneOf", "not", "if"].some((key) => schema[key] !== undefined))
    return false;
  if (schema["additionalProperties"] !== undefined && schema["additionalProperties"] !== false)
    return false;
  const names = Object.keys(schema["properties"]);
  return names.length > 0 && names.every((name) => !Object.hasOwn(taken, name));
}

/** Only when every success is the same JSON object: a client refuses a result that breaks what was announced. */
function outputOf({ responses, method }: Operation, references: References): Json | undefined {
  const successes = Object.entries(responses).filter(([status]) =>
    /^(?:2..|default)$/i.test(status),
  );
  const named = successes.filter(([status]) => status !== "default");
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
  const writer = new SchemaWriter(references, "output");
  const written = writer.write(schema);
  return typeof written === "boolean" ? undefined : writer.finish(written);
}
