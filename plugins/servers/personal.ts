import { type Call, GatewayError, type Principal } from "propylon";
import {
  fillTemplate,
  hasTemplate,
  HEADER_VALUE,
  type HttpServerConfig,
  isPersonal,
  readAuth,
  type StdioServerConfig,
} from "propylon/kit";
import type { ServerAccount } from "./service.ts";

/** Connections of principals where the entry says nothing; each may be a process. */
const MAX_OWN = 16;
/** Connections of principals where each needs one. */
const MAX_PERSONAL = 64;

/** What the requests of one connection have in common. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly account: ServerAccount | undefined;
}

/** Finds what a server is sent of whom: the same for all, or something else for each principal. */
export class ServerCredentials {
  /** Whether no two principals may share a connection. */
  readonly isPersonal: boolean;
  readonly #server: string;
  readonly #config: HttpServerConfig;
  /** Headers that are filled in for each principal. */
  readonly #templates: readonly string[];
  readonly #accountOf: (principal: Principal | undefined) => ServerAccount | undefined;

  constructor(
    server: string,
    config: HttpServerConfig,
    accountOf: (principal: Principal | undefined) => ServerAccount | undefined,
  ) {
    this.#server = server;
    this.#config = config;
    this.#templates = Object.values(config.headers).filter(hasTemplate);
    this.isPersonal = isPersonal(config);
    this.#accountOf = accountOf;
  }

  /** Of the shared connection: without what is a principal's. */
  get shared(): Credentials {
    const known = Object.entries(this.#config.headers).filter(([, value]) => !hasTemplate(value));
    return { headers: Object.fromEntries(known), account: this.#accountOf(undefined) };
  }

  /** Of the calls of a principal. @throws {GatewayError} `forbidden` where it lacks what a header is made of */
  of(principal: Principal): Credentials {
    return { headers: this.#headersOf(principal), account: this.accountOf(principal) };
  }

  /** Whose account a call uses. */
  accountOf(principal: Principal): ServerAccount | undefined {
    return this.#accountOf(this.isPersonal ? principal : undefined);
  }

  /** What tells the connections of principals apart: somebody whose claims change needs another one. */
  keyOf({ principal }: Pick<Call, "principal">): string {
    if (this.#templates.length === 0) return principal.ref;
    const filled = this.#templates.map((value) => this.#fill(value, principal));
    return [principal.ref, ...filled].join("\n");
  }

  #headersOf(principal: Principal): Readonly<Record<string, string>> {
    const filled = Object.entries(this.#config.headers).map(
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
  if ("command" in config) return undefined;
  const isNeeded = config.auth !== undefined || isPersonal(config);
  return isNeeded ? new ServerCredentials(server, config, accountOf) : undefined;
}

function propertyOf({ ref, claims = {} }: Principal, name: string): string | undefined {
  if (name === "ref") return ref;
  const claim = name.slice("claims.".length);
  const value: unknown = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  const isText = typeof value === "string" && value !== "";
  if (isText) return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

/** Most connections of principals to a server. */
export function maxOwnConnections(config: HttpServerConfig | StdioServerConfig): number {
  if ("command" in config) return MAX_OWN;
  if (config.auth !== undefined) return readAuth(config.auth).maxConnections;
  return isPersonal(config) ? MAX_PERSONAL : MAX_OWN;
}
