import { expect, it, describe } from "vitest";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { LoginBrowser } from "../../fixtures/login-provider.ts";
import { clientOf, headersOf, linkIn, setupPersonal, setupRig, textOf } from "./kit.ts";

describe.each(["modern", "legacy"] as const)("a server of the %s era", (era) => {
  it("has two people use accounts of their own", async () => {
    const { url, becomes, server } = await setupPersonal({ era });
    await becomes("degraded");
    const [ann, bob] = [await clientOf(url, "ann"), await clientOf(url, "bob")];
    expect(await (await ann.connect("ann-at-work")).text()).toContain("Connected");
    await becomes("ready");
    expect(await ann.call("whoami")).toBe("ann-at-work");
    const told = await bob.call("whoami");
    expect(told).toContain("Connect your account");
    await new LoginBrowser("bob-at-home").connect(linkIn(told), bob.key);
    expect(await bob.call("whoami")).toBe("bob-at-home");
    expect(await ann.call("whoami")).toBe("ann-at-work");
    expect(new Set(server.seen.map(({ subject }) => subject)).size).toBe(2);
  });

  it("never sees the token of another, however calls interleave", async () => {
    const { url, gateway, becomes } = await setupPersonal({ era });
    const [ann, bob] = [await clientOf(url, "ann"), await clientOf(url, "bob")];
    await Promise.all([ann.connect("ann-at-work"), bob.connect("bob-at-home")]);
    await becomes("ready");
    const rounds = Number(process.env["ROUNDS"] ?? 100);
    const wrong: string[] = [];
    const people = [
      ["ann", "ann-at-work"],
      ["bob", "bob-at-home"],
    ] as const;
    const work = async (from: number): Promise<void> => {
      for (let i = from; i < rounds; i += 50) {
        const [id, expected] = people[(i * 7 + (i >> 3)) % 2]!;
        const principal = { id, kind: "key", roles: new Set(["caller"] as const) } as const;
        const answer = await gateway.call({
          server: "guarded",
          name: "whoami",
          args: {},
          principal,
        });
        if (textOf(answer) !== expected) wrong.push(`${id}: ${textOf(answer)}`);
      }
    };
    await Promise.all(Array.from({ length: 50 }, (_, from) => work(from)));
    expect(wrong).toEqual([]);
  });
});

it("a client that can show a page is sent there, and its call goes on", async () => {
  const { url, becomes } = await setupPersonal();
  await becomes("degraded");
  const bob = await clientOf(url, "bob");
  await bob.connect("bob-at-home");
  await becomes("ready");
  const ann = await clientOf(url, "ann", { elicitation: { url: {} } });
  const asked: unknown[] = [];
  ann.client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    asked.push(params.mode);
    const { url: link } = params as unknown as { url: string };
    await new LoginBrowser("ann-at-work").connect(link, ann.key);
    return { action: "accept" };
  });
  expect(await ann.call("whoami")).toBe("ann-at-work");
  expect(await ann.call("whoami")).toBe("ann-at-work");
  expect(asked).toEqual(["url"]);
});

it("somebody who declines is not connected", async () => {
  const { url, becomes } = await setupPersonal();
  const bob = await clientOf(url, "bob");
  await bob.connect("bob-at-home");
  await becomes("ready");
  const ann = await clientOf(url, "ann", { elicitation: { url: {} } });
  ann.client.setRequestHandler(ElicitRequestSchema, () => ({ action: "decline" }));
  await expect(ann.call("whoami")).rejects.toThrow('Connect your account at "guarded" first.');
});

