import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectClient } from "../../../core/testing/index.ts";
import { Folders, propylon, run, serve, succeed, type Served } from "./kit.ts";

const folders = new Folders();
let output: string;

const KEY = "key-of-a-gateway-that-is-built-0123456789";
const headers = { authorization: `Bearer ${KEY}` };
const MAIN = `listeners: { main: { port: 0 } }
auth: { apiKey: ${KEY} }
management: { mutations: true }
`;

beforeAll(async () => {
  const project = await folders.project({
    "gateway.yaml": `${MAIN}plugins: { gating: {}, admin: {}, health: {}, ./tell.ts: { word: built } }\n`,
    "tell.ts": `
import { definePlugin } from "propylon";
import { z } from "zod";
export default definePlugin({
  name: "tell",
  config: z.strictObject({ word: z.string() }),
  setup(gateway) {
    gateway.tool("tell", { description: "Tells its word.", run: () => gateway.config.word });
  },
});
`,
  });
  succeed(await propylon(["build"], project));
  output = join(project, ".output");
});
afterAll(() => folders.remove());

/** The build alone in a folder, with another config beside it. */
async function moved(yaml?: string): Promise<string> {
  const folder = await folders.moved(output);
  if (yaml !== undefined) await writeFile(join(folder, "gateway.yaml"), yaml);
  return folder;
}

function post({ url }: Served, path: string): Promise<Response> {
  return fetch(`${url}${path}`, { method: "POST", headers });
}

async function told({ url }: Served): Promise<unknown> {
  const client = await connectClient(`${url}/mcp`, { headers });
  const { content } = await client.callTool({ name: "tell" });
  await client.close();
  return (content as { text: string }[])[0]!.text;
}

describe("a config that cannot be used", () => {
  it("is told with the place of every problem", async () => {
    const folder = await moved(
      `${MAIN}serverz: {}\nplugins:\n  ./tell.ts: { wort: x }\n  health: {}\n`,
    );
    const started = await run(["server.mjs"], folder);
    expect(started).toMatchObject({ code: 1, stdout: "" });
    expect(started.stderr).toBe(
      'gateway.yaml:4:1 Unknown key "serverz" at the top of the config. Did you mean "servers"?\n',
    );
  });

  it("is told when it names a plugin that is not in the build", async () => {
    const folder = await moved(`${MAIN}plugins:\n  health: {}\n  metrics: {}\n`);
    const started = await run(["server.mjs"], folder);
    expect(started).toMatchObject({ code: 1, stdout: "" });
    expect(started.stderr).toBe(
      'gateway.yaml:6:3 The plugin "metrics" is not in this build. Run propylon build again with this config. This build has only: gating, admin, health, ./tell.ts.\n',
    );
  });

  it("is told when it names options that a plugin does not have", async () => {
    const folder = await moved(`${MAIN}plugins:\n  ./tell.ts: { wort: x }\n`);
    const { code, stderr } = await run(["server.mjs"], folder);
    expect(code).toBe(1);
    expect(stderr).toContain('gateway.yaml:5:16 Unknown key "wort"');
  });

  it("is told when there is none", async () => {
    const folder = await moved();
    const { code, stderr } = await run(["server.mjs", "other.yaml"], folder);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "The config other.yaml does not exist. Check the path.\n",
    });
  });
});

describe("the command line of a build", () => {
  it("says how it is called", async () => {
    const folder = await moved();
    const help = await run(["server.mjs", "--help"], folder);
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toContain("node server.mjs [config] [--port NUMBER]");
    const wrong = await run(["server.mjs", "--prot", "1"], folder);
    expect(wrong).toMatchObject({ code: 1, stdout: "" });
    expect(wrong.stderr).toContain("[--port NUMBER]");
  });

  it("takes the config of GATEWAY_CONFIG, an address and read-only mode", async () => {
    const [folder, elsewhere] = [await moved(), await folders.empty()];
    const config = join(elsewhere, "other.yaml");
    await writeFile(
      config,
      `${MAIN}plugins: { gating: {}, admin: {}, ./tell.ts: { word: elsewhere } }\n`,
    );
    const served = await serve(folder, { GATEWAY_CONFIG: config }, [
      "--host",
      "127.0.0.2",
      "--read-only",
    ]);
    expect(served.url).toContain("127.0.0.2");
    expect(await told(served)).toBe("elsewhere");
    const reload = await post(served, "/_meta/reload");
    expect(await reload.json()).toMatchObject({ ok: false, error: { code: "read_only" } });
    expect(await served.stop()).toBe(0);
  });

  it("takes the key of PROPYLON_API_KEY, as start does", async () => {
    const folder = await moved("listeners: { main: { port: 0 } }\nplugins: { health: {} }\n");
    const served = await serve(folder, { PROPYLON_API_KEY: KEY });
    const status = async (init: RequestInit) =>
      (await fetch(`${served.url}/mcp`, { method: "DELETE", ...init })).status;
    expect(await status({})).toBe(401);
    expect(await status({ headers })).not.toBe(401);
    expect(await served.stop()).toBe(0);
    const broken = await run(["server.mjs"], folder, { PROPYLON_API_KEY: `${KEY}\n` });
    expect(broken.code).toBe(1);
    expect(broken.stderr).toContain("The key of PROPYLON_API_KEY has characters");
  });
});

describe("a reload of a build", () => {
  it("takes what the config says by then, and refuses what is not in the build", async () => {
    const folder = await moved();
    const served = await serve(folder);
    const write = (plugins: string): Promise<void> =>
      writeFile(join(folder, "gateway.yaml"), `${MAIN}plugins: ${plugins}\n`);
    expect(await told(served)).toBe("built");

    await write("{ gating: {}, admin: {}, ./tell.ts: { word: reloaded } }");
    const reload = await post(served, "/_meta/reload");
    expect(await reload.json()).toMatchObject({
      ok: true,
      plugins: { removed: ["health"], changed: expect.arrayContaining(["./tell.ts"]) },
    });
    expect(await told(served)).toBe("reloaded");

    await write("{ gating: {}, admin: {}, ./tell.ts: { word: signalled } }");
    served.signal("SIGHUP");
    await served.until(/"generation":3/);
    expect(await told(served)).toBe("signalled");

    await write("{ gating: {}, admin: {}, metrics: {} }");
    const refused = await post(served, "/_meta/reload");
    expect(JSON.stringify(await refused.json())).toContain(
      String.raw`The plugin \"metrics\" is not in this build.`,
    );
    expect(await told(served)).toBe("signalled");
    expect(await served.stop()).toBe(0);
  });
});
