// @ts-check
import { EventEmitter, once } from "node:events";
import { createGateway } from "propylon";

/** How often somebody logs in, at most: a server may want more with every answer. */
const MAX_LOGINS = 5;

/**
 * What a scenario tells its client.
 *
 * @typedef {import("propylon").Json} Json
 * @typedef {{
 *   toolCalls?: { name: string, arguments: Json }[],
 *   issuer?: string,
 *   client_id?: string,
 *   client_secret?: string,
 *   private_key_pem?: string,
 *   signing_algorithm?: "ES256",
 * }} Context
 */

/**
 * The client that the suite tests: a gateway whose only server is the suite's. It calls everything that the server offers, as a
 * capable client behind the gateway would, and ends.
 *
 * @param {string} scenario
 * @param {string} url of the suite's server
 * @param {Context} context
 * @param {AbortSignal} signal
 */
export async function runClient(scenario, url, context, signal) {
  const auth = scenario.startsWith("auth/") && { auth: authOf(scenario, context) };
  const gateway = await createGateway({
    listeners: { main: { port: 0 } },
    management: { mutations: true },
    // All scenarios begin at once: a server that is slow to answer is not an old one, nor without a stream of its own.
    servers: { suite: { url, connectTimeout: "120s", ...auth } },
    log: { level: "silent" },
  });
  const close = () => gateway.close({ grace: 0 });
  signal.addEventListener("abort", () => void close());
  try {
    await gateway.listen();
    await new Visitor(gateway).callAll(context.toolCalls);
  } finally {
    await close();
  }
}

/** Calls what a server offers through its gateway. */
class Visitor {
  /** @type {import("propylon").Gateway} */
  #gateway;
  #logins = 0;

  /** @param {import("propylon").Gateway} gateway */
  constructor(gateway) {
    this.#gateway = gateway;
  }

  /** @param {Context["toolCalls"]} toolCalls default: each tool once */
  async callAll(toolCalls) {
    await this.#ready();
    const { tools, resources, prompts } = this.#gateway.servers.get("suite")?.catalogue ?? {
      tools: [],
      resources: [],
      prompts: [],
    };
    const echo = tools.find(({ name }) => name === "json_schema_echo");
    if (echo)
      await this.#call("tools/call", echo.name, {
        schema: tools.find((tool) => tool !== echo)?.inputSchema,
      });
    else
      for (const { name, arguments: args } of toolCalls ?? tools.map(sampleCall))
        await this.#call("tools/call", name, args);
    for (const { uri } of resources) await this.#call("resources/read", uri);
    for (const { name } of prompts) await this.#call("prompts/get", name);
  }

  /** Waits until the server has answered, as start-up does not. */
  async #ready() {
    const changes = new EventEmitter();
    this.#gateway.hook("server:state", () => changes.emit("state"));
    for (;;) {
      const { state, reason = "" } = this.#gateway.servers.get("suite")?.status ?? {};
      if (state === "ready") return;
      if (wantsLogin(reason)) await this.#logIn();
      // Nobody could go on where the gateway does not.
      else if (state === "failed" || state === "degraded") throw new Error(reason);
      else await once(changes, "state");
    }
  }

  /** Logs the gateway in, as its operator does in a browser: the suite agrees without a page. */
  async #logIn() {
    if (++this.#logins > MAX_LOGINS) throw new Error("The server wants one login after the other.");
    const own = String(this.#gateway.addresses.get("main")?.url);
    const begun = await fetch(`${own}/_meta/oauth-client/servers/suite/login`, { method: "POST" });
    const { location: link } = await answerOf(begun);
    const opened = await fetch(link, { method: "POST" });
    const [cookie = ""] = opened.headers.getSetCookie();
    const { location } = await answerOf(opened);
    const agreed = await fetch(location, { redirect: "manual" });
    const headers = { cookie: cookie.slice(0, cookie.indexOf(";")) };
    const ended = await fetch(String(agreed.headers.get("location")), { headers });
    if (!ended.ok) throw new Error(await ended.text());
    await new Promise((resolve) => setImmediate(resolve));
  }

  /**
   * Makes a call and answers what the server asks on the way (SEP-2322), as a client of the gateway would.
   * @param {import("propylon").CallMethod} method
   * @param {string} name
   * @param {Json} [args]
   * @param {Json} [params]
   */
  async #call(method, name, args, params) {
    const peer = {
      key: "suite",
      capabilities: { elicitation: {}, sampling: {}, roots: {} },
      ask,
      tell: () => undefined,
    };
    const result = await this.#callOrLogIn({ server: "suite", method, name, args, params, peer });
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
    await this.#call(method, name, args, {
      inputResponses,
      ...(requestState !== undefined && { requestState }),
    });
  }

  /**
   * A server may want more rights for a call.
   * @param {import("propylon").CallInput} input
   */
  async #callOrLogIn(input) {
    for (;;) {
      try {
        return (await this.#gateway.call(input)).result;
      } catch (error) {
        if (!(error instanceof Error) || !wantsLogin(error.message)) throw error;
        await this.#logIn();
        await this.#ready();
      }
    }
  }
}

/**
 * The login that the scenario is about, as an operator writes it.
 * @param {string} scenario
 * @param {Context} context
 */
function authOf(scenario, context) {
  const { issuer, client_id: id, client_secret: secret, private_key_pem: privateKey } = context;
  const isMachine = scenario.startsWith("auth/client-credentials");
  return {
    type: /** @type {const} */ ("oauth"),
    ...(issuer !== undefined && { issuer }),
    ...(isMachine && { grant: /** @type {const} */ ("client_credentials") }),
    client:
      id === undefined
        ? { metadataUrl: "https://conformance-test.local/client-metadata.json" }
        : { id, ...(privateKey === undefined ? { secret } : { privateKey }) },
  };
}

/**
 * The JSON of an answer that is no error.
 * @param {Response} response
 */
async function answerOf(response) {
  const body = /** @type {any} */ (await response.json());
  if (!response.ok) throw new Error(body.error.message);
  return body;
}

/** @param {string} reason */
function wantsLogin(reason) {
  return reason.includes("has to log in at the server");
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
