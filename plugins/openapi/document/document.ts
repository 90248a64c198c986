import type { Json, Server, Tool } from "propylon";
import { UniqueNames } from "propylon/kit";
import {
  CALL_FAILURES,
  CALL_PARAMETERS,
  commonComponents,
  json,
  successSchema,
} from "./components.ts";
import type { OpenapiOptions } from "../options.ts";
import { inlineSchema } from "./schema.ts";

/** What every document says about the gateway. */
export interface DocumentHead {
  readonly title: string;
  readonly version: string;
  /** URL or path of the gateway without a trailing slash. */
  readonly baseUrl: string;
  /** Whether tools are called without credentials. */
  readonly open: boolean;
  readonly options: Pick<OpenapiOptions, "document" | "format" | "invokeAbove" | "jobs">;
}

/** A server with those of its tools that are shown. */
export interface ShownServer {
  readonly server: Server;
  readonly tools: readonly Tool[];
}

/**
 * The OpenAPI 3.1 document of one server. Paths are relative to the server's own, as mcpo has it.
 *
 * @param isRoot whether that is the gateway's
 */
export function serverDocument(head: DocumentHead, shown: ShownServer, isRoot = false): Json {
  const { server, tools } = shown;
  const { instructions, serverInfo } = server.catalogue;
  const draft = new Draft(head);
  draft.addServer(shown, { path: "", id: "" });
  return draft.finish({
    title: textOr(serverInfo?.["title"] ?? serverInfo?.["name"], server.name),
    version: textOr(serverInfo?.["version"], "0"),
    description: instructions ?? `${tools.length} tools of the MCP server "${server.name}".`,
    url: `${head.baseUrl}${isRoot ? "" : `/${encodeURIComponent(server.name)}`}` || "/",
  });
}

/** The OpenAPI 3.1 document of all servers. */
export function gatewayDocument(head: DocumentHead, servers: readonly ShownServer[]): Json {
  const draft = new Draft(head);
  for (const shown of servers) {
    const { name } = shown.server;
    draft.addServer(shown, { path: `/${encodeURIComponent(name)}`, id: `${name}_` });
  }
  if (offersJobs(head)) draft.addJobs();
  return draft.finish({
    title: head.title,
    version: head.version,
    description: "The tools of all servers behind this gateway.",
    url: head.baseUrl || "/",
  });
}

/** Where a server's operations stand in a document. */
interface Placement {
  /** In front of every path. */
  readonly path: string;
  /** In front of every operationId. */
  readonly id: string;
}

/** A document being written. */
class Draft {
  readonly #head: DocumentHead;
  readonly #paths: Json = {};
  readonly #tags: Json[] = [];
  readonly #components: Json;
  readonly #ids = new UniqueNames();

  constructor(head: DocumentHead) {
    this.#head = head;
    const { format } = head.options;
    this.#components = commonComponents({ open: head.open, format, jobs: offersJobs(head) });
  }

