import { GatewayError, type Json } from "propylon";
import { isLoopback, isObject } from "propylon/kit";
import { renamed, usableNames } from "./names.ts";
import { readPython, type PythonAgent } from "./python.ts";

/** The files of a Pallas deployment, parsed. */
export interface PallasFiles {
  /** `agents.yaml`. */
  readonly agents: unknown;
  /** `fastagent.config.yaml`. */
  readonly config: unknown;
  /** `fastagent.secrets.yaml`; only its names are used. */
  readonly secrets: unknown;
  /** Source of an agent's Python module, if it is there. */
  source(module: string): string | undefined;
}

/** A gateway config, and what a person still has to do. */
export interface PallasImport {
  readonly config: Json;
  /** Sentences. */
  readonly notes: readonly string[];
}

/** Keys of providers in fast-agent's config that speak OpenAI's API, and those that do not. */
const PROVIDERS: Readonly<Record<string, "openai" | "anthropic" | "openai-compatible">> = {
  openai: "openai",
  anthropic: "anthropic",
  generic: "openai-compatible",
  openrouter: "openai-compatible",
  deepseek: "openai-compatible",
};

/** Where each provider is when the config does not say. */
const ADDRESSES: Readonly<Record<string, string>> = {
  generic: "http://localhost:11434/v1",
  openrouter: "https://openrouter.ai/api/v1",
  deepseek: "https://api.deepseek.com/v1",
};

/**
 * Turns a Pallas deployment into a gateway config. Secrets are not copied: they become variables, which the notes name.
 * @throws {GatewayError} `invalid` when it is not one, or forwards the credentials of its callers
 */
export function importPallas(files: PallasFiles): PallasImport {
  const topology = mapOf(files.agents);
  const config = merge(mapOf(files.config), mapOf(files.secrets));
  const written = mapOf(topology["agents"]);
  if (Object.keys(written).length === 0)
    throw new GatewayError("invalid", "The agents.yaml has no agents.", {
      hint: "Give the folder of a Pallas deployment.",
    });
  const notes: string[] = [];
  const given = serversOf(config);
  refuseForwarding(given);
  const serverNames = usableNames("server", given, notes);
  const agentNames = usableNames("agent", written, notes);
  const all = renamed(given, serverNames);
  const agents = renamed(written, agentNames);
  const own = ownPorts(agents);
  const isOwn = (server: unknown): string | undefined =>
    own.get(portOf(mapOf(server)["url"], topology["host"]));
  const servers = Object.entries(all).filter(([, server]) => isOwn(server) === undefined);
  const around = { all, isOwn, config, notes, serverNames, agentNames };
  const entries = Object.entries(agents).map(([name, agent]) => {
    const python = readPython(files.source(String(mapOf(agent)["module"])));
    return [name, agentOf(name, mapOf(agent), python, around)] as const;
  });
  notes.push(
    "Everything listens on 127.0.0.1: for clients elsewhere set host of the listeners, and auth.",
  );
  const { registry_port: port, version } = topology;
  return {
    config: {
      name: nameOf(topology),
      ...(typeof version === "string" && { version }),
      ...publicUrlOf(topology),
      ...(servers.length > 0 && {
        servers: Object.fromEntries(
          servers.map(([name, server]) => [name, serverOf(name, mapOf(server), notes)]),
        ),
      }),
      agents: Object.fromEntries(entries),
      plugins: {
        agents: {
          providers: providersOf(config, notes),
          ...modelOf(config["default_model"], "model"),
        },
        registry: port === undefined ? {} : { listener: { port } },
        health: {},
        progress: {},
      },
    },
    notes,
  };
}

/** Tokens are never passed on: the one who gets it could use it everywhere. */
function refuseForwarding(servers: Json): void {
  for (const [name, server] of Object.entries(servers)) {
    if (mapOf(server)["forward_inbound_auth"] !== true) continue;
    throw new GatewayError(
      "invalid",
      `The server "${name}" has forward_inbound_auth: true, but the credentials of callers are never passed on.`,
      {
        hint: `Remove that line and give the server a token of its own: headers: { Authorization: "Bearer \${${variable(name, "token")}}" }.`,
      },
    );
  }
}

/** What {@link agentOf} looks things up in. */
interface Deployment {
  readonly all: Json;
  /** Name of the agent that a server entry leads back to. */
  readonly isOwn: (server: unknown) => string | undefined;
  readonly config: Json;
  readonly notes: string[];
  /** New names by those that the deployment has. */
  readonly serverNames: ReadonlyMap<string, string>;
  readonly agentNames: ReadonlyMap<string, string>;
}

