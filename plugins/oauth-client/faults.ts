import { GatewayError, isGatewayError } from "propylon";

/** What an authorization server did that it should not, as the end of a sentence. */
export function providerFault(why: string, cause?: unknown): GatewayError {
  return new GatewayError("upstream_error", `The login cannot be used: ${why}.`, {
    cause,
    hint: "Check the authorization server, and servers.<name>.auth.",
  });
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
