import { FetchedValue } from "propylon/internal";
import { KeySet } from "propylon/plugins/keys";
import type { IssuerCheck } from "./claims.ts";
import type { IssuerDocuments } from "./documents.ts";
import { IntrospectedTokens } from "./introspection.ts";
import { discover, namedUrl } from "./metadata.ts";
import type { IssuerOptions } from "../options.ts";
import { issuerFault } from "../refusal.ts";
import { SignedTokens } from "./signed-tokens.ts";

/** Makes the check of an issuer's tokens. */
export function createCheck(
  name: string,
  { issuer, jwks, introspection, rsaAlgorithm }: IssuerOptions,
  documents: IssuerDocuments,
): IssuerCheck {
  if (introspection) {
    const endpoint = new FetchedValue(async () =>
      namedUrl(await discover(documents, issuer), "introspection_endpoint"),
    );
    return new IntrospectedTokens({ name, issuer, options: introspection, documents, endpoint });
  }
  const keys = new KeySet(async () => {
    if (jwks !== undefined) return readSet(documents, new URL(jwks));
    const url = namedUrl(await discover(documents, issuer), "jwks_uri");
    return readSet(documents, url, new URL(issuer));
  }, rsaAlgorithm);
  return new SignedTokens(name, issuer, keys);
}

async function readSet(documents: IssuerDocuments, url: URL, issuer?: URL): Promise<unknown> {
  const { status, body } = await documents.read(url, issuer);
  if (status === 200) return body;
  throw issuerFault(`its key set was answered with HTTP ${status}`);
}
