import { randomInt } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { decodeProtectedHeader, SignJWT } from "jose";
import { freePort } from "../../../core/testing/index.ts";
import { startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { until } from "../../kit/until.ts";
import { freshSchema, hasPostgres, requirePostgres } from "../../plugins/postgres/kit.ts";
import { turnClaims } from "../../plugins/team-auth/gateway-kit.ts";
import { ADMIN, KOTTOS } from "../../plugins/team-auth/kit.ts";
import { ask, GatewayProcess } from "./processes.ts";

const USES = Number(process.env["REPLAY_USES"] ?? 90);
const KILLS = Number(process.env["REPLAY_KILLS"] ?? 1);
const AT_ONCE = 16;
/** Tokens that are in use at a time; each is used several times, at whichever gateway. */
const POOL = 40;

let server: PostgresServer | undefined;
beforeAll(async () => {
  if (hasPostgres) server = await startPostgres(await freePort());
});
afterAll(() => server?.stop());

/** How far the clocks of the three are ahead, in milliseconds: within what a gateway takes for well. */
const SKEWS = [0, 240_000, -20_000];
const LEEWAY_MS = 30_000;

/** What is known about a token: how often it was let in, refused, and sent with no answer that came. */
interface TokenModel {
  readonly jwt: string;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
  admitted: number;
  replayed: number;
  unknown: number;
  uses: number;
}

/** Which answers a use may have that began and ended then, by the clock of its gateway. */
function allowed({ expiresAt }: TokenModel, { skew }: GatewayProcess, began: number): string[] {
  const end = expiresAt + LEEWAY_MS - skew;
  return [
    ...(end > began ? [ADMITTED, REPLAYED] : []),
    ...(end <= Date.now() ? ["401 Token has expired."] : []),
  ];
}

const ADMITTED = JSON.stringify(["lib-b", "lib-a"]);
const REPLAYED = "401 Token replay detected.";

it(
  `T079, T080: ${USES} uses of per-turn tokens at three gateways with clocks of their own, some of which end: each is let in once`,
  { timeout: 1_800_000 },
  async () => {
    requirePostgres();
    const schema = freshSchema();
    const gateways: GatewayProcess[] = [];
    for (const skew of SKEWS) gateways.push(await GatewayProcess.start(server!.url, schema, skew));
    const [first] = gateways as [GatewayProcess, ...GatewayProcess[]];
    const sign = await createSigner(first);
    const mint = async (): Promise<TokenModel> => {
      const now = Math.floor(Date.now() / 1_000);
      // Some have ended, and some end for one of the gateways meanwhile.
      const exp = now + randomInt(-60, 400);
      const jwt = await sign({ iat: Math.min(now, exp) - 1, exp });
      return { jwt, expiresAt: exp * 1_000, admitted: 0, replayed: 0, unknown: 0, uses: 0 };
    };
    const pool: TokenModel[] = [];
    const all: TokenModel[] = [];
    const differences: string[] = [];
    const use = async (): Promise<void> => {
      const at = randomInt(POOL);
      if (!pool[at] || pool[at].uses > 5) all.push((pool[at] = await mint()));
      const token = pool[at];
      const gateway = gateways[randomInt(3)]!;
      token.uses++;
      const began = Date.now();
      const answer = await ask(gateway.url, token.jwt).catch(() => "no answer");
      if (answer === "no answer" || answer.startsWith("503")) token.unknown++;
      else if (!allowed(token, gateway, began).includes(answer)) differences.push(answer);
      else if (answer === ADMITTED) token.admitted++;
      else if (answer === REPLAYED) token.replayed++;
    };
    let left = USES;
    const work = async (): Promise<void> => {
      while (left-- > 0) await use();
    };
    const end = async (): Promise<void> => {
      for (let times = 1; times <= KILLS; times++) {
        await until(() => left <= USES - (USES / (KILLS + 1)) * times, 600_000);
        const victim = gateways[1 + (times % 2)]!;
        // Who ends in order tidies up first, by its own clock.
        await (randomInt(2) === 0 ? victim.kill() : victim.stop());
        await victim.start();
      }
    };
    await Promise.all([end(), ...Array.from({ length: AT_ONCE }, work)]);
    for (const { admitted, replayed, unknown } of all) {
      // A request without an answer may have been the first use; nothing else may.
      if (admitted > 1 || (replayed > 0 && admitted + unknown === 0))
        differences.push(`${admitted} times let in, ${replayed} times refused`);
    }
    const unknown = all.reduce((sum, each) => sum + each.unknown, 0);
    process.stdout.write(
      `${USES} uses of ${all.length} tokens, ${unknown} without an answer, ${KILLS} ends\n`,
    );
    expect(differences.slice(0, 10)).toEqual([]);
    expect(all.filter(({ admitted }) => admitted === 1).length).toBeGreaterThan(all.length / 4);
  },
);

/** A key that signs what consoles sign. */
async function createSigner(gateway: GatewayProcess) {
  const team = { id: KOTTOS, name: "Kottos" };
  const { value } = await gateway.change("teams", "create", ADMIN, team);
  const { kid } = decodeProtectedHeader((value as { jwt: string }).jwt);
  const { value: secret } = await gateway.change("keys", "reveal", ADMIN, kid);
  return (claims: Record<string, unknown>): Promise<string> =>
    new SignJWT(turnClaims(claims))
      .setProtectedHeader({ alg: "HS256", kid: kid! })
      .sign(new TextEncoder().encode(secret as string));
}

it("T079: a gateway whose clock is wrong forgets no token that counts at another, and far off it takes none", async () => {
  requirePostgres();
  const schema = freshSchema();
  const right = await GatewayProcess.start(server!.url, schema);
  const ahead = await GatewayProcess.start(server!.url, schema, 240_000);
  const lost = await GatewayProcess.start(server!.url, schema, -400_000);
  const sign = await createSigner(right);
  const exp = Math.floor(Date.now() / 1_000) + 100;
  const jwt = await sign({ exp });
  expect(await ask(right.url, jwt)).toBe(ADMITTED);
  expect(await ask(ahead.url, jwt)).toBe("401 Token has expired.");
  await ahead.stop();
  expect(await ask(right.url, jwt)).toBe(REPLAYED);
  expect(await ask(lost.url, await sign({ iat: exp - 550, exp }))).toMatch(/^503 /);
  expect((await fetch(`${lost.url}/readyz`)).status).toBe(503);
  expect((await fetch(`${right.url}/readyz`)).status).toBe(200);
});
