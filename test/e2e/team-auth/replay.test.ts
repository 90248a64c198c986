import { randomInt } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { decodeProtectedHeader, SignJWT } from "jose";
import { freePort } from "../../../core/testing/index.ts";
import { startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { freshSchema, hasPostgres, requirePostgres } from "../../plugins/postgres/kit.ts";
import { turnClaims } from "../../plugins/team-auth/gateway-kit.ts";
import { ADMIN, KOTTOS } from "../../plugins/team-auth/kit.ts";
import { ask, GatewayProcess } from "./processes.ts";

const USES = Number(process.env["REPLAY_USES"] ?? 400);
const KILLS = Number(process.env["REPLAY_KILLS"] ?? 2);
const AT_ONCE = 16;
/** Tokens that are in use at a time; each is used several times, at whichever gateway. */
const POOL = 40;

let server: PostgresServer | undefined;
beforeAll(async () => {
  if (hasPostgres) server = await startPostgres(await freePort());
}, 60_000);
afterAll(() => server?.stop());

/** What is known about a token: how often it was let in, refused, and sent with no answer that came. */
interface TokenModel {
  readonly jwt: string;
  readonly isExpired: boolean;
  admitted: number;
  replayed: number;
  unknown: number;
  uses: number;
}

it(
  `T079, T080: ${USES} uses of per-turn tokens at three gateways, some killed: each is let in once at most`,
  { timeout: 1_800_000 },
  async () => {
    requirePostgres();
    const schema = freshSchema();
    const gateways: GatewayProcess[] = [];
    for (let at = 0; at < 3; at++) gateways.push(await GatewayProcess.start(server!.url, schema));
    const [first] = gateways as [GatewayProcess, ...GatewayProcess[]];
    const team = { id: KOTTOS, name: "Kottos" };
    const { value } = await first.change("teams", "create", ADMIN, team);
    const { kid } = decodeProtectedHeader((value as { jwt: string }).jwt);
    const { value: secret } = await first.change("keys", "reveal", ADMIN, kid);
    const mint = async (): Promise<TokenModel> => {
      const isExpired = randomInt(20) === 0;
      const now = Math.floor(Date.now() / 1_000);
      const claims = turnClaims(isExpired ? { iat: now - 100, exp: now - 31 } : { exp: now + 300 });
      const jwt = await new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256", kid: kid! })
        .sign(new TextEncoder().encode(secret as string));
      return { jwt, isExpired, admitted: 0, replayed: 0, unknown: 0, uses: 0 };
    };
    const pool: TokenModel[] = [];
    const all: TokenModel[] = [];
    const differences: string[] = [];
    const use = async (): Promise<void> => {
      const at = randomInt(POOL);
      if (!pool[at] || pool[at].uses > 5) all.push((pool[at] = await mint()));
      const token = pool[at];
      token.uses++;
      const answer = await ask(gateways[randomInt(3)]!.url, token.jwt).catch(() => "no answer");
      if (token.isExpired && answer !== "401 Token has expired." && answer !== "no answer")
        differences.push(answer);
      else if (answer === JSON.stringify(["lib-b", "lib-a"])) token.admitted++;
      else if (answer === "401 Token replay detected.") token.replayed++;
      else if (answer === "no answer" || answer.startsWith("503")) token.unknown++;
      else if (!token.isExpired) differences.push(answer);
    };
    let left = USES;
    const work = async (): Promise<void> => {
      while (left-- > 0) await use();
    };
    const kill = async (): Promise<void> => {
      for (let times = 1; times <= KILLS; times++) {
        while (left > USES - (USES / (KILLS + 1)) * times)
          await new Promise((resolve) => setTimeout(resolve, 20));
        const victim = gateways[1 + randomInt(2)]!;
        await victim.kill();
        await victim.start();
      }
    };
    await Promise.all([kill(), ...Array.from({ length: AT_ONCE }, work)]);
    const lived = all.filter(({ isExpired }) => !isExpired);
    for (const { admitted, replayed, unknown, uses } of lived) {
      // A request without an answer may have been the first use; nothing else may.
      if (admitted > 1 || (admitted === 0 && unknown === 0))
        differences.push(`${admitted} times let in`);
      if (admitted + replayed + unknown !== uses) differences.push("an answer is missing");
    }
    const unknown = lived.reduce((sum, each) => sum + each.unknown, 0);
    process.stdout.write(
      `${USES} uses of ${all.length} tokens, ${unknown} without an answer, ${KILLS} kills\n`,
    );
    expect(differences.slice(0, 10)).toEqual([]);
  },
);
