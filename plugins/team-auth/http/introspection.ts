import { GatewayError, type Identity, type PluginContext, type RouteEvent } from "propylon";
import { createPrincipal, checkInput, digestOf, Recent } from "propylon/kit";
import { z } from "zod";
import { Guesses } from "../bearer/guesses.ts";
import type { Issuer } from "../bearer/issuer.ts";
import { credentialOf } from "../bearer/resolver.ts";
import { CONSOLES } from "./rest-routes.ts";

/** Largest request: a token, a hint, and room for what forms add. */
const MAX_BODY = 16_384;
const MAX_TOKEN = 8_192;
/** Different tokens that do not count, of one asker in a minute. What clients send to a service that asks is not its fault. */
const MAX_UNKNOWN = 100;
/** Tokens that did not count and are not counted again: clients send theirs until they notice. */
const MAX_REMEMBERED = 10_000;

const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const questionSchema = z.object({ token: z.string().min(1).max(MAX_TOKEN) });

/** What is said of a token that counts (RFC 7662 section 2.2); of all others `{ active: false }`. */
interface Introspected {
  readonly active: true;
  readonly token_type: "Bearer";
  /** `kind:id`, as the gateway calls its bearer. */
  readonly sub: string;
  /** Id of an opaque token, `jti` of a JWT. */
  readonly jti: string;
  /** Seconds since 1970; absent: it does not expire. */
  readonly exp?: number;
  readonly scope: string;
  /** What it sees now. */
  readonly libraries: readonly string[];
}

/** For services beside the gateway: who a bearer is, and what it sees at that moment (RFC 7662). */
export function registerIntrospection(gateway: PluginContext, issuer: Issuer): void {
  const guesses = new Guesses({ most: MAX_UNKNOWN });
  const known = new Recent<true>(MAX_REMEMBERED);
  const options = { access: "service", mutates: false, bodyLimit: MAX_BODY } as const;
  gateway.route("POST", `${CONSOLES}introspect`, options, async (event) => {
    const { token } = await readQuestion(event);
    const found = await issuer.introspect(token);
    if (!found) countGuess(event, token);
    event.res.headers.set("cache-control", "no-store");
    return found ? describe(found) : { active: false };
  });

  /** Tokens that count are answered in any case: a stranger who sends nonsense to a service must not lock out its clients. */
  function countGuess({ context }: RouteEvent, token: string): void {
    const asker = context.principal.ref;
    const guess = digestOf(JSON.stringify([asker, token]));
    if (known.get(guess)) return;
    guesses.check(asker);
    guesses.fail(asker);
    known.set(guess, true);
  }
}

/** @throws {GatewayError} `unsupported_media_type`; `invalid` for no token, for two, and for one that is too long */
async function readQuestion({ req }: RouteEvent): Promise<z.output<typeof questionSchema>> {
  const text = await req.text();
  if (!FORM.test(req.headers.get("content-type") ?? ""))
    throw new GatewayError("unsupported_media_type", "The body must be a form.", {
      hint: "Send content-type: application/x-www-form-urlencoded.",
    });
  const tokens = new URLSearchParams(text).getAll("token");
  return checkInput({ token: tokens.length === 1 ? tokens[0] : tokens }, questionSchema);
}

function describe(identity: Identity): Introspected {
  const { ref, expiresAt, roles, claims = {} } = createPrincipal(identity);
  return {
    active: true,
    token_type: "Bearer",
    sub: ref,
    jti: credentialOf({ claims })!.id,
    ...(expiresAt !== undefined && { exp: Math.floor(expiresAt / 1_000) }),
    scope: [...roles].join(" "),
    libraries: claims["libraries"] as readonly string[],
  };
}
