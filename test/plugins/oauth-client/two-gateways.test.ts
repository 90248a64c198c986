import { expect, it } from "vitest";
import { GuardedServer } from "../../fixtures/guarded-server.ts";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { LoginProvider } from "../../fixtures/login-provider.ts";
import { startClock } from "../../fixtures/clock.ts";
import { clientOf, setupPersonal, setupRig, textOf } from "./kit.ts";

const secretKeys = ["a key for the tests that is long enough"];
const whoami = { server: "guarded", name: "whoami", args: {} } as const;
const HOUR = 3_600_000;

async function setupPair() {
  const provider = await LoginProvider.start();
  const server = await GuardedServer.start({ issuer: provider.url });
  const store = new KeptStore({ shared: true });
  return {
    provider,
    server,
    options: { secretKeys },
    config: { store: "kept" },
    plugins: [store.plugin],
  };
}

it("of two gateways of a store one refreshes, and a refresh token is spent once", async () => {
  const setup = await setupPair();
  const { provider } = setup;
  const [one, two] = [await setupRig(setup), await setupRig(setup)];
  await one.logIn();
  await one.becomes("ready");
  await two.becomes("ready");
  const passTime = startClock();
  for (let round = 1; round <= 3; round++) {
    passTime(HOUR - 3_000);
    const before = provider.visitsTo("/token").length;
    const calls = [one, two].flatMap(({ gateway }) =>
      Array.from({ length: 10 }, () => gateway.call(whoami)),
    );
    expect(new Set((await Promise.all(calls)).map(textOf))).toEqual(new Set(["ada"]));
    expect(provider.visitsTo("/token").length - before).toBe(1);
  }
  // A second use of one would have ended the login.
  expect(provider.errors).toEqual([]);
});

it("who logs in or out at one gateway of a store is so at the other", async () => {
  const setup = await setupPair();
  const [one, two] = [await setupPersonal(setup), await setupPersonal(setup)];
  const [here, there] = [await clientOf(one.url, "ann"), await clientOf(two.url, "ann")];
  await here.connect("ann-at-work");
  const principal = { id: "ann", kind: "key", roles: new Set(["caller"] as const) } as const;
  expect(textOf(await two.gateway.call({ ...whoami, principal }))).toBe("ann-at-work");
  expect(await there.call("disconnect_account", { server: "guarded" })).toContain("disconnected");
  await expect.poll(() => here.call("whoami")).toContain("Connect your account");
});
