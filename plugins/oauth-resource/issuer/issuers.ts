import { GatewayError } from "propylon";
import { readUnprovenClaims } from "propylon/internal";
import type { IssuerCheck } from "./claims.ts";
import type { IssuerDocuments } from "./documents.ts";
import { createCheck } from "./issuer.ts";
import { LocalTokens } from "./local-tokens.ts";
import type { LocalIssuer } from "../service.ts";
import type { IssuerOptions, OauthResourceOptions } from "../options.ts";

/** One issuer whose tokens count. */
export interface TokenIssuer {
  /** What the config calls it. */
  readonly name: string;
  /** `iss` of its tokens. */
  readonly url: string;
  /** Whether its people are known by its name too, if the config says so. */
  readonly qualify: boolean | undefined;
  readonly check: IssuerCheck;
  /** Whether it is the gateway's own. */
  readonly isLocal: boolean;
}

/** The issuers of the config, and which of them a token is of. */
export class TokenIssuers {
  readonly #configured: readonly TokenIssuer[];
  /** The gateway's own; while a reload prepares another, the last one counts. */
  readonly #local: TokenIssuer[] = [];
  readonly #opaque: readonly (readonly [prefix: string, issuer: TokenIssuer])[];
  readonly #signed: ReadonlyMap<string, TokenIssuer>;

  /** @throws {GatewayError} `invalid` for issuers that could not be told apart */
  constructor(options: OauthResourceOptions["issuers"], documents: IssuerDocuments) {
    const entries = Object.entries(options);
    checkApart(entries);
    const issuers = entries.map(([name, each]) => ({
      prefix: each.introspection?.prefix,
      issuer: {
        name,
        url: each.issuer,
        qualify: each.qualify,
        check: createCheck(name, each, documents),
        isLocal: false,
      },
    }));
    this.#configured = issuers.map(({ issuer }) => issuer);
    this.#signed = new Map(this.#configured.map((issuer) => [issuer.url, issuer]));
    this.#opaque = issuers.flatMap(({ prefix, issuer }) =>
      prefix === undefined ? [] : [[prefix, issuer] as const],
    );
  }

  /**
   * Checks that nobody whom an issuer names can be a user whom another plugin keeps.
   *
   * @throws {GatewayError} `invalid`
   */
  requireQualified(): void {
    const plain = this.#configured.find(({ qualify }) => qualify === false);
    if (plain)
      throw invalid(
        `The issuer ${plain.name} has qualify: false, beside a plugin that keeps users of its own.`,
        "Leave qualify out: a person whose sub is the id of a user would be that user.",
      );
  }

  /** Begins to fetch the keys of each, so that the first request does not wait for them. */
  warm(): void {
    for (const { check } of this.all) void check.warm();
  }

  /** Those of the config, and the gateway's own. */
  get all(): readonly TokenIssuer[] {
    return [...this.#configured, ...this.#local.slice(-1)];
  }

  /** @returns what ends it @throws {GatewayError} `exists` for a name that one of the config has */
  accept(issuer: LocalIssuer): () => void {
    if (this.#configured.some(({ name }) => name === issuer.name))
      throw new GatewayError(
        "exists",
        `Two issuers of oauth-resource are called "${issuer.name}".`,
        {
          hint: "Set plugins.oauth.name to another name: two people of one name would be one person.",
        },
      );
    const own = toLocal(issuer);
    this.#local.push(own);
    return () => void this.#local.splice(this.#local.indexOf(own), 1);
  }

  /** Who made a token, as it says itself: nothing of that is proven. */
  find(token: string): TokenIssuer | undefined {
    const issuer = readUnprovenClaims(token)?.["iss"];
    if (typeof issuer === "string") return this.get(issuer);
    // Keys of the gateway, also mistyped ones, are nothing to be sent to somebody else.
    if (/^pp[a-z]_/.test(token)) return undefined;
    return this.#opaque.find(([prefix]) => token.startsWith(prefix))?.[1];
  }

  /** Whether an issuer is still the one of a URL: a reload may have put another there. */
  isCurrent(issuer: TokenIssuer, url: string): boolean {
    return this.get(url) === issuer;
  }

  /** An issuer by the `iss` of its tokens. */
  get(url: string): TokenIssuer | undefined {
    return this.#signed.get(url) ?? this.#local.slice(-1).find((own) => own.url === url);
  }
}

/** Its people are always known by its name too: others may be called the same. */
function toLocal(issuer: LocalIssuer): TokenIssuer {
  return {
    name: issuer.name,
    get url() {
      return issuer.url();
    },
    qualify: true,
    check: new LocalTokens(issuer),
    isLocal: true,
  };
}

function checkApart(issuers: readonly (readonly [string, IssuerOptions])[]): void {
  const urls = issuers.map(([, { issuer }]) => issuer);
  const again = urls.find((url, index) => urls.indexOf(url) !== index);
  if (again !== undefined)
    throw invalid(`Two issuers are ${again}.`, "Leave one of them out: tokens name their issuer.");
  const plain = issuers.filter(([, { qualify }]) => qualify === false);
  if (issuers.length > 1 && plain.length > 1)
    throw invalid(
      `The issuers ${plain.map(([name]) => name).join(" and ")} have qualify: false.`,
      "Leave it to one: two people with one sub would be one person.",
    );
}

function invalid(message: string, hint: string): GatewayError {
  return new GatewayError("invalid", `plugins.oauth-resource: ${message}`, { hint });
}
