import { GatewayError, type RouteEvent } from "propylon";

/**
 * A parameter of the route's path, decoded once. A tool's name may hold a slash or a percent sign, so it travels encoded.
 *
 * @throws {GatewayError} `bad_request` when the encoding is broken
 */
export function parameter({ context }: RouteEvent, name: string): string {
  const raw = context.params?.[name] ?? "";
  try {
    return decodeURIComponent(raw);
  } catch {
    throw new GatewayError(
      "bad_request",
      `The ${name} in the path is not percent-encoded properly.`,
    );
  }
}
