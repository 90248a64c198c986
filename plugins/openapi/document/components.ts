import type { Json } from "propylon";
import { ERROR_STATUS } from "propylon/internal";
import type { Format } from "../options.ts";

/** What each status of a failed call means; the codes come from the core's table. */
const FAILURES: Readonly<Record<number, string>> = {
  400: "The request is not understood.",
  401: "Credentials are missing or wrong.",
  403: "The server or tool is switched off, or the caller may not use it.",
  404: "There is no such server or tool.",
  413: "The request body is too large.",
  415: "The request body is not JSON.",
  422: "The arguments do not match the tool's input schema, or the timeout is not valid.",
  429: "Too many calls; see Retry-After.",
  500: "The gateway failed.",
  502: "The tool reported a failure, or its server cannot be reached.",
  503: "The server's circuit is open, or the gateway is shutting down; see Retry-After.",
  504: "The tool did not answer in time.",
};

const TEXT = { type: "string" };

/** One kind of `output.items`. */
function item(type: string, properties: Json, required: readonly string[]): Json {
  return {
    type: "object",
    required: ["type", ...required],
    properties: { type: { type: "string", enum: [type] }, ...properties },
  };
}

const OUTPUT: Json = {
  type: "object",
  description: "The output piece by piece, each tagged with what it is.",
  required: ["items"],
  properties: {
    items: {
      type: "array",
      items: {
        anyOf: [
          item("text", { value: TEXT }, ["value"]),
          item("scalar", { value: { type: ["number", "boolean"] } }, ["value"]),
          item("list", { value: { type: "array", items: {} } }, ["value"]),
          item("object", { value: { type: "object" } }, ["value"]),
          item("null", { value: { type: "null" } }, ["value"]),
          item("image", { mimeType: TEXT, data: TEXT }, ["mimeType", "data"]),
          item("audio", { mimeType: TEXT, data: TEXT }, ["mimeType", "data"]),
          item("resource", { resource: { type: "object" } }, ["resource"]),
          item("resource_link", { uri: TEXT, name: TEXT }, ["uri"]),
        ],
      },
    },
  },
};

const FAILURE: Json = {
  type: "object",
  required: ["ok", "error"],
  properties: {
    ok: { type: "boolean", enum: [false] },
    error: {
      type: "object",
      required: ["code", "message"],
      properties: {
        code: { type: "string", enum: Object.keys(ERROR_STATUS) },
        message: TEXT,
        hint: { type: "string", description: "What to do next." },
        data: { type: "object", description: "Facts for programs." },
      },
    },
  },
};

const JOB: Json = {
  type: "object",
  required: ["ok", "job"],
  properties: {
    ok: { type: "boolean", enum: [true] },
    job: {
      type: "object",
      required: ["id", "server", "tool", "status", "createdAt"],
      properties: {
        id: TEXT,
        server: TEXT,
        tool: TEXT,
        status: {
          type: "string",
          enum: ["running", "input_required", "done", "failed", "cancelled"],
        },
        createdAt: { type: "string", format: "date-time" },
        endedAt: { type: "string", format: "date-time" },
        progress: { type: "object", description: "The latest report of the tool." },
        httpStatus: { type: "integer", description: "Status that the call would have had." },
        answer: { description: "Body that the call would have had." },
      },
    },
  },
};

/** Parameters of every operation that calls a tool, which are the gateway's and not the tool's. */
export const CALL_PARAMETERS: readonly Json[] = [
  {
    name: "X-Tool-Timeout",
    in: "header",
    description: "Longest run in seconds (fractions allowed), or a duration such as 1500ms or 2m.",
    schema: { type: "string" },
  },
  {
    name: "timeout",
    in: "query",
    description: "The same as X-Tool-Timeout, which beats it.",
    schema: { type: "string" },
  },
  {
    name: "Prefer",
    in: "header",
    description: "`respond-async` answers 202 at once, with the URL of a job (RFC 7240).",
    schema: { type: "string" },
  },
  {
    name: "X-Result-Format",
    in: "header",
    description: "Form of a successful answer.",
    schema: { type: "string", enum: ["envelope", "result", "raw"] },
  },
];

/** All answers of an operation that calls a tool, except for success. */
export const CALL_FAILURES: Json = Object.fromEntries(
  Object.keys(FAILURES).map((status) => [
    status,
    { $ref: `#/components/responses/Error${status}` },
  ]),
);

/** The components that every document has; those of jobs and of the output where they are referred to. */
export function commonComponents({
  open,
  format,
  jobs,
}: {
  readonly open: boolean;
  readonly format: Format;
  readonly jobs: boolean;
}): Json {
  const failures = Object.entries(FAILURES).map(([status, description]) => [
    `Error${status}`,
    { description, ...json({ $ref: "#/components/schemas/Error" }) },
  ]);
  return {
    schemas: {
      ...(format === "envelope" && { Output: OUTPUT }),
      Error: FAILURE,
      ...(jobs && { Job: JOB }),
    },
    responses: { ...Object.fromEntries(failures), ...(jobs && { Accepted: accepted() }) },
    ...(!open && { securitySchemes: { key: { type: "http", scheme: "bearer" } } }),
  };
}

function accepted(): Json {
  return {
    description: "The call runs on; its job tells how it goes.",
    headers: {
      Location: { description: "URL of the job: GET it, or DELETE it to cancel.", schema: TEXT },
      "Preference-Applied": { schema: TEXT },
    },
    ...json({ $ref: "#/components/schemas/Job" }),
  };
}

/** `content` of a JSON body. */
export function json(schema: Json): Json {
  return { content: { "application/json": { schema } } };
}

/** Schema of a successful answer in one of the formats. */
export function successSchema(result: Json, format: Format): Json {
  if (format === "raw") return result;
  const output = { $ref: "#/components/schemas/Output" };
  return {
    type: "object",
    required: ["ok", "result", ...(format === "envelope" ? ["output"] : [])],
    properties: {
      ok: { type: "boolean", enum: [true] },
      result,
      ...(format === "envelope" && { output }),
    },
  };
}
