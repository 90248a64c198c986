import { GatewayError, isGatewayError } from "propylon";

/** Where an operator looks when the provider's own fault is not enough. */
const LOOK = "Check the authorization server, and servers.<name>.auth.";

/** What an authorization server did that it should not, as the end of a sentence. */
export function providerFault(why: string, cause?: unknown, hint: string = LOOK): GatewayError {
  return new GatewayError("upstream_error", `The login cannot be used: ${why}.`, { cause, hint });
}

/** The cause of a fault as the log has it: no code, token or secret stands in it. */
export class Mismatch extends Error {
  readonly expected: string;
  readonly came: string;

  constructor(expected: string, came: string) {
    super(`expected ${expected}, got ${came}`);
    this.expected = short(expected);
    this.came = short(came);
  }
}

/** The other side decides how much it says. */
function short(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)} ...` : text;
}

/** A person has to log in first: at the gateway's account, or at one of the principal's own. */
export function loginNeeded(server: string, isPersonal: boolean): GatewayError {
  const message = isPersonal
    ? `Connect your account at "${server}" first.`
    : `The gateway has to log in at the server "${server}" first.`;
  return new GatewayError("forbidden", message, {
    data: { server, login: true, ...(!isPersonal && { final: true }) },
    hint: isPersonal
      ? "Call the tool connect_account, or this one again."
      : `Run: propylon login ${server}`,
  });
}

/** Whether an error is one of {@link loginNeeded}. */
export function isLoginNeeded(error: unknown): error is GatewayError {
  return isGatewayError(error) && error.data?.["login"] === true;
}
