import { ROLES } from "./roles.ts";
import { boundedRecord } from "./bounded-record.ts";
import { z } from "zod";
import type { Principal } from "./types.ts";
import { ERROR_STATUS, type ErrorCode, GatewayError } from "./errors.ts";
import { createPrincipal, originOf, readRef } from "./principal.ts";

/**
 * A principal as it is written down, or told to another replica of the store.
 *
 * @example const recordSchema = z.object({ owner: keptPrincipalSchema });
 */
export const keptPrincipalSchema = z.object({
  ref: z.string().regex(/^(?:anonymous|key|user|team|agent|service):[^]/),
  roles: z.array(z.enum(ROLES)).max(16),
  claims: boundedRecord(z.string(), z.unknown(), 10_000).exactOptional(),
  expiresAt: z.number().exactOptional(),
  /** Name of the authenticator that vouched for it, for `GatewayInfo.renew`. */
  origin: z.string().exactOptional(),
});

/**
 * A principal as {@link keptPrincipalSchema} reads it.
 *
 * @example const owner: KeptPrincipal = { ref: "user:ada", roles: ["caller"] };
 */
export type KeptPrincipal = z.output<typeof keptPrincipalSchema>;

/**
 * A principal to be written down.
 *
 * @example const record = { owner: keepPrincipal(call.principal) };
 */
export function keepPrincipal(principal: Principal): KeptPrincipal {
  const { ref, roles, claims, expiresAt } = principal;
  const origin = originOf(principal);
  return {
    ref,
    roles: [...roles],
    ...(claims !== undefined && { claims }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(origin !== undefined && { origin }),
  };
}

/**
 * The principal that was written down, with the rights of then. Nobody vouches for it; for the rights of now see `GatewayInfo.renew`.
 *
 * @throws {GatewayError} `internal` for a record that is not a principal
 * @example const owner = restorePrincipal(record.owner);
 */
export function restorePrincipal({ ref, roles, ...facts }: KeptPrincipal): Principal {
  return createPrincipal({ ...facts, ...readRef(ref), roles: new Set(roles) });
}

/**
 * An error as it is written down, or told to another replica of the store: what its caller is told, without its cause.
 *
 * @example const endSchema = z.object({ error: keptErrorSchema });
 */
export const keptErrorSchema = z.object({
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
  data: boundedRecord(z.string(), z.unknown(), 10_000).optional(),
});

/**
 * An error as {@link keptErrorSchema} reads it.
 *
 * @example const late: KeptError = { code: "timeout", message: "The server did not answer in time." };
 */
export type KeptError = z.output<typeof keptErrorSchema>;

/**
 * An error to be written down.
 *
 * @example const end = { error: keepError(toGatewayError(thrown)) };
 */
export function keepError({ code, message, hint, data }: GatewayError): KeptError {
  return { code, message, hint, ...(data && { data: { ...data } }) };
}

/**
 * The error that was written down; one of a later version, whose code is not known here, is `internal`.
 *
 * @example throw restoreError(end.error);
 */
export function restoreError({ code, message, hint, data }: KeptError): GatewayError {
  const known = Object.hasOwn(ERROR_STATUS, code) ? (code as ErrorCode) : "internal";
  return new GatewayError(known, message, {
    ...(hint !== undefined && { hint }),
    ...(data && { data }),
  });
}
