// @ts-check
import { EventEmitter, once } from "node:events";
import { createGateway } from "propylon";

/**
 * The client that the suite tests: a gateway whose only server is the suite's. It calls everything that the server offers, as a
 * capable client behind the gateway would, and ends.
 *
 * @typedef {import("propylon").Json} Json
 */

const url = /** @type {string} */ (process.argv[2]);
/** @type {{ toolCalls?: { name: string, arguments: Json }[] }} */
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}");

const gateway = await createGateway({ servers: { suite: { url } }, log: { level: "silent" } });
try {
  await ready();
  const { tools, resources, prompts } = gateway.servers.get("suite")?.catalogue ?? {
    tools: [],
    resources: [],
    prompts: [],
  };
  const echo = tools.find(({ name }) => name === "json_schema_echo");
  if (echo)
    await call("tools/call", echo.name, {
      schema: tools.find((tool) => tool !== echo)?.inputSchema,
    });
  else
    for (const { name, arguments: args } of context.toolCalls ?? tools.map(sampleCall))
      await call("tools/call", name, args);
  for (const { uri } of resources) await call("resources/read", uri);
  for (const { name } of prompts) await call("prompts/get", name);
} finally {
  await gateway.close({ grace: 0 });
}

/** Waits until the server has answered, as start-up does not. */
async function ready() {
  const changes = new EventEmitter();
  gateway.hook("server:state", () => changes.emit("state"));
  while (gateway.servers.get("suite")?.status.state !== "ready") await once(changes, "state");
}

/**
 * Makes a call and answers what the server asks on the way (SEP-2322), as a client of the gateway would.
 * @param {import("propylon").CallMethod} method
 * @param {string} name
 * @param {Json} [args]
 * @param {Json} [params]
 */
async function call(method, name, args, params) {
  const peer = {
    key: "suite",
    capabilities: { elicitation: {}, sampling: {}, roots: {} },
    ask,
    tell: () => undefined,
  };
  const { result } = await gateway.call({ server: "suite", method, name, args, params, peer });
  if (result?.["resultType"] !== "input_required") return;
  const requests = Object.entries(
    /** @type {Record<string, { method: string, params: Json }>} */ (result["inputRequests"]),
  );
  const inputResponses = Object.fromEntries(
    await Promise.all(
      requests.map(async ([key, request]) => [key, await ask(request.method, request.params)]),
    ),
  );
  const { requestState } = result;
  await call(method, name, args, {
    inputResponses,
    ...(requestState !== undefined && { requestState }),
  });
}

/**
 * Accepts every form, filled with its defaults (SEP-1034).
 * @param {string} method
 * @param {Json | undefined} params
 * @returns {Promise<Json>}
 */
async function ask(method, params) {
  if (method !== "elicitation/create")
    throw new Error(`No scenario is known to ask for ${method}.`);
  const form = /** @type {{ properties: Record<string, Json> } | undefined} */ (
    params?.["requestedSchema"]
  );
  const defaults = Object.entries(form?.properties ?? {}).map(([key, schema]) => [
    key,
    schema["default"] ?? sample(schema),
  ]);
  return { action: "accept", content: Object.fromEntries(defaults) };
}

/** @param {import("propylon").Tool} tool */
function sampleCall({ name, inputSchema }) {
  const properties = Object.entries(
    /** @type {Record<string, Json>} */ (inputSchema["properties"] ?? {}),
  );
  return {
    name,
    arguments: Object.fromEntries(properties.map(([key, schema]) => [key, sample(schema)])),
  };
}

/** @param {Json} schema */
function sample({ type }) {
  if (type === "number" || type === "integer") return 7;
  if (type === "boolean") return true;
  return "sample";
}
