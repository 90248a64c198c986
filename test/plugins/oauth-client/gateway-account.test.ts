import { expect, it } from "vitest";
import { LoginProvider } from "../../fixtures/login-provider.ts";
import { setupRig, textOf } from "./kit.ts";

const MACHINE = {
  client_id: "machine",
  client_secret: "machine-secret-of-the-gateway",
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [] as never,
};

it.each(["modern", "legacy"] as const)("a machine logs in by itself (%s)", async (era) => {
  const provider = await LoginProvider.start({ clients: [MACHINE] });
  const { gateway, becomes } = await setupRig({
    provider,
    era,
    auth: {
      grant: "client_credentials",
      scopes: ["tools"],
      client: { id: "machine", secret: MACHINE.client_secret },
    },
  });
  await becomes("ready");
  const answer = await gateway.call({ server: "guarded", name: "whoami", args: {} });
  expect(textOf(answer)).toBe("machine");
});

it.each(["modern", "legacy"] as const)("a person logs the gateway in (%s)", async (era) => {
  const { gateway, becomes, logIn, status } = await setupRig({ era });
  await becomes("failed");
  expect(status().reason).toContain("propylon login guarded");
  const { page } = await logIn();
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("Connected")]);
  await becomes("ready");
  const answer = await gateway.call({ server: "guarded", name: "whoami", args: {} });
  expect(textOf(answer)).toBe("ada");
});
