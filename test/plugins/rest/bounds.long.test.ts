import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import rest from "../../../plugins/rest/index.ts";
import { until } from "../../kit/until.ts";
import { petsConfig, settled } from "./kit.ts";

/** Milliseconds, on a machine with other work; before it was a thread's, the least of these took seconds. */
const HELD = 1_000;
const HEAD = '"openapi":"3.1.0","info":{"title":"t","version":"1"}';

/** A document that an API serves, and how long the event loop stood still at most until the server had an outcome. */
async function read(document: string, more: Record<string, unknown> = {}) {
  const server = createServer((_req, res) => void res.end(document));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const spec = `http://127.0.0.1:${(server.address() as AddressInfo).port}/openapi`;
  const { gateway } = await setupGateway({
    plugins: [rest],
    config: petsConfig({ spec, ...more }),
  });
  return gateway;
}

/** The longest time for which the loop was held, in milliseconds. */
function watchLoop(): () => number {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 5);
    last = now;
  }, 5);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

const keys = (count: number, key: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => key(at)).join("\n");
const yaml = (extra: string): string =>
  `openapi: 3.1.0\ninfo: { title: t, version: "1" }\npaths: {}\nx-data:\n${extra}\n`;
const operations = (count: number, id: (at: number) => string, more = ""): string =>
  `{${HEAD},"paths":{${Array.from({ length: count }, (_, at) => `"/p${at}":{"get":{"operationId":"${id(at)}","responses":{}${more}}}`).join(",")}}}`;

/** Schemas that all refer to each other, and operations that all refer to one of them. */
function web(schemas: number, count: number): string {
  const all = Array.from({ length: schemas }, (_each, at) => {
    const properties = Array.from(
      { length: 20 },
      (_, to) => `"p${to}":{"$ref":"#/components/schemas/S${(at * 7 + to * 31) % schemas}"}`,
    );
    return `"S${at}":{"type":"object","properties":{${properties.join(",")}}}`;
  });
  const paths = Array.from(
    { length: count },
    (_, at) =>
      `"/p${at}":{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S${at % schemas}"}}}},"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S${at % schemas}"}}}}}}}`,
  );
  return `{${HEAD},"paths":{${paths.join(",")}},"components":{"schemas":{${all.join(",")}}}}`;
}

describe("S1-3: whoever writes a document does not hold the gateway", () => {
  const READ: [string, string][] = [
    ["YAML map of 20,000 keys", yaml(keys(20_000, (at) => `  k${at}: v`))],
    [
      "JSON, 30,000 keys",
      `{${HEAD},"paths":{},"x":{${keys(30_000, (at) => `"k${at}":1,`).slice(0, -1)}}}`,
    ],
    ["JSON, 10,000 operations of one id", operations(10_000, () => "same")],
    [
      "JSON, 8,000 operations whose ids are alike in 64 characters",
      operations(8_000, (at) => `${"x".repeat(70)}${at}`),
    ],
    ["JSON, 400 schemas that refer to each other, 300 operations", web(400, 300)],
  ];
  it.each(READ)("%s: is read, the loop goes on", async (_what, document) => {
    const gateway = await read(document, { connectTimeout: "120s" });
    const longest = watchLoop();
    await until(() => gateway.servers.get("pets")!.status.state !== "connecting", 100_000);
    expect(gateway.servers.get("pets")!.status.state).toBe("ready");
    expect(longest()).toBeLessThan(HELD);
    const { tools } = gateway.servers.get("pets")!.catalogue;
    expect(JSON.stringify(tools).length).toBeLessThan(8_000_000);
  });

  it.each([
    ["YAML map of 400,000 keys", yaml(keys(400_000, (at) => `  k${at}: v`))],
    ["YAML keys that are lists, 60,000", yaml(keys(60_000, (at) => `  ? [a${at}]\n  : {}`))],
    ["YAML flow list of 400,000", yaml(`  [${"a,".repeat(400_000)}a]`)],
  ])("%s: ends with its time, and at once with the gateway", async (_what, document) => {
    const gateway = await read(document, { connectTimeout: "1s" });
    const longest = watchLoop();
    await settled(gateway);
    expect(gateway.servers.get("pets")!.status).toMatchObject({
      reason: expect.stringMatching(/in time|sign|memory/) as string,
    });
    const again = gateway.servers.get("pets")!.reconnect!();
    const began = performance.now();
    await gateway.close({ grace: 0 });
    await again;
    expect(performance.now() - began).toBeLessThan(900);
    expect(longest()).toBeLessThan(HELD);
  });

  it("lists that would be larger than anybody can read are refused with a sentence", async () => {
    const parameters = Array.from(
      { length: 500 },
      (_, at) => `{"name":"parameter${at}","in":"query","schema":{"type":"string"}}`,
    );
    const item = `{"get":{"responses":{},"parameters":[${parameters.join(",")}]}}`;
    const paths = Array.from({ length: 1_500 }, (_, at) => `"/p${at}":{"$ref":"#/x-item"}`);
    const document = `{${HEAD},"x-item":${item},"paths":{${paths.join(",")}}}`;
    const gateway = await read(document, { connectTimeout: "120s" });
    const longest = watchLoop();
    await until(() => gateway.servers.get("pets")!.status.state === "failed", 100_000);
    expect(gateway.servers.get("pets")!.status.reason).toContain("Choose some of its operations");
    expect(longest()).toBeLessThan(HELD);
  });

  it("what takes more memory than a thread may have is refused with a sentence", async () => {
    const document = `{${HEAD},"paths":{},"x":[${"[{}],".repeat(3_000_000)}[]]}`;
    const gateway = await read(document, { connectTimeout: "300s" });
    await until(() => gateway.servers.get("pets")!.status.state === "failed", 100_000);
    expect(gateway.servers.get("pets")!.status).toMatchObject({
      reason: expect.stringContaining("too much memory") as string,
    });
  });

  it("a key that is there twice is told with its line", async () => {
    const gateway = await read(`${yaml("  a: 1")}paths: {}\n`);
    await settled(gateway);
    expect(gateway.servers.get("pets")!.status).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("neither JSON nor YAML: see line 6") as string,
    });
  });
});
