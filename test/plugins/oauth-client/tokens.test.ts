import { expect, it, describe, onTestFinished, vi } from "vitest";
import { LoginAccount } from "../../../plugins/oauth-client/login/account.ts";
import { LoginProvider } from "../../fixtures/login-provider.ts";
import { startClock } from "../../fixtures/clock.ts";
import { clientOf, setupPersonal, setupRig, textOf } from "./kit.ts";

const MACHINE = {
  client_id: "machine",
  client_secret: "machine-secret-of-the-gateway",
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
};

const whoami = { server: "guarded", name: "whoami", args: {} } as const;

describe("tokens that end", () => {
  it("are refreshed beside the calls, once for all", async () => {
    const { gateway, provider, becomes, logIn } = await setupRig();
    await logIn();
    await becomes("ready");
    const before = provider.visitsTo("/token").length;
    const passTime = startClock();
    passTime(3_600_000 - 30_000);
    const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.call(whoami)));
    expect(new Set(answers.map(textOf))).toEqual(new Set(["ada"]));
    await expect.poll(() => provider.visitsTo("/token").length).toBe(before + 1);
    await gateway.call(whoami);
    expect(provider.visitsTo("/token")).toHaveLength(before + 1);
  });

  it("are refreshed before the call where there is no time left", async () => {
    const { gateway, provider, becomes, logIn } = await setupRig();
    await logIn();
    await becomes("ready");
    const passTime = startClock();
    passTime(3_600_000 - 3_000);
    expect(textOf(await gateway.call(whoami))).toBe("ada");
    expect(provider.visitsTo("/token")).toHaveLength(2);
  });

  it("go on while the provider is away, and then end with a sentence and no hot loop", async () => {
    const { gateway, provider, becomes, logIn } = await setupRig();
    await logIn();
    await becomes("ready");
    provider.prank = (req, res) => {
      if (req.url !== "/token") return false;
      res.writeHead(503).end();
      return true;
    };
    const passTime = startClock();
    passTime(3_600_000 - 30_000);
    const before = provider.visitsTo("/token").length;
    for (let i = 0; i < 20; i++) expect(textOf(await gateway.call(whoami))).toBe("ada");
    passTime(31_000);
    for (let i = 0; i < 20; i++)
      await expect(gateway.call(whoami)).rejects.toMatchObject({
        code: "upstream_error",
        message: expect.stringContaining("The login cannot be used"),
      });
    expect(provider.visitsTo("/token").length - before).toBeLessThanOrEqual(3);
    provider.prank = undefined;
    passTime(5_001);
    expect(textOf(await gateway.call(whoami))).toBe("ada");
  });

  it("ask for a login anew where their refresh is refused", async () => {
    const { url, provider, becomes } = await setupPersonal();
    const ann = await clientOf(url, "ann");
    await ann.connect("ann-at-work");
    await becomes("ready");
    provider.prank = (req, res) => {
      if (req.url !== "/token") return false;
      res.writeHead(400, { "content-type": "application/json" }).end('{"error":"invalid_grant"}');
      return true;
    };
    const passTime = startClock();
    passTime(3_600_000);
    expect(await ann.call("whoami")).toContain("Connect your account");
    provider.prank = undefined;
    await ann.connect("ann-at-work");
    expect(await ann.call("whoami")).toBe("ann-at-work");
  });

  it("are got again by a machine", async () => {
    const provider = await LoginProvider.start({ clients: [MACHINE] });
    const client = { id: "machine", secret: MACHINE.client_secret };
    const auth = { grant: "client_credentials", scopes: ["tools"], client };
    const { gateway, becomes } = await setupRig({ provider, auth });
    await becomes("ready");
    const passTime = startClock();
    passTime(3_600_000);
    expect(textOf(await gateway.call(whoami))).toBe("machine");
    expect(provider.visitsTo("/token")).toHaveLength(2);
  });
});

it("a server that wants more is given more, once somebody agrees, and keeps what it had", async () => {
  const { url, becomes } = await setupPersonal();
  const ann = await clientOf(url, "ann");
  await ann.connect("ann-at-work");
  await becomes("ready");
  const told = await ann.call("write");
  expect(told).toContain("Connect your account");
  const link = /http\S+/.exec(told)![0];
  const started = await fetch(link, {
    method: "POST",
    headers: { authorization: `Bearer ${ann.key}` },
  });
  const { location } = (await started.json()) as { location: string };
  const asked = new URL(location).searchParams.get("scope")!.split(" ");
  expect(asked).toEqual(expect.arrayContaining(["tools", "write"]));
});

it("a server that wants what was given already gets no second login", async () => {
  const { gateway, server, becomes, logIn } = await setupRig();
  await logIn();
  await becomes("ready");
  server.writeScope = "never";
  await expect(gateway.call({ ...whoami, name: "write" })).rejects.toMatchObject({
    data: { login: true },
  });
  await logIn();
  await becomes("ready");
  await expect(gateway.call({ ...whoami, name: "write" })).rejects.toMatchObject({
    message: expect.stringContaining("HTTP 403"),
  });
});

it("an operator logs the gateway out", async () => {
  const { url, becomes, logIn } = await setupRig();
  await logIn();
  await becomes("ready");
  const at = `${url}/_meta/oauth-client/servers`;
  expect(await (await fetch(at)).json()).toMatchObject({
    servers: [{ connected: true, per: "gateway" }],
  });
  const out = await fetch(`${at}/guarded/login`, { method: "DELETE" });
  expect(await out.json()).toEqual({ ok: true, was: true });
  await becomes("failed");
  expect((await fetch(`${at}/nobody/login`, { method: "POST" })).status).toBe(404);
});

it("tokens of who is idle for five minutes are in the store alone, and are read there again", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const now = Date.now();
  const tokens = { access: "t", at: now, expiresAt: now + 3_600_000, scopes: [] };
  const get = vi.fn<() => Promise<object>>(async () => ({ rev: 1, value: tokens }));
  const server = { keyOf: () => "key", vault: { get }, isMachine: false };
  const account = new LoginAccount(server as never, "user:ann");
  const use = async (): Promise<void> => expect(await account.authorization()).toBe("Bearer t");
  await use();
  for (let minute = 0; minute < 12; minute++) {
    await vi.advanceTimersByTimeAsync(60_000);
    await use();
  }
  expect(get).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(600_000);
  await use();
  expect(get).toHaveBeenCalledTimes(2);
});
