import type { Authenticator, Credentials } from "./service.ts";
import { isGatewayError } from "../../errors.ts";
import type { Access } from "../route.ts";
import type { Identity, Principal } from "../../call/types.ts";
import { makePrincipal } from "./principal.ts";
import { admits } from "./roles.ts";

type Known = Principal | undefined | Promise<Principal | undefined>;

/** An authenticator whose answers are principals already. */
export interface Authentication extends Authenticator {
  authenticate(credentials: Credentials): Known;
}

/**
 * Asks a plugin first, and the config's own keys and tokens when the plugin knows nobody of these credentials, so that both can
 * be used side by side. Where both refuse, the plugin's words stand: it may know more than that they are no key.
 */
export function chain(plugin: Authenticator, own: Authentication | undefined): Authentication {
  const ours = new WeakSet<Principal>();
  const askOwn = (credentials: Credentials, refusal?: unknown): Known =>
    settle<Principal | undefined, Principal | undefined>(
      () => own?.authenticate(credentials),
      (principal) => {
        if (principal) ours.add(principal);
        else if (refusal !== undefined) throw refusal;
        return principal;
      },
      (error) => {
        throw refusal !== undefined && isRefusal(error) ? refusal : error;
      },
    );
  return {
    authenticate: (credentials) =>
      settle<Identity | undefined, Principal | undefined>(
        () => plugin.authenticate(credentials),
        (identity) => (identity ? makePrincipal(identity, "plugin") : askOwn(credentials)),
        (error) => {
          if (!isRefusal(error)) throw error;
          return askOwn(credentials, error);
        },
      ),
    challenge: (path) => plugin.challenge(path),
    admits: (principal, access) =>
      ours.has(principal) ? admits(principal, access) : admitsForeign(plugin, principal, access),
  };
}

/** A plugin that knows no roles lets people in so that they call tools. */
function admitsForeign(plugin: Authenticator, principal: Principal, access: Access): boolean {
  return (access === "caller" && principal.roles.size === 0) || plugin.admits(principal, access);
}

/** Whether somebody's credentials were refused, in contrast to a check that could not be made. */
export function isRefusal(error: unknown): boolean {
  return isGatewayError(error) && error.code === "unauthorized";
}

/** Goes on from an answer that comes at once or later, without making a promise where none is needed. */
function settle<T, R>(
  ask: () => T | Promise<T>,
  answered: (value: T) => R | Promise<R>,
  failed: (error: unknown) => R | Promise<R>,
): R | Promise<R> {
  let value: T | Promise<T>;
  try {
    value = ask();
  } catch (error) {
    return failed(error);
  }
  return value instanceof Promise ? value.then(answered, failed) : answered(value);
}
