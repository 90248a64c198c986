/**
 * How Open WebUI makes tools of an OpenAPI document: in its backend (`utils/tools.py`) and, for servers that a user adds, in the
 * browser (`lib/utils/index.ts`), each as it was at first and as it is after references and odd parameters had broken it. These
 * are its rules, written anew: where one of them raises, so does this.
 */

// eslint-disable-next-line typescript/no-explicit-any -- documents of all shapes
type Any = any;

/** A tool as a model is offered it. */
export interface ImportedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: { type: string; properties: Record<string, Any>; required: string[] };
}

interface Rules {
  /** Makes a property of a parameter. */
  parameter(parameter: Any): [name: string, property: Any] | undefined;
  /** Resolves the schema of a body. */
  schema(schema: Any, components: Any, seen?: Set<string>): Any;
  /** Whether a key of a path item counts as an operation. */
  isOperation(method: string, operation: Any): boolean;
}

/** Frames that Python allows. */
const RECURSION_LIMIT = 1_000;
const METHODS = new Set(["get", "put", "post", "delete", "options", "head", "patch", "trace"]);

/** `"key" in value`: a TypeError for a boolean. */
function has(value: Any, key: string): boolean {
  if (typeof value !== "object")
    throw new TypeError(`argument of type ${typeof value} is not iterable`);
  return Object.hasOwn(value, key);
}

/** Walks a pointer behind `#/components`, with `{}` for what is not there. */
function lookUp(reference: string, components: Any): Any {
  const parts = reference
    .replace(/^[#/]+/, "")
    .split("/")
    .slice(1);
  return parts.reduce((at, part) => at?.[part] ?? {}, components);
}

function python(withMemory: boolean): Rules["schema"] {
  const resolve = (schema: Any, components: Any, seen: Set<string>, depth: number): Any => {
    if (depth > RECURSION_LIMIT) throw new RangeError("maximum recursion depth exceeded");
    if (!schema || schema.length === 0) return {};
    if (has(schema, "$ref")) {
      const name = schema.$ref.split("/").at(-1);
      if (withMemory && seen.has(name)) return {};
      seen.add(name);
      return resolve(lookUp(schema.$ref, components), components, seen, depth + 1);
    }
    const out = structuredClone(schema);
    const deeper = (inner: Any, known = new Set<string>()) =>
      resolve(inner, components, known, depth + 1);
    for (const [name, inner] of Object.entries(out.properties ?? {}))
      out.properties[name] = deeper(inner);
    if (has(out, "items")) out.items = deeper(out.items);
    if (withMemory)
      for (const keyword of ["oneOf", "anyOf", "allOf"])
        if (Array.isArray(out[keyword]))
          out[keyword] = out[keyword].map((inner: Any) => deeper(inner, seen));
    return out;
  };
  return (schema, components) => resolve(schema, components, new Set(), 0);
}

function script(withAlternatives: boolean): Rules["schema"] {
  const resolve: Rules["schema"] = (schema, components, seen = new Set()) => {
    if (!schema) return {};
    if (schema.$ref) {
      const name = schema.$ref.split("/").pop();
      if (seen.has(name)) return {};
      seen.add(name);
      return resolve(components.schemas[name], components, seen);
    }
    const choices = withAlternatives
      ? ["oneOf", "anyOf", "allOf"]
          .filter((keyword) => Array.isArray(schema[keyword]))
          .map((keyword) => [
            keyword,
            schema[keyword].map((inner: Any) => resolve(inner, components, seen)),
          ])
      : [];
    if (!schema.type) return Object.fromEntries(choices);
    const out: Any = {
      type: schema.type,
      ...(schema.description && { description: schema.description }),
    };
    if (schema.type === "object") {
      out.required = schema.required || [];
      out.properties = Object.fromEntries(
        Object.entries(schema.properties || {}).map(([name, inner]) => [
          name,
          resolve(inner, components),
        ]),
      );
    }
    if (schema.type === "array") out.items = resolve(schema.items, components);
    return { ...out, ...Object.fromEntries(choices) };
  };
  return resolve;
}

const RULES: Readonly<Record<string, Rules>> = {
  "backend, first": {
    parameter: (parameter) => {
      if (!("name" in parameter)) throw new Error("KeyError: 'name'");
      const { type, description = "" } = parameter.schema ?? {};
      return [parameter.name, { type, description }];
    },
    schema: python(false),
    isOperation: () => true,
  },
  "backend, latest": {
    parameter: ({ name, schema = {}, description }) =>
      name && [
        name,
        { type: schema.type || "string", description: schema.description || description || "" },
      ],
    schema: python(true),
    isOperation: (method, operation) => METHODS.has(method) && operation.operationId,
  },
  "browser, first": {
    parameter: ({ name, schema, description }) => [
      name,
      { type: schema.type, description: schema.description || description || "" },
    ],
    schema: script(false),
    isOperation: (_, operation) => operation?.operationId,
  },
  "browser, latest": {
    parameter: ({ name, schema = {}, description }) =>
      name && [name, { type: schema.type, description: schema.description || description || "" }],
    schema: script(true),
    isOperation: (method, operation) => METHODS.has(method) && operation?.operationId,
  },
};

/** The four converters. */
export const CONVERTERS = Object.keys(RULES);

/** What a converter makes of a document; throws what it throws. */
export function importDocument(converter: string, document: Any): ImportedTool[] {
  const rules = RULES[converter]!;
  return Object.values<Any>(document.paths).flatMap((item) =>
    Object.entries<Any>(item)
      .filter(([method, operation]) => rules.isOperation(method, operation))
      .map(([, operation]) => importOperation(rules, operation, document.components ?? {})),
  );
}

function importOperation(rules: Rules, operation: Any, components: Any): ImportedTool {
  const parameters: Any = { type: "object", properties: {}, required: [] };
  for (const each of operation.parameters ?? []) {
    const found = rules.parameter(each);
    if (!found) continue;
    parameters.properties[found[0]] = found[1];
    if (each.required) parameters.required.push(found[0]);
  }
  const tool = {
    name: operation.operationId,
    description: operation.description ?? operation.summary ?? "No description available.",
    parameters,
  };
  const schema = operation.requestBody?.content?.["application/json"]?.schema;
  if (!schema) return tool;
  const body = rules.schema(schema, components);
  if (body.properties && Object.keys(body.properties).length > 0) {
    Object.assign(parameters.properties, body.properties);
    if (body.required) {
      if (!Array.isArray(body.required)) throw new TypeError("can only concatenate list to list");
      parameters.required = [...new Set([...parameters.required, ...body.required])];
    }
  } else if (body.type === "array") tool.parameters = body;
  return tool;
}

/** The request that Open WebUI makes of a call; `base` is the address that its administrator entered. */
export function requestOf(
  document: Any,
  base: string,
  name: string,
  args: Record<string, unknown>,
): Request {
  for (const [path, item] of Object.entries<Any>(document.paths))
    for (const [method, operation] of Object.entries<Any>(item)) {
      if (operation.operationId !== name) continue;
      const wantsBody = operation.requestBody?.content !== undefined;
      if (wantsBody && Object.keys(args).length === 0)
        throw new Error(`Request body expected for operation '${name}' but none found.`);
      return new Request(`${base}${path}`, {
        method,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(wantsBody ? args : {}),
      });
    }
  throw new Error(`No matching route found for operationId: ${name}`);
}