  addServer({ server, tools }: ShownServer, at: Placement): void {
    const { name, catalogue } = server;
    this.#tags.push({
      name,
      description: catalogue.instructions || `The tools of the server "${name}".`,
    });
    const hasInvoke = catalogue.tools.some((tool) => tool.name === "invoke");
    if (tools.length > this.#head.options.invokeAbove && !hasInvoke)
      this.#addInvoke(name, tools, at);
    else for (const tool of tools) this.#addTool(name, tool, at);
  }

  #addTool(server: string, tool: Tool, at: Placement): void {
    // These two would be resolved away by the client that sends the request.
    if (tool.name === "." || tool.name === "..") return;
    const id = this.#takeId(`${at.id}${tool.name}`);
    const input = inlineSchema(tool.inputSchema);
    const output = tool.outputSchema ? inlineSchema(tool.outputSchema) : {};
    const { annotations } = tool;
    this.#paths[`${at.path}/${encodeURIComponent(tool.name)}`] = {
      post: {
        operationId: id,
        summary: textOr(tool.title ?? annotations?.["title"], tool.name),
        ...(tool.description !== undefined && { description: tool.description }),
        ...this.#call(server, input, output),
        "x-mcp-tool": { server, name: tool.name, ...(annotations && { annotations }) },
      },
    };
  }

  /** One operation in place of one per tool. */
  #addInvoke(server: string, tools: readonly Tool[], at: Placement): void {
    const id = this.#takeId(`${at.id}invoke`);
    const input = {
      type: "object",
      required: ["tool"],
      additionalProperties: false,
      properties: {
        tool: { type: "string", enum: tools.map(({ name }) => name) },
        arguments: { type: "object", description: "As the tool's input schema says." },
      },
    };
    this.#paths[`${at.path}/invoke`] = {
      post: {
        operationId: id,
        summary: `Call a tool of ${server}`,
        description: tools.map(toLine).join("\n"),
        ...this.#call(server, input, {}),
      },
    };
  }

  #call(server: string, input: Json, output: Json): Json {
    const { format } = this.#head.options;
    const isFull = this.#head.options.document === "full";
    const success = json(successSchema(output, format))["content"] as Json;
    return {
      tags: [server],
      ...(isFull && { parameters: CALL_PARAMETERS }),
      ...(takesArguments(input) && {
        requestBody: { required: isRequired(input), ...json(input) },
      }),
      responses: {
        "200": {
          description: "The tool's output.",
          content: { ...success, ...(isFull && EVENTS) },
        },
        ...(offersJobs(this.#head) && { "202": { $ref: "#/components/responses/Accepted" } }),
        ...CALL_FAILURES,
      },
    };
  }

  addJobs(): void {
    const answers = (description: string): Json => ({
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      responses: {
        "200": { description, ...json({ $ref: "#/components/schemas/Job" }) },
        "401": CALL_FAILURES["401"],
        "404": CALL_FAILURES["404"],
      },
    });
    this.#paths["/_jobs/{id}"] = {
      get: {
        operationId: this.#takeId("job_get"),
        summary: "How a job goes",
        ...answers("The job, with its answer once it ended."),
      },
      delete: {
        operationId: this.#takeId("job_cancel"),
        summary: "Cancel a job, or forget a finished one",
        ...answers("The job as it was."),
      },
    };
  }

  finish(info: { title: string; version: string; description: string; url: string }): Json {
    const { url, ...about } = info;
    return {
      openapi: "3.1.0",
      info: about,
      servers: [{ url }],
      security: this.#head.open ? [] : [{ key: [] }],
      tags: this.#tags,
      paths: this.#paths,
      components: this.#components,
    };
  }

  /** An operationId that no other has, usable as a name in code. */
  #takeId(wanted: string): string {
    const name = wanted.slice(0, MAX_NAME).replaceAll(/[^A-Za-z0-9_]+/g, "_");
    return this.#ids.take(name);
  }
}

/** The answer as it comes, where a client asks for it. */
const EVENTS: Json = {
  "text/event-stream": {
    schema: {
      type: "string",
      description: "`progress` events, then one `result` or `error` with the JSON body.",
    },
  },
};

/** Whether the document tells of jobs. */
function offersJobs({ options }: DocumentHead): boolean {
  return options.document === "full" && options.jobs.maxJobs > 0;
}

/** Whether there is anything to send. Importers refuse to call an operation with a body when a model gives no arguments. */
function takesArguments(input: Json): boolean {
  return Object.entries(input).some(([keyword, value]) => {
    if (keyword === "properties") return Object.keys(value as Json).length > 0;
    if (keyword === "additionalProperties") return typeof value === "object";
    return !WORDS.has(keyword);
  });
}

/** Keywords of a schema that asks for nothing. */
const WORDS = new Set(["type", "title", "description", "required"]);

function isRequired({ required }: Json): boolean {
  return Array.isArray(required) && required.length > 0;
}

function toLine({ name, description = "" }: Tool): string {
  return `- \`${name}\`: ${description.split("\n", 1)[0]}`;
}

function textOr(value: unknown, fallback: string): string {
  return typeof value === "string" && value !== "" ? value : fallback;
}

/** Longest name that models' interfaces take for a function. */
const MAX_NAME = 64;
