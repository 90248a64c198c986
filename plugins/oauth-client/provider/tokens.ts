import type * as oauth from "oauth4webapi";
import { z } from "zod";
import { splitScopes } from "./challenge.ts";

/** The client that tokens were made for. */
export const clientSchema = z.object({
  id: z.string(),
  secret: z.string().optional(),
  method: z.string().optional(),
});

/** Tokens of an account, as they are kept. */
export const tokensSchema = z.object({
  access: z.string(),
  refresh: z.string().optional(),
  /** In milliseconds since 1970; absent where the provider does not say. */
  expiresAt: z.number().optional(),
  /** When they came, in milliseconds since 1970. */
  at: z.number(),
  /** Scopes that were asked for, and those that were given. */
  scopes: z.array(z.string()).max(1_000),
  issuer: z.string(),
  resource: z.string(),
  client: clientSchema,
});

/** Tokens of one account at one server. */
export type AccountTokens = z.infer<typeof tokensSchema>;

/** What tokens were asked for. */
export type TokenRequest = Pick<AccountTokens, "issuer" | "resource" | "client" | "scopes">;

/**
 * The answer of a provider as it is kept.
 *
 * @param before tokens that were refreshed: a provider need not give another refresh token
 */
export function toTokens(
  answer: oauth.TokenEndpointResponse,
  request: TokenRequest,
  before?: AccountTokens,
): AccountTokens {
  const {
    access_token: access,
    refresh_token: refresh = before?.refresh,
    expires_in: life,
  } = answer;
  const given = answer.scope === undefined ? [] : splitScopes(answer.scope);
  return {
    access,
    ...(refresh !== undefined && { refresh }),
    ...(life !== undefined && { expiresAt: Date.now() + life * 1_000 }),
    at: Date.now(),
    scopes: [...new Set([...request.scopes, ...given])],
    issuer: request.issuer,
    resource: request.resource,
    client: request.client,
  };
}
