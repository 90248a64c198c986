import type { IncomingMessage } from "node:http";
import type { Credentials } from "./auth/authentication.ts";
import { isRefusal, type Authentication } from "./auth/chain.ts";
import { lacksRole } from "./auth/roles.ts";
import { GatewayError, isGatewayError } from "../errors.ts";
import type { ListenerApp } from "./app.ts";
import type { Principal } from "../call/types.ts";

/**
 * The principal, at once where the authenticator answers at once.
 *
 * @param guest who a request without credentials is from; default: it is refused
 * @throws {GatewayError} `unauthorized` with a `www-authenticate` header
 */
export function authenticate(
  authenticator: Authentication,
  credentials: Credentials,
  guest?: Principal,
): Principal | Promise<Principal> {
  let known: ReturnType<Authentication["authenticate"]>;
  try {
    known = authenticator.authenticate(credentials);
  } catch (error) {
    return challenge(authenticator, credentials, error);
  }
  if (!(known instanceof Promise))
    return known ?? guest ?? challenge(authenticator, credentials, MISSING);
  return known.then(
    (principal) => principal ?? guest ?? challenge(authenticator, credentials, MISSING),
    (error: unknown) => challenge(authenticator, credentials, error),
  );
}

const MISSING = new GatewayError("unauthorized", "Authentication is required.");

/** A 401 says how to authenticate (RFC 9110 section 11.6.1). */
function challenge(authenticator: Authentication, { path }: Credentials, error: unknown): never {
  if (!isGatewayError(error) || error.code !== "unauthorized") throw error;
  const headers = { "www-authenticate": authenticator.challenge(path), ...error.headers };
  throw new GatewayError("unauthorized", error.message, { headers, cause: error });
}

/** Who it is, where it does not matter: a public route works without credentials, and with wrong ones. */
export async function optionally(
  authenticator: Authentication,
  credentials: Credentials,
): Promise<Principal | undefined> {
  try {
    return await authenticator.authenticate(credentials);
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/** The parts of Node's own request that tell who makes it. */
export function credentialsOf(req: IncomingMessage): Credentials {
  const url = req.url ?? "/";
  const query = url.indexOf("?");
  return {
    method: req.method ?? "GET",
    path: query < 0 ? url : url.slice(0, query),
    headers: req.headers,
    remoteAddress: req.socket.remoteAddress,
  };
}

/** The check in front of the MCP endpoints: they are for callers, whoever may only look has other routes. */
export function createEdge(authenticator: Authentication): ListenerApp["authenticate"] {
  const enter = (principal: Principal): Principal => {
    if (authenticator.admits(principal, "caller")) return principal;
    throw lacksRole("caller");
  };
  return (req) => {
    const principal = authenticate(authenticator, credentialsOf(req));
    return principal instanceof Promise ? principal.then(enter) : enter(principal);
  };
}
