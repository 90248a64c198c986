import { createHash } from "node:crypto";
import type { Kv } from "propylon/store";
import { z } from "zod";
import type { OauthClient } from "../clients/clients.ts";
import type { LoggedIn } from "../people/person.ts";
import { isLoopbackRedirect } from "../redirects.ts";

const DAY_MS = 86_400_000;
/** How long a consent is remembered after it was last used. */
export const CONSENT_MS = 180 * DAY_MS;
/** Consents of one person. */
const MAX_PER_PERSON = 100;

/** Schema of a consent, as it is stored. */
export const consentSchema = z.object({ scopes: z.array(z.string()).max(1_000), at: z.number() });

/** What a person allowed a program. */
export type Consent = z.infer<typeof consentSchema>;

/** What is asked for. */
export interface ConsentQuestion {
  readonly person: LoggedIn;
  readonly client: OauthClient;
  readonly redirect: string;
  readonly resource: string;
  readonly scopes: readonly string[];
}

/** What people allowed programs, so that they are not asked each time. */
export class Consents {
  readonly #kv: Kv<Consent>;

  constructor(kv: Kv<Consent>) {
    this.#kv = kv;
  }

  /** Whether a person allowed this before. */
  async isGiven(question: ConsentQuestion): Promise<boolean> {
    if (!isKnown(question)) return false;
    const given = (await this.#kv.get(keyOf(question)))?.value;
    return given !== undefined && question.scopes.every((scope) => given.scopes.includes(scope));
  }

  async give(question: ConsentQuestion): Promise<void> {
    if (!isKnown(question)) return;
    const key = keyOf(question);
    const before = (await this.#kv.get(key))?.value.scopes ?? [];
    if (before.length === 0) await this.#makeRoom(question.person);
    await this.#kv.put(key, {
      scopes: [...new Set([...before, ...question.scopes])],
      at: Date.now(),
    });
  }

  /** Forgets what a person allowed. */
  async forget(subject: string): Promise<void> {
    for await (const { key } of this.#kv.list(personPrefix(subject))) await this.#kv.delete(key);
  }

  async #makeRoom({ subject }: LoggedIn): Promise<void> {
    const own: { readonly key: string; readonly at: number }[] = [];
    for await (const { key, value } of this.#kv.list(personPrefix(subject)))
      own.push({ key, at: value.at });
    const surplus = own
      .toSorted((a, b) => a.at - b.at)
      .slice(0, Math.max(0, own.length - MAX_PER_PERSON + 1));
    for (const { key } of surplus) await this.#kv.delete(key);
  }
}

/**
 * Whether it is certain which program gets the code. On the person's own machine every program can say that it is another
 * (RFC 8252 section 8.6), and one that registered itself can say anything: there a person is asked each time.
 */
function isKnown({ client, redirect }: ConsentQuestion): boolean {
  const isWeb = redirect.startsWith("https:") && !isLoopbackRedirect(redirect);
  return isWeb && client.kind !== "registered";
}

function personPrefix(subject: string): string {
  return `${digest(subject)}/`;
}

function keyOf({ person, client, resource }: ConsentQuestion): string {
  return `${personPrefix(person.subject)}${digest(JSON.stringify([client.id, resource]))}`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