describe("the page of a link", () => {
  it("is for the one who asked for it alone", async () => {
    const { url, server } = await setupPersonal();
    const [ann, bob] = [await clientOf(url, "ann"), await clientOf(url, "bob")];
    const link = await ann.linkOf();
    await expect(new LoginBrowser("bob-at-home").connect(link, bob.key)).rejects.toThrow(
      "This login is for key:ann.",
    );
    await expect(new LoginBrowser("bob-at-home").connect(link)).rejects.toThrow("key:ann");
    const page = await fetch(link);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("key:ann")]);
    expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect((await fetch(`${link}x`)).status).toBe(404);
    expect(server.seen).toEqual([]);
  });

  it("asks for no key where the operator says so", async () => {
    const { url, becomes } = await setupPersonal({ options: { identify: "confirm" } });
    const [ann, bob] = [await clientOf(url, "ann"), await clientOf(url, "bob")];
    const link = await ann.linkOf();
    await expect(new LoginBrowser("bob-at-home").connect(link, bob.key)).rejects.toThrow("key:ann");
    expect((await new LoginBrowser("ann-at-work").connect(link)).status).toBe(200);
    await becomes("ready");
    expect(await ann.call("whoami")).toBe("ann-at-work");
  });

  it("ends in the browser that began, once", async () => {
    const { url } = await setupPersonal();
    const ann = await clientOf(url, "ann");
    const link = await ann.linkOf();
    const browser = new LoginBrowser("ann-at-work");
    const begun = await browser.fetch(link, { method: "POST", headers: headersOf("ann") });
    const { location } = (await begun.json()) as { location: string };
    let target = location;
    while (!target.startsWith(url))
      target = new URL((await browser.fetch(target)).headers.get("location")!, target).href;
    expect((await fetch(target)).status).toBe(403);
    // Whoever tries has used it up: a stolen redirect is worth nothing, to nobody.
    expect((await browser.fetch(target)).status).toBe(403);
    expect((await browser.connect(link, ann.key)).status).toBe(200);
  });
});

it("everybody sees and ends their own accounts", async () => {
  const { url, becomes, provider } = await setupPersonal();
  const ann = await clientOf(url, "ann");
  await ann.connect("ann-at-work");
  await becomes("ready");
  expect(await ann.call("list_accounts")).toContain('"connected":true');
  expect(await ann.call("disconnect_account", { server: "guarded" })).toContain("is disconnected");
  expect(provider.visitsTo("/token/revocation")).toHaveLength(1);
  expect(await ann.call("list_accounts")).toContain('"connected":false');
  expect(await ann.call("whoami")).toContain("Connect your account");
  expect(await ann.call("disconnect_account", { server: "guarded" })).toContain("no account");
  await expect(ann.call("connect_account", { server: "nobody" })).resolves.toContain("guarded");
});

it("nobody fills the store with logins", async () => {
  const { url } = await setupPersonal();
  const ann = await clientOf(url, "ann");
  const link = await ann.linkOf();
  expect(await ann.linkOf()).toBe(link);
  const statuses: number[] = [];
  for (let i = 0; i < 22; i++)
    statuses.push((await fetch(link, { method: "POST", headers: headersOf("ann") })).status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  expect(statuses.at(-1)).toBe(429);
  const bob = await clientOf(url, "bob");
  expect((await bob.connect("bob-at-home")).status).toBe(200);
});

it("connections of principals are bounded, and the idle one makes way", async () => {
  const { url, becomes } = await setupPersonal({ era: "legacy", auth: { maxConnections: 1 } });
  const [ann, bob] = [await clientOf(url, "ann"), await clientOf(url, "bob")];
  await ann.connect("ann-at-work");
  await bob.connect("bob-at-home");
  await becomes("ready");
  for (let i = 0; i < 3; i++) {
    expect(await ann.call("whoami")).toBe("ann-at-work");
    expect(await bob.call("whoami")).toBe("bob-at-home");
  }
});

it("of several connections the one makes way that was not used for longest", async () => {
  const { url, server, becomes } = await setupPersonal({
    era: "legacy",
    auth: { maxConnections: 2 },
  });
  const people = [
    await clientOf(url, "ann"),
    await clientOf(url, "bob"),
    await clientOf(url, "boss"),
  ] as const;
  const [ann, bob, boss] = people;
  for (const [index, person] of people.entries()) await person.connect(`user-${index}`);
  await becomes("ready");
  const opened = async (...calls: (typeof ann)[]): Promise<readonly string[]> => {
    server.seen.length = 0;
    for (const person of calls)
      expect(await person.call("whoami")).toBe(`user-${people.indexOf(person)}`);
    return server.seen.filter(({ method }) => method === "initialize").map((each) => each.subject);
  };
  await opened(ann, bob, ann);
  expect(await opened(boss)).toEqual(["user-2"]);
  expect(await opened(ann, boss, ann)).toEqual([]);
  expect(await opened(bob)).toEqual(["user-1"]);
  expect(await opened(ann, bob, ann)).toEqual([]);
  expect(await opened(boss)).toEqual(["user-2"]);
});

it("the tools are not there where nobody has an account of their own", async () => {
  const { client } = await setupRig({ client: {} });
  expect((await client.listTools()).tools).toEqual([]);
});
