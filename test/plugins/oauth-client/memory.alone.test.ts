import { expect, it } from "vitest";
import { collectGarbage } from "../../fixtures/garbage.ts";
import { createPrincipal } from "../../../core/kit/principal.ts";
import { LoginAccounts } from "../../../plugins/oauth-client/login/accounts.ts";
import type { AccountTokens } from "../../../plugins/oauth-client/provider/tokens.ts";

const PEOPLE = 2_000;
/** A large one: signed tokens have a thousand bytes or two. */
const TOKEN_BYTES = 2_000;

const settle = (): number => {
  for (let i = 0; i < 4; i++) collectGarbage();
  return process.memoryUsage().heapUsed;
};

it("an idle person costs less than 8 KB", async () => {
  const config = {
    url: "https://mcp.example/mcp",
    auth: { type: "oauth", per: "principal" },
  } as never;
  const vault = {
    get: async (key: string): Promise<{ value: AccountTokens; rev: number }> => ({
      rev: 1,
      value: {
        access: `${key}${"t".repeat(TOKEN_BYTES)}`.slice(0, TOKEN_BYTES),
        refresh: `${key}${"r".repeat(200)}`,
        expiresAt: Date.now() + 3_600_000,
        at: Date.now(),
        scopes: ["tools", "offline_access"],
        issuer: "https://login.example",
        resource: "https://mcp.example/mcp",
        client: { id: "gateway" },
      },
    }),
  };
  const accounts = new LoginAccounts(() => new Map([["code", config]]), {
    vault,
    http: { from: () => () => Promise.reject(new Error("nobody is asked")) },
  } as never);
  const use = async (from: number, to: number): Promise<void> => {
    for (let i = from; i < to; i++) {
      const principal = createPrincipal({ kind: "user", id: `person-${i}`, roles: new Set() });
      expect(await accounts.accountOf("code", config, principal).authorization()).toMatch(
        /^Bearer /,
      );
    }
  };
  await use(0, 500);
  const before = settle();
  await use(500, 500 + PEOPLE);
  const each = (settle() - before) / PEOPLE;
  expect(each).toBeLessThan(8_192);
  expect(await accounts.accountOf("code", config, undefined).authorization()).toBeDefined();
});
