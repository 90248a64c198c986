import * as oauth from "oauth4webapi";
import { GatewayError } from "propylon";
import type { ServerAuth } from "propylon/plugins/servers";
import type { ProviderMetadata } from "./provider.ts";

/** The gateway as a client of an authorization server. */
export interface LoginClient {
  readonly id: string;
  readonly secret?: string | undefined;
  /** How it proves who it is at the token endpoint (RFC 7591 section 2), where that was agreed. */
  readonly method?: string | undefined;
}

/**
 * How a client proves who it is.
 *
 * @throws {GatewayError} `invalid` for a private key that cannot be read
 */
export async function authenticationOf(
  { id, secret, method }: LoginClient,
  { client }: ServerAuth,
  provider: ProviderMetadata,
): Promise<oauth.ClientAuth> {
  if (client.privateKey !== undefined && client.id === id) {
    const key = await readKey(client.privateKey, client.algorithm);
    return oauth.PrivateKeyJwt(key as oauth.CryptoKey);
  }
  if (secret === undefined) return oauth.None();
  switch (method ?? methodOf(provider)) {
    case "none":
      return oauth.None();
    case "client_secret_post":
      return oauth.ClientSecretPost(secret);
    default:
      return basic(secret);
  }
}

/** Of what a provider takes, the first that is known here; Basic where it does not say (RFC 8414 section 2). */
function methodOf({ token_endpoint_auth_methods_supported: methods }: ProviderMetadata): string {
  const known = ["client_secret_basic", "client_secret_post", "none"];
  return known.find((method) => methods?.includes(method)) ?? "client_secret_basic";
}

/** RFC 6749 section 2.3.1. The library encodes hyphens as well, which servers that decode nothing refuse. */
function basic(secret: string): oauth.ClientAuth {
  return (_provider, { client_id }, _body, headers) => {
    const pair = `${encodeForm(client_id)}:${encodeForm(secret)}`;
    headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
  };
}

function encodeForm(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

async function readKey(text: string, algorithm: string): Promise<unknown> {
  const { importJWK, importPKCS8 } = await import("jose");
  try {
    if (!text.trimStart().startsWith("{")) return await importPKCS8(text, algorithm);
    return await importJWK(JSON.parse(text) as object, algorithm);
  } catch (cause) {
    throw new GatewayError("invalid", "A private key of a login cannot be read.", {
      hint: `Write it as PEM (PKCS #8) or as a JSON Web Key, for ${algorithm}.`,
      cause,
    });
  }
}
