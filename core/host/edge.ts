import type { IncomingMessage } from "node:http";
import type { Authenticator, Credentials } from "../auth.ts";
import { GatewayError, isGatewayError } from "../errors.ts";
import type { ListenerApp } from "../node/app.ts";
import type { Principal } from "../types.ts";

/** The principal, at once where the authenticator answers at once. */
export function authenticate(
  authenticator: Authenticator,
  credentials: Credentials,
): Principal | Promise<Principal> {
  const known = (principal: Principal | undefined): Principal => {
    if (principal) return principal;
    throw new GatewayError("unauthorized", "Authentication is required.");
  };
  const challenge = (error: unknown): never => {
    if (!isGatewayError(error) || error.code !== "unauthorized") throw error;
    const headers = {
      "www-authenticate": authenticator.challenge(credentials.path),
      ...error.headers,
    };
    throw new GatewayError("unauthorized", error.message, { headers, cause: error });
  };
  try {
    const principal = authenticator.authenticate(credentials);
    return principal instanceof Promise ? principal.then(known).catch(challenge) : known(principal);
  } catch (error) {
    return challenge(error);
  }
}

/** A public route works without credentials, and with wrong ones. */
export async function optionally(
  authenticator: Authenticator,
  credentials: Credentials,
): Promise<Principal | undefined> {
  try {
    return await authenticator.authenticate(credentials);
  } catch (error) {
    if (isGatewayError(error) && error.code === "unauthorized") return undefined;
    throw error;
  }
}

/** The check in front of the MCP endpoints, on Node's own request. */
export function createEdge(authenticator: Authenticator): ListenerApp["authenticate"] {
  return (req: IncomingMessage) => {
    const url = req.url ?? "/";
    const query = url.indexOf("?");
    return authenticate(authenticator, {
      method: req.method ?? "GET",
      path: query < 0 ? url : url.slice(0, query),
      headers: req.headers,
      remoteAddress: req.socket.remoteAddress,
    });
  };
}
