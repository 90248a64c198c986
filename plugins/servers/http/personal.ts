import { type Call, GatewayError, type Principal } from "propylon";
import { HEADER_VALUE } from "propylon/internal";
import { fillTemplate, hasTemplate } from "../header-template.ts";
import {
  type HttpServerConfig,
  isPersonal,
  readConnection,
  type ServerConnection,
  type StdioServerConfig,
} from "../entry.ts";
import { readAuth } from "../server-auth.ts";
import type { OwnBoundsOptions } from "../own-bounds.ts";
import type { ServerAccount } from "../service.ts";

/** Connections of principals where the entry says nothing; each may be a process. */
const MAX_OWN = 16;
/** Connections of principals where each needs one. */
const MAX_PERSONAL = 64;

/** What the requests of one connection have in common. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly account: ServerAccount | undefined;
}

/** Finds which calls share a connection, and what a server is sent of whom: the same for all, or something else for each principal. */
export class ServerCredentials {
  /** Whether no two principals may share a connection. */
  readonly isPersonal: boolean;
  /** Whether the shared connection lacks what callers are known by, so that it may see less than theirs. */
  readonly isSecret: boolean;
  readonly #per: ServerConnection["per"];
  readonly #server: string;
  readonly #headers: Readonly<Record<string, string>>;
  /** Headers that are filled in for each principal. */
  readonly #templates: readonly string[];
  readonly #accountOf: (principal: Principal | undefined) => ServerAccount | undefined;

  constructor(
    server: string,
    config: HttpServerConfig | StdioServerConfig,
    accountOf: (principal: Principal | undefined) => ServerAccount | undefined,
  ) {
    this.#server = server;
    this.#headers = "command" in config ? {} : config.headers;
    this.#templates = Object.values(this.#headers).filter(hasTemplate);
    this.isSecret = !("command" in config) && isPersonal(config);
    this.#per = readConnection(config.connection).per;
    this.isPersonal = this.isSecret || this.#per !== "shared";
    this.#accountOf = accountOf;
  }

  /** Of the shared connection: without what is a principal's. */
  get shared(): Credentials {
    const known = Object.entries(this.#headers).filter(([, value]) => !hasTemplate(value));
    return { headers: Object.fromEntries(known), account: this.#accountOf(undefined) };
  }

  /** Of the calls of a principal. @throws {GatewayError} `forbidden` where it lacks what a header is made of */
  of(principal: Principal): Credentials {
    return { headers: this.#headersOf(principal), account: this.accountOf(principal) };
  }

  /** Whose account a call uses. */
  accountOf(principal: Principal): ServerAccount | undefined {
    return this.#accountOf(this.isSecret ? principal : undefined);
  }

  /**
   * What tells the connections of principals apart: somebody whose claims change needs another one. Calls without an MCP session
   * (HTTP, A2A, clients of the modern era) are one session of their principal.
   */
  keyOf({ principal, peer }: Pick<Call, "principal" | "peer">): string {
    const { ref } = principal;
    const session = this.sessionOf(peer);
    if (session !== undefined) return [ref, session, ...this.#filled(principal)].join("\n");
    return this.#templates.length === 0 ? ref : [ref, ...this.#filled(principal)].join("\n");
  }

  /** The MCP session that has a connection of its own: only clients of the legacy era have one. */
  sessionOf({ era, key }: Call["peer"]): string | undefined {
    return this.#per === "session" && era === "legacy" ? key : undefined;
  }

  #filled(principal: Principal): readonly string[] {
    return this.#templates.map((value) => this.#fill(value, principal));
  }

  #headersOf(principal: Principal): Readonly<Record<string, string>> {
    const filled = Object.entries(this.#headers).map(
      ([name, value]) => [name, this.#fill(value, principal)] as const,
    );
    return Object.fromEntries(filled);
  }

  #fill(template: string, principal: Principal): string {
    return fillTemplate(template, (name) => this.#valueOf(principal, name));
  }

  #valueOf(principal: Principal, name: string): string {
    const value = propertyOf(principal, name);
    // A line break would add headers of the principal's own.
    if (value !== undefined && HEADER_VALUE.test(value)) return value;
    throw new GatewayError(
      "forbidden",
      `Server "${this.#server}" needs to know the ${name} of the caller, which is ${value === undefined ? "not known" : "no header value"}.`,
      { hint: `Call as somebody who has it, or change servers.${this.#server}.headers.` },
    );
  }
}

/** {@link ServerCredentials} where there are any to be found. */
export function credentialsOf(
  server: string,
  config: HttpServerConfig | StdioServerConfig,
  accountOf: (principal: Principal | undefined) => ServerAccount | undefined,
): ServerCredentials | undefined {
  const isShared = readConnection(config.connection).per === "shared";
  const isOne = "command" in config || (config.auth === undefined && !isPersonal(config));
  return isOne && isShared ? undefined : new ServerCredentials(server, config, accountOf);
}

function propertyOf({ ref, claims = {} }: Principal, name: string): string | undefined {
  if (name === "ref") return ref;
  const claim = name.slice("claims.".length);
  const value: unknown = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  const isText = typeof value === "string" && value !== "";
  if (isText) return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

/** The bounds of the connections of principals to a server. */
export function boundsOf(config: HttpServerConfig | StdioServerConfig): OwnBoundsOptions {
  const { per, max: asked } = readConnection(config.connection);
  const max = asked ?? defaultMax(config, per);
  const kind = "command" in config ? "children" : "others";
  // A user with many sessions leaves room for others.
  const maxOfOne = per === "session" ? Math.ceil(max / 4) : max;
  return { kind, max, maxOfOne, isKept: per !== "shared" };
}

function defaultMax(
  config: HttpServerConfig | StdioServerConfig,
  per: ServerConnection["per"],
): number {
  if ("command" in config) return MAX_OWN;
  if (config.auth !== undefined) return readAuth(config.auth).maxConnections;
  return isPersonal(config) || per !== "shared" ? MAX_PERSONAL : MAX_OWN;
}
