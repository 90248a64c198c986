import {
  GatewayError,
  isGatewayError,
  type RouteEvent,
  type Server,
  type ServerState,
} from "propylon";
import { pathParameter, readJson, setTimer, AllowedAddresses } from "propylon/kit";
import { lookup } from "node:dns/promises";
import { additionSchema, toEntry } from "./addition.ts";
import type { AdminContext, Administration, ServerView } from "./administration.ts";
import { checkCommand } from "./command.ts";
import type { AdminOptions } from "./options.ts";

/** Which servers over HTTP the API may add: what is added here is reached from inside the operator's network. */
class ServerAddresses {
  /** Goes into every entry, so that its name is checked again whenever it is connected to. */
  readonly entry: { readonly allowAddresses: readonly string[] };
  readonly #addresses: AllowedAddresses;

  /** @throws {GatewayError} `invalid` for an entry that is not a host, address or network */
  constructor(allow: readonly string[]) {
    this.entry = { allowAddresses: allow };
    this.#addresses = new AllowedAddresses(allow, "plugins.admin.allowedAddresses");
  }

  /**
   * Refuses a URL that leads to an address which is not allowed. A name that nobody knows now is checked when it is connected to.
   * @throws {GatewayError} `invalid`
   */
  async check(url: string): Promise<void> {
    const parsed = new URL(url);
    const found = await lookup(parsed.hostname, { all: true }).catch(() => []);
    const permits = ({ address }: { readonly address: string }): boolean =>
      this.#addresses.permits(address, parsed.hostname);
    if (this.#addresses.permitsUrl(parsed) && found.every(permits)) return;
    const message = "The URL leads to an address that servers added over the API may not have.";
    throw new GatewayError("invalid", message, {
      hint: "Add its host or network to plugins.admin.allowedAddresses, or put the server into the config file.",
      data: { issues: [{ path: "url", message }] },
    });
  }
}

const UNSETTLED: ReadonlySet<ServerState> = new Set(["idle", "connecting"]);

/**
 * Waits until a server's first attempt to connect has an outcome and its tools are known, at most so many milliseconds.
 *
 * @param signal ends the wait
 */
async function whenSettled(
  server: Server | undefined,
  limit: number,
  signal: AbortSignal,
): Promise<void> {
  if (!server || signal.aborted || !UNSETTLED.has(server.status.state)) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      unlisten();
      resolve();
    };
    const unlisten = server.on(() => {
      if (!UNSETTLED.has(server.status.state)) end();
    });
    const timer = setTimer(end, limit);
    signal.addEventListener("abort", end, { once: true });
  });
}

const READ = { access: "viewer", mutates: false, management: true } as const;
/** What a new server runs or reaches, the gateway runs or reaches: that takes more than switching things on and off. */
const CHANGE = { access: "admin", mutates: true, management: true } as const;

/** The config: where it is, what is in force, and the servers in it. */
export function configRoutes(
  gateway: AdminContext,
  administration: Administration,
  options: AdminOptions,
): void {
  const {
    info,
    services: { management },
  } = gateway;
  const addresses = new ServerAddresses(options.allowedAddresses);
  const leaving = new AbortController();
  gateway.onDispose(() => leaving.abort());
  gateway.route("GET", "/_meta/config", READ, () => ({
    ok: true,
    path: management.configFile ?? null,
  }));
  gateway.route("GET", "/_meta/config/effective", { ...READ, access: "operator" }, () => ({
    ok: true,
    config: info.effectiveConfig(),
  }));
  gateway.route("POST", "/_meta/servers", CHANGE, async (event) => {
    const how = { ...options, addresses, signal: leaving.signal };
    const server = await addServer(gateway, administration, how, event);
    event.res.status = 201;
    return { ok: true, server };
  });
  gateway.route("DELETE", "/_meta/servers/:server", CHANGE, async (event) => {
    const name = pathParameter(event, "server");
    checkRemoval(administration, name);
    const report = await management.edit([
      { path: ["servers", name], value: undefined, when: "present" },
    ]);
    return { ok: true, server: name, generation: report.generation };
  });
}

/** How a server is added. */
interface AdditionOptions extends AdminOptions {
  readonly addresses: ServerAddresses;
  /** Ends the wait for the new server. */
  readonly signal: AbortSignal;
}

/** Writes the entry down, applies it, and waits a moment so that the answer can say whether it works. */
async function addServer(
  gateway: AdminContext,
  administration: Administration,
  { addresses, signal, ...options }: AdditionOptions,
  event: RouteEvent,
): Promise<ServerView | { readonly name: string; readonly enabled: false }> {
  const addition = await readJson(event, additionSchema);
  const { name } = addition;
  event.context.target = { server: name };
  if (gateway.info.servers.has(name) || administration.isConfigured(name))
    throw new GatewayError("exists", `There is a server "${name}" already.`, {
      hint: "Choose another name, or delete that one first.",
    });
  if ("command" in addition) checkCommand([addition.command, ...addition.args], options);
  else await addresses.check(addition.url);
  const entry = { ...toEntry(addition), ...("url" in addition && addresses.entry) };
  await writeEntry(gateway, name, entry);
  if (!addition.enabled) return { name, enabled: false };
  await whenSettled(gateway.info.servers.get(name), options.settleTimeout * 1_000, signal);
  return administration.server(name, event.context.principal);
}

/** @throws {GatewayError} `invalid` for an entry that the config refuses: it is the request that is wrong, and nothing failed here */
async function writeEntry(
  { services }: AdminContext,
  name: string,
  entry: Record<string, unknown>,
): Promise<void> {
  try {
    await services.management.edit([{ path: ["servers", name], value: entry, when: "absent" }]);
  } catch (error) {
    if (!isGatewayError(error) || error.data?.["reason"] !== "invalid") throw error;
    const issues = (error.data["issues"] ?? []) as readonly ConfigProblem[];
    const [first] = issues;
    throw new GatewayError("invalid", first?.message ?? error.message, {
      data: { issues: issues.map(({ message, place }) => ({ path: place?.path, message })) },
      hint: first?.hint ?? "Correct the entry, and send it again.",
      cause: error,
    });
  }
}

/** One problem in `data.issues` of a config that was refused. */
interface ConfigProblem {
  readonly message: string;
  readonly hint: string;
  readonly place?: { readonly path?: string };
}

function checkRemoval(administration: Administration, name: string): void {
  if (administration.isConfigured(name)) return;
  administration.find(name);
  throw new GatewayError(
    "invalid",
    `"${name}" belongs to a plugin, so it cannot be deleted alone.`,
    {
      hint: "Disable it, or take the plugin out of the config.",
    },
  );
}