function agentOf(
  name: string,
  agent: Json,
  python: PythonAgent | undefined,
  { all, isOwn, config, notes, serverNames, agentNames }: Deployment,
): Json {
  const { title, description, port, depends_on: dependsOn, icons, model } = agent;
  const used = (listOf(agent["servers"]) ?? python?.servers ?? []).map(
    (server) => serverNames.get(server) ?? server,
  );
  const instructions = agent["instruction"] ?? python?.instruction;
  if (instructions === undefined)
    notes.push(`agents.${name} has no instructions: copy them from its Python module.`);
  if (used.length === 0 && python === undefined)
    notes.push(`agents.${name} names no servers: list those that its Python module uses.`);
  const missing = used.filter((server) => !Object.hasOwn(all, server));
  if (missing.length > 0)
    notes.push(
      `agents.${name} uses ${missing.join(", ")}, which fastagent.config.yaml does not have.`,
    );
  const known = used.filter((server) => Object.hasOwn(all, server));
  const others = known.flatMap((server) => isOwn(all[server]) ?? []);
  const servers = known.filter((server) => isOwn(all[server]) === undefined);
  const capabilities = agent["model_capabilities"] ?? config["model_capabilities"];
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(icons !== undefined && { icons }),
    ...(port !== undefined && { listener: { port } }),
    ...modelOf(model ?? python?.model, "model"),
    ...(instructions !== undefined && { instructions }),
    ...(servers.length > 0 && { servers }),
    ...(others.length > 0 && { agents: [...new Set(others)] }),
    ...(Array.isArray(dependsOn) &&
      dependsOn.length > 0 && {
        dependsOn: dependsOn.map((other) => agentNames.get(String(other)) ?? String(other)),
      }),
    toolName: "send_message",
    ...(isObject(capabilities) && { capabilities }),
  };
}

function serverOf(name: string, server: Json, notes: string[]): Json {
  const { command, args, env, cwd, url, headers, transport } = server;
  if (url === undefined)
    return {
      command,
      ...(Array.isArray(args) && { args }),
      ...(isObject(env) && { env: hide(name, env, notes, `servers.${name}.env`) }),
      ...(cwd !== undefined && { cwd }),
    };
  return {
    url,
    ...(transport === "sse" && { transport: "sse" }),
    ...(isObject(headers) && {
      headers: hide(name, headers, notes, `servers.${name}.headers`),
    }),
  };
}

/** Values as variables; those that are variables already stay. */
function hide(name: string, values: Json, notes: string[], place: string): Json {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => {
      const text = String(value);
      if (/\$\{[^}]+\}/.test(text)) return [key, text];
      const bearer = /^Bearer /i.test(text);
      const secret = variable(name, key === "Authorization" ? "token" : key);
      notes.push(
        `Put ${secret} into .env: ${bearer ? "the token of" : "the value of"} ${place}.${key}.`,
      );
      return [key, `${bearer ? "Bearer " : ""}\${${secret}}`];
    }),
  );
}

function providersOf(config: Json, notes: string[]): Json {
  const found = Object.entries(PROVIDERS).filter(([name]) => isObject(config[name]));
  return Object.fromEntries(
    found.map(([name, type]) => {
      const { api_key: key, base_url: url } = mapOf(config[name]);
      const address = url ?? ADDRESSES[name];
      // OpenAI's own adapter is for OpenAI; whatever else speaks its API is compatible.
      const kind = type === "openai" && url !== undefined ? "openai-compatible" : type;
      const secret = variable(name, "api_key");
      if (key !== undefined) notes.push(`Put ${secret} into .env: the api_key of ${name}.`);
      return [
        name,
        {
          type: kind,
          ...(address !== undefined && { baseUrl: address }),
          ...(key !== undefined && { apiKey: `\${${secret}}` }),
        },
      ];
    }),
  );
}

/** `openai.gpt-5.low` is provider, model and an effort that only fast-agent knows. */
function modelOf(model: unknown, key: string): Json {
  if (typeof model !== "string") return {};
  const [provider, ...rest] = model.split(".");
  const name = rest
    .join(".")
    .replace(/\.(?:minimal|low|medium|high)$/, "")
    .replace(/\?.*$/, "");
  return { [key]: name === "" ? model : `${provider}/${name}` };
}

function nameOf({ name, namespace }: Json): string {
  const own = typeof name === "string" ? name : "pallas";
  return typeof namespace === "string" ? `${namespace}/${own}` : own;
}

function publicUrlOf({ host }: Json): Json {
  return typeof host === "string" ? { publicUrl: `http://${host}:8080` } : {};
}

/** `mcp.servers`, and the short form `mcp.targets`. */
function serversOf({ mcp }: Json): Json {
  const { servers, targets } = mapOf(mcp);
  const short = (Array.isArray(targets) ? targets : []).filter(isObject).map((entry) => {
    const target = String(entry["target"]);
    const [command, ...args] = target.split(/\s+/);
    return [
      String(entry["name"]),
      /^https?:/.test(target) ? { url: target } : { command, args },
    ] as const;
  });
  return { ...Object.fromEntries(short), ...mapOf(servers) };
}

/** Ports of the deployment's own agents. */
function ownPorts(agents: Json): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(agents).map(([name, agent]) => [String(mapOf(agent)["port"]), name]),
  );
}

/** The port of a URL that leads to this machine or the deployment's own; "" for others. */
function portOf(url: unknown, host: unknown): string {
  if (typeof url !== "string" || !URL.canParse(url)) return "";
  const { hostname, port } = new URL(url);
  return hostname === host || isLoopback(hostname) ? port : "";
}

function variable(...words: readonly string[]): string {
  return words
    .join("_")
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .toUpperCase();
}

function mapOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

function listOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.map(String) : undefined;
}

/** What fast-agent does with its two files. */
function merge(left: Json, right: Json): Json {
  const merged = new Map(Object.entries(left));
  for (const [key, value] of Object.entries(right)) {
    const before = merged.get(key);
    merged.set(key, isObject(before) && isObject(value) ? merge(before, value) : value);
  }
  return Object.fromEntries(merged);
}
