import { GatewayError, isGatewayError } from "propylon";

/** What an operator can do, by the first word of an error of the server, or the system's code. */
const HINTS: Readonly<Record<string, string>> = {
  WRONGPASS: "Check user and password in the store's URL.",
  NOAUTH: "Put user and password into the store's URL.",
  NOPERM:
    "Give the user the commands +@all -@dangerous +info, and all keys and channels of the prefix.",
  ERR: "Check the number of the database in the store's URL.",
  ECONNREFUSED: "Check host and port in the store's URL, and that Redis runs.",
  ENOTFOUND: "Check the host in the store's URL.",
};

/** An error as the client throws it has the command in it, and with that values or a password. */
export function withoutCommand(error: unknown): Error {
  const { message, code } = error as { readonly message: string; readonly code?: string };
  return Object.assign(new Error(message || code), code === undefined ? {} : { code });
}

/** Why a store cannot be opened, as a sentence. */
export function redisRefusal(error: unknown, name: string): GatewayError {
  if (isGatewayError(error)) return error;
  const cause = withoutCommand(error);
  const { code = /^[A-Z]+/.exec(cause.message)?.[0] ?? "" } = cause as { code?: string };
  const reason = cause.message.replace(/\.$/, "");
  return new GatewayError("io_error", `Redis at ${name} cannot be used: ${reason}.`, {
    cause,
    hint: HINTS[code] ?? "Check the store's URL, and that Redis runs.",
  });
}
