import type { RouteEvent } from "propylon";
import { readJson } from "propylon/kit";
import { OauthError } from "../oauth-error.ts";
import type { ServerParts } from "./parts.ts";
import { registrationRequestSchema, UNUSED_MS, USED_MS } from "../clients/registrations.ts";

/** Registers a program that nobody has heard of (RFC 7591 section 3). */
export async function registerClient(
  event: RouteEvent,
  { registrations, addressOf }: Pick<ServerParts, "registrations" | "addressOf">,
): Promise<object> {
  const request = await readJson(event, registrationRequestSchema).catch((cause: unknown) => {
    throw new OauthError(
      "invalid_client_metadata",
      "The body must be JSON with the metadata of a program.",
      { cause },
    );
  });
  const { id, registration, secret } = await registrations.add(request, addressOf(event));
  const { name, redirects, method, createdAt } = registration;
  return {
    client_id: id,
    client_id_issued_at: Math.floor(createdAt / 1_000),
    ...(name !== "" && { client_name: name }),
    redirect_uris: redirects,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: method,
    ...(secret !== undefined && {
      client_secret: secret,
      client_secret_expires_at: Math.floor((createdAt + UNUSED_MS + USED_MS) / 1_000),
    }),
  };
}
