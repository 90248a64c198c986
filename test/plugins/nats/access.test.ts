import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { useDriver, useServer } from "./kit.ts";

const PASSWORD = "canary-9b1f";
const ADMIN = `{ user: admin, password: "${PASSWORD}" }`;
const users = (...lines: string[]): string => `authorization { users: [ ${lines.join(", ")} ] }`;

/** The permissions that the page of the plugin lists, as it says them. */
async function listed(): Promise<string> {
  const page = await readFile("docs/plugins/nats.md", "utf8");
  const [, block] = /```text\n(permissions: [\s\S]*?)```/.exec(page) ?? [];
  return block!;
}

describe("who the gateway is", () => {
  it("stands in the address or in the options, and in no line of the log", async () => {
    const { port, url } = await useServer(users(ADMIN));
    const lines: string[] = [];
    const inUrl = await useDriver(`nats://admin:${PASSWORD}@127.0.0.1:${port}`, {}, lines);
    await inUrl.put("b", "key", "1");
    const inOptions = await useDriver(url, { user: "admin", password: PASSWORD }, lines);
    expect((await inOptions.get("b", "key"))?.value).toBe("1");
    expect(lines.join()).toContain("connected to NATS");
    expect(lines.join()).not.toContain("canary");
  });

  it.each([
    ["another password", { user: "admin", password: "canary-0c2e" }],
    ["a token that nobody wants", { token: "canary-0c2e" }],
    ["nobody", {}],
  ])("is told when it is refused, at once and without the secret: %s", async (_name, options) => {
    const { url } = await useServer(users(ADMIN));
    const lines: string[] = [];
    const opening = useDriver(url, { ...options, timing: { open: 30_000 } }, lines);
    await expect(opening).rejects.toThrow("NATS refuses the credentials");
    const error = await opening.catch((thrown: unknown) => thrown);
    const { message, hint } = error as { message: string; hint: string };
    expect(`${message} ${hint} ${lines.join()}`).not.toContain("canary");
  });

  it("is told when nobody listens at the address, with what to do", async () => {
    const opening = useDriver("nats://127.0.0.1:1", { timing: { open: 300 } });
    await expect(opening).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("NATS cannot be reached") as string,
      hint: expect.stringContaining("nats-server") as string,
    });
  });
});

describe("what a user of NATS must be allowed", () => {
  it("is what the page lists, and no more", async () => {
    const { url } = await useServer(
      users(`{ user: gateway, password: "${PASSWORD}", ${await listed()} }`),
    );
    const lines: string[] = [];
    const driver = await useDriver(url, { user: "gateway", password: PASSWORD }, lines);
    const heard: unknown[] = [];
    await driver.watch("b", (key) => heard.push(key));
    await driver.follow("log", () => heard.push("log"));
    await driver.subscribe("t", (message) => heard.push(message));
    await driver.put("b", "key", "x".repeat(2_000_000));
    await driver.put("b", "key", "1");
    expect(await driver.list("b", { prefix: "", limit: 9 })).toHaveLength(1);
    expect(await driver.delete("b", "key")).toBe(true);
    await driver.append("log", ["1", "2", "3"]);
    await driver.trim("log", { maxEntries: 2 });
    expect(await driver.read("log", 0, 9)).toHaveLength(2);
    await driver.publish("t", "said");
    await driver.sweep();
    await expect.poll(() => heard).toEqual(expect.arrayContaining(["key", "log", "said"]));
    expect(lines.join()).not.toContain("may not");
  });

  it.each([
    ["publish", "$JS.API.STREAM.INFO.>"],
    ["publish", "$JS.API.STREAM.MSG.GET.propylon_kv"],
    ["publish", "$JS.API.STREAM.MSG.DELETE.>"],
    ["publish", "$JS.API.STREAM.PURGE.>"],
    ["publish", "$JS.API.CONSUMER.CREATE.>"],
    ["publish", "propylon.kv.v.>"],
    ["publish", "propylon.log.>"],
    ["publish", "propylon.topic.>"],
    ["subscribe", "propylon.kvc.>"],
    ["subscribe", "propylon.topic.>"],
    ["subscribe", "_INBOX.>"],
  ])("is named when it is missing: %s %s", async (operation, subject) => {
    const permissions = `permissions: { ${operation}: { deny: ["${subject}"] } }`;
    const { url } = await useServer(
      users(ADMIN, `{ user: gateway, password: "${PASSWORD}", ${permissions} }`),
    );
    // The streams are there already.
    await (await useDriver(url, { user: "admin", password: PASSWORD })).close();
    const lines: string[] = [];
    const opening = useDriver(url, { user: "gateway", password: PASSWORD }, lines);
    const deed = operation === "publish" ? "publish to" : "subscribe to";
    await expect(opening).rejects.toThrow(
      `The user of NATS may not ${deed} ${subject.replace(/>$/, "").replace(/\.$/, "")}`,
    );
    expect(lines.join()).not.toContain("canary");
  });
});
