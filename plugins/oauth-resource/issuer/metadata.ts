import { GatewayError } from "propylon";
import type { IssuerDocument, IssuerDocuments } from "./documents.ts";

/** What an issuer tells about itself (RFC 8414, OpenID Connect Discovery). */
export type IssuerMetadata = IssuerDocument["body"];

/** Where an issuer's metadata may be, in the order of the MCP specification. */
export function metadataUrls(issuer: string): readonly URL[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const inserted = ["oauth-authorization-server", "openid-configuration"].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  );
  const appended = path === "" ? [] : [`${origin}${path}/.well-known/openid-configuration`];
  return [...inserted, ...appended].map((text) => new URL(text));
}

/**
 * Reads an issuer's metadata.
 *
 * @throws {GatewayError} `upstream_error` where it does not answer, or no document is the issuer's own: one that names another
 * issuer could bring keys of an attacker (RFC 8414 section 3.3)
 */
export async function discover(
  documents: IssuerDocuments,
  issuer: string,
): Promise<IssuerMetadata> {
  for (const url of metadataUrls(issuer)) {
    const { status, body } = await documents.read(url);
    if (status === 200 && body["issuer"] === issuer) return body;
  }
  throw new GatewayError("upstream_error", "The issuer has no metadata of its own.", {
    hint: "Set jwks or introspection.url, or correct issuer: its metadata must name it exactly.",
  });
}

/**
 * An address that metadata name.
 *
 * @throws {GatewayError} `upstream_error` for an invalid one
 */
export function namedUrl(metadata: IssuerMetadata, member: string): URL {
  const value = metadata[member];
  if (typeof value === "string" && URL.canParse(value)) return new URL(value);
  throw new GatewayError("upstream_error", `The issuer's metadata have no usable ${member}.`);
}
