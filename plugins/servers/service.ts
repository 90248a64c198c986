import { type Answer, type Call, defineService, type Json, type Principal } from "propylon";
import type { ManagedServer } from "propylon/kit";
import type { HttpServerConfig } from "./entry.ts";

export { type HttpServerConfig, httpServerSchema } from "./entry.ts";
export { readAuth, type ServerAuth } from "./server-auth.ts";

/** Keys that servers check the gateway's assertions with. */
export interface AssertionKeysService {
  /** Whether any server is told who calls. */
  readonly isUsed: boolean;
  /** A JSON Web Key Set (RFC 7517). @throws {GatewayError} `unavailable` while the store is away and the key is not known */
  keySet(): Promise<{ readonly keys: readonly Json[] }>;
  /** Somebody publishes the keys. Until then no call goes to a server that is told who calls: it could not check it. */
  publish(): void;
}

/** A request that a server refused for its credentials. */
export interface ServerRefusal {
  readonly status: 401 | 403;
  /** Its `WWW-Authenticate`; empty where there was none. */
  readonly challenge: string;
  /** The `Authorization` that the request had. */
  readonly authorization: string | undefined;
}

/** One account at one server. Nothing of it may reach the requests of another. */
export interface ServerAccount {
  /**
   * Value of `Authorization` for the next request, at once where it is at hand; `undefined`: it goes without.
   * @throws {GatewayError} why there can be none
   */
  authorization(): string | undefined | Promise<string | undefined>;
  /**
   * Gets other credentials where that needs no person.
   * @returns whether the request may be sent again
   * @throws {GatewayError} `forbidden` with `data.login` where a person has to log in
   */
  refused(refusal: ServerRefusal): Promise<boolean>;
  /**
   * Lets the caller log in, where what {@link authorization} or {@link refused} threw asks for that.
   * @returns an answer for the caller; `undefined`: the call may be made again
   * @throws the error, where nobody can log in now
   */
  login(call: Call, error: unknown): Promise<Answer | undefined>;
}

/** Logs in at servers. */
export interface ServerLogins {
  /** @param principal whose account; `undefined`: the gateway's */
  accountOf(
    server: string,
    config: HttpServerConfig,
    principal: Principal | undefined,
  ): ServerAccount;
}

/** A server that a plugin talks to on its own: it is not in any list, and nobody's calls reach it but those that the plugin passes on. */
export interface OwnServer extends ManagedServer {
  /**
   * Calls a tool for the plugin itself: there is no caller, and no progress is asked for. Where there is no connection, or it breaks,
   * another one is made first.
   *
   * @param signal ends the wait
   * @throws {GatewayError} `upstream_error`, `timeout`; what aborted the signal
   */
  ask(tool: string, args: Json, signal: AbortSignal): Promise<Answer>;
}

/** What other plugins do for the servers that speak MCP, and have done. */
export interface McpServersService extends AssertionKeysService {
  /**
   * Makes a server that is not one of the config, e.g. of an address that somebody entered: give it `allowAddresses` then.
   * @param name for messages and the log
   * @param config as {@link httpServerSchema} made it, without `auth`
   */
  create(name: string, config: HttpServerConfig): OwnServer;
  /** The entries with `auth`, by the names of their servers. */
  logins(): ReadonlyMap<string, HttpServerConfig>;
  /** Has them log in so, until the function that it returns is called. The last one counts. */
  loginWith(logins: ServerLogins): () => void;
  /** Somebody logged in, or out: what was opened without is opened again. @param principal `undefined`: the gateway */
  renew(server: string, principal: Principal | undefined): void;
}

/** Service token of the servers plugin. */
export const McpServers = defineService<McpServersService>("mcp-servers");
