import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Kv } from "propylon/store";
import { z } from "zod";
import { OauthError } from "../oauth-error.ts";
import type { OpaqueTexts } from "../opaque.ts";
import { personSchema } from "../people/person.ts";

/** RFC 6749 section 4.1.2 recommends ten minutes at most; a program needs a second. */
const LIFE_MS = 60_000;
/** How long a code is kept, to tell that one is used again. */
export const CODE_KEPT_MS = 600_000;
/** RFC 7636 section 4.1. */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** Schema of a code, as it is stored. */
export const codeSchema = z.object({
  client: z.string(),
  clientName: z.string(),
  /** Whether the program proves itself with a key. */
  isKeyed: z.boolean().optional(),
  redirect: z.string(),
  challenge: z.string(),
  scopes: z.array(z.string()).max(1_000),
  resource: z.string(),
  person: personSchema,
  /** Id of the login that it begins. */
  grant: z.string(),
  until: z.number(),
  isUsed: z.boolean(),
});

/** What a code stands for. */
export type Code = z.infer<typeof codeSchema>;

/** How a code is redeemed. */
export interface Redemption {
  readonly client: string;
  readonly redirect: string | undefined;
  readonly verifier: string;
  /** Whether what was asked for with it is what it was made for. */
  readonly isFor: (resource: string) => boolean;
}

/** Codes: for one use, for a minute, for the program and the verifier that they were made for. */
export class Codes {
  readonly #kv: Kv<Code>;
  readonly #texts: OpaqueTexts;
  readonly #onReplay: (grant: string) => Promise<unknown>;

  /** @param onReplay told that a code was used again: what it began may be somebody else's (RFC 6749 section 4.1.2) */
  constructor(kv: Kv<Code>, texts: OpaqueTexts, onReplay: (grant: string) => Promise<unknown>) {
    this.#kv = kv;
    this.#texts = texts;
    this.#onReplay = onReplay;
  }

  async make(code: Omit<Code, "until" | "isUsed">): Promise<string> {
    const key = randomBytes(32).toString("base64url");
    await this.#kv.put(keyOf(key), { ...code, until: Date.now() + LIFE_MS, isUsed: false });
    return this.#texts.make(key);
  }

  /**
   * Uses a code up, right or wrong: one who has it and not its verifier must not be able to go on trying.
   *
   * @throws {OauthError} `invalid_grant`, `invalid_target`
   */
  async redeem(text: string, redemption: Redemption): Promise<Code> {
    const [key] = this.#texts.read(text) ?? [];
    const entry = key === undefined ? undefined : await this.#kv.get(keyOf(key));
    if (!entry) throw wrong();
    const { value: code, rev } = entry;
    const isFirst =
      !code.isUsed &&
      (await this.#kv.update(entry.key, { ...code, isUsed: true }, rev)) !== undefined;
    if (!isFirst) {
      await this.#onReplay(code.grant);
      throw wrong();
    }
    if (code.until <= Date.now() || !fits(code, redemption)) throw wrong();
    if (!redemption.isFor(code.resource))
      throw new OauthError("invalid_target", "The code is for another resource.");
    return code;
  }
}

function fits(code: Code, { client, redirect, verifier }: Redemption): boolean {
  if (client !== code.client || !VERIFIER.test(verifier)) return false;
  if (redirect !== undefined && redirect !== code.redirect) return false;
  const own = createHash("sha256").update(verifier).digest();
  return timingSafeEqual(own, Buffer.from(code.challenge, "base64url"));
}

/** The store does not tell a code. */
function keyOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}

function wrong(): OauthError {
  return new OauthError(
    "invalid_grant",
    "The code does not count: it was used, is too old, or is for somebody else.",
  );
}
