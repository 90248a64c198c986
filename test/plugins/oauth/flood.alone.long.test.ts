import { expect, it } from "vitest";
import { collectGarbage } from "../../fixtures/garbage.ts";
import { ask } from "../oauth-resource/kit.ts";
import { Program } from "./attempt.ts";
import { REDIRECT, setupLogin } from "./kit.ts";

/** How many; a campaign makes 100,000. */
const REQUESTS = Number(process.env["OAUTH_FLOOD"] ?? 1_000);
const AT_ONCE = 50;
const MAX_CLIENTS = 500;
const MB = 1_048_576;

const heap = (): number => {
  for (let round = 0; round < 4; round++) collectGarbage();
  return process.memoryUsage().heapUsed;
};

it(`${REQUESTS} registrations of many addresses fill nothing, and stop nobody who is there`, async () => {
  const { gateway, url, endpoint } = await setupLogin({
    options: { registration: { maxClients: MAX_CLIENTS, perAddress: 60 } },
    config: { auth: { trustedProxies: ["127.0.0.1"] } },
  });
  const statuses = new Map<number, number>();
  const register = async (address: string): Promise<number> => {
    const response = await fetch(`${url}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": address },
      body: JSON.stringify({ client_name: "x".repeat(500), redirect_uris: [REDIRECT] }),
    });
    await response.body?.cancel();
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    return response.status;
  };
  let sent = 0;
  /** Half of them from one address, the others from one each. */
  const flood = async (until: number): Promise<void> => {
    while (sent < until) {
      const batch = Array.from({ length: AT_ONCE }, () => {
        const each = sent++;
        return register(
          each % 2 === 0 ? "203.0.113.1" : `198.${each >> 16}.${(each >> 8) & 255}.${each & 255}`,
        );
      });
      await Promise.all(batch);
    }
  };
  const used = new Program(url);
  const tokens = await used.tokens();
  await flood(REQUESTS / 2);
  const before = heap();
  await flood(REQUESTS);
  const grown = heap() - before;

  // The busy address has its 60 (and what it gets back in the time of the test), the others theirs.
  expect(new Set(statuses.keys())).toEqual(new Set([201, 429]));
  const accepted = statuses.get(201)! - REQUESTS / 2;
  expect(accepted).toBeGreaterThanOrEqual(60);
  expect(accepted).toBeLessThan(80 + REQUESTS / 1_000);
  const page = await (await gateway.manage()).metrics();
  expect(page).toContain(
    `oauth_requests_refused_total{error="temporarily_unavailable"} ${statuses.get(429)}`,
  );
  expect(page).toContain(`oauth_registrations ${MAX_CLIENTS}`);
  // A registration has 700 bytes, so the second half of them would take megabytes.
  expect(grown).toBeLessThan(Math.max(2 * MB, (REQUESTS / 4) * 300));

  expect((await ask(endpoint, tokens.access_token)).status).toBe(200);
  expect((await used.refresh(tokens.refresh_token!)).status).toBe(200);
  expect((await used.login()).get("code")).toMatch(/^ppc_/);
  const newcomer = new Program(url);
  expect((await newcomer.tokens()).access_token).toBeDefined();
}, 1_200_000);
