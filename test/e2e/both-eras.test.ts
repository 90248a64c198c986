import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { createGateway } from "propylon";
import { digestOf } from "propylon/kit";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connectLegacy } from "../../plugins/conformance/mcp/client-legacy.ts";
import { connectModern } from "../../plugins/conformance/mcp/client-modern.ts";
import type { KitClient } from "../../plugins/conformance/mcp/client.ts";
import { createKey } from "../../plugins/keys/key.ts";
import type { Era } from "../../core/kit/types.ts";
import { until } from "../kit/until.ts";
import { textOf } from "./relay/features.ts";
import { personOf } from "./relay/person.ts";

const PROGRAM = fileURLToPath(new URL("../fixtures/upstreams/both-eras.mjs", import.meta.url));
const KEYS = { ada: createKey("caller"), bob: createKey("caller") };
const CONNECT = { legacy: connectLegacy, modern: connectModern };

async function connect(url: string, era: Era, name: keyof typeof KEYS): Promise<KitClient> {
  const headers = { authorization: `Bearer ${KEYS[name]}` };
  const client = await CONNECT[era](url, headers, personOf(name));
  onTestFinished(() => client.close());
  return client;
}

async function startRemote(place: string): Promise<{ url: string; stop(): void }> {
  const child = spawn(process.execPath, [PROGRAM, place], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { url: (JSON.parse(line) as { url: string }).url, stop: () => child.kill() };
}

async function startScene(place: string) {
  const remote = place === "stdio" ? undefined : await startRemote(place);
  const server = remote
    ? { url: remote.url }
    : { command: process.execPath, args: [PROGRAM, "stdio"] };
  const keys = Object.fromEntries(
    Object.entries(KEYS).map(([name, key]) => [
      name,
      { role: "caller" as const, hash: `sha256:${digestOf(key)}` },
    ]),
  );
  const gateway = await createGateway(
    { listeners: { main: { port: 0 } }, auth: { keys }, servers: { both: server } },
    { log: pino({ level: "silent" }) },
  );
  await gateway.listen();
  await until(() => gateway.servers.get("both")?.status.state === "ready");
  const close = async (): Promise<void> => {
    await gateway.close({ grace: 0 });
    remote?.stop();
  };
  return { url: gateway.endpoints[0]!.url, gateway, direct: remote?.url, close };
}

/** What each tool gives to somebody who can be asked, by the era of the client; the SDK has nothing for the other ones. */
const TOOLS = { plain: "plain", elicit: "NAME fills", sample: "NAME says", input: "NAME fills" };
const WORKS: Readonly<Record<Era, readonly (keyof typeof TOOLS)[]>> = {
  legacy: ["plain", "elicit", "sample", "input"],
  modern: ["plain", "input"],
};

describe.each(["stdio", "http"])("a server of both eras over %s, protocol: auto", (place) => {
  let scene: Awaited<ReturnType<typeof startScene>>;
  beforeAll(async () => void (scene = await startScene(place)));
  afterAll(() => scene.close());

  it.each(["legacy", "modern"] as const)(
    "every tool works for a %s client as it does without the gateway, for two principals at once",
    async (era) => {
      const names = ["ada", "bob"] as const;
      const clients = await Promise.all(names.map((name) => connect(scene.url, era, name)));
      for (const tool of WORKS[era]) {
        const answers = await Promise.all(clients.map((client) => client.call(tool, {})));
        const wanted = names.map((name) => TOOLS[tool].replace("NAME", name));
        expect(answers.map(textOf)).toEqual(wanted);
      }
      for (const { heard } of clients)
        expect(new Set(heard.about("asked")).size).toBe(era === "legacy" ? 2 : 1);
      expect(scene.gateway.servers.get("both")?.status.era).toBe("modern");
    },
  );
});

it("a server without sessions in the legacy era, where no answer finds its question, is asked the modern way", async () => {
  const scene = await startScene("stateless");
  onTestFinished(() => scene.close());
  const outcomes = async (url: string): Promise<readonly string[]> => {
    const client = await connect(url, "legacy", "ada");
    const call = (tool: string): Promise<string> => client.call(tool, {}).then(textOf, String);
    return Promise.all(["plain", "elicit", "input"].map(call));
  };
  const refused = expect.not.stringContaining("ada fills");
  expect(await outcomes(scene.direct!)).toEqual(["plain", refused, refused]);
  expect(await outcomes(scene.url)).toEqual(["plain", refused, "ada fills"]);
});
