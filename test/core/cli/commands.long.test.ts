import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { makeFolder } from "../../kit/folder.ts";
import { spawnPropylon, startPropylon, useCommands, type Running } from "./propylon.ts";

const { propylon, propylonEach } = useCommands();

const EVERYTHING = fileURLToPath(
  new URL(
    "../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
    import.meta.url,
  ),
);
const ECHO = `
import { definePlugin } from "propylon";
import { z } from "zod";
export default definePlugin({
  name: "echo",
  setup(gateway) {
    gateway.tool("say", { description: "Says it.", input: z.object({ text: z.string(), times: z.number().optional() }), run: ({ text, times }) => text.repeat(times ?? 1) });
    gateway.tool("-shout", { description: "Says it loudly.", input: z.object({ text: z.string(), "-end": z.string().optional() }), run: (input) => text(input) });
    gateway.tool("fail", { description: "Fails.", run: () => ({ isError: true, content: [{ type: "text", text: "failed on purpose" }] }) });
  },
});
const text = (input) => input.text.toUpperCase() + (input["-end"] ?? "!");`;

let folder: string;
let running: Running | undefined;
beforeEach(async () => {
  folder = makeFolder({
    "echo.ts": ECHO,
    "gateway.yaml": "listeners: { main: { port: 0 } }\nplugins: { ./echo.ts: {} }\n",
  });
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

describe("usage", () => {
  it("is refused with exit code 1 and a next step", async () => {
    const lines = [
      [["chek"], "Did you mean check?"],
      [["start", "--prot", "1"], "Did you mean --port?"],
      [["start", "--port", "http"], "number from 0 to 65535"],
      [["start", "--log-level", "loud"], "Allowed choices"],
      [["start", "--read-onyl"], "See propylon start --help."],
      [["bogus"], "See propylon --help."],
      [["plugin", "new"], "See propylon plugin new --help."],
      [["key"], "See propylon key --help."],
      [["client-config", "claud"], 'Did you mean "claude"?'],
      [["start", "nowhere.yaml"], "does not exist"],
      [["start", "--listener", "other", "--port", "0"], 'There is no listener "other".'],
      [["call", "x", "--target", "http://127.0.0.1:9", "--timeout", "soon"], "not a duration"],
      [["--"], "No command follows --."],
    ] as const;
    const told = await propylonEach(
      lines.map(([words]) => words),
      { cwd: folder },
    );
    for (const [at, [words, hint]] of lines.entries()) {
      const { code, stderr } = told[at]!;
      expect({ words, code }).toEqual({ words, code: 1 });
      expect(stderr).toContain(hint);
      expect(stderr).not.toMatch(/^\s+at /m);
    }
  });

  it("says nothing when its reader has seen enough, as head has", async () => {
    const child = spawnPropylon(["--help"], { cwd: folder });
    child.stdout!.destroy();
    let told = "";
    child.stderr!.on("data", (chunk: Buffer) => (told += chunk.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    expect({ code, told }).toEqual({ code: 0, told: "" });
  });

  it("prints help and version with exit code 0", async () => {
    expect((await propylon(["--help"])).stdout).toContain("client-config");
    expect(await propylon(["--version"])).toMatchObject({ code: 0 });
  });
});

describe("start, tools and call", () => {
  it("serves, lists, calls, tells how it ended, and exits 0 on SIGTERM", async () => {
    running = await startPropylon(["start"], { cwd: folder });
    const { url } = running;
    const call = (...words: string[]) => ["call", ...words, "--target", url];
    const [text, json, two, object, five, wrong, fail, missing] = await propylonEach([
      ["tools", url],
      ["tools", url, "--json"],
      call("say", "text=ab", "times=2"),
      call("say", '{"text": "json"}'),
      call("say", "text=5"),
      call("say", "times=x"),
      call("fail"),
      call("sya"),
    ]);
    expect(text!.stdout).toContain("say(text, times?)  Says it.");
    expect(JSON.parse(json!.stdout)).toHaveLength(3);
    expect(two).toMatchObject({ code: 0, stdout: "abab\n" });
    expect(object).toMatchObject({ code: 0, stdout: "json\n" });
    expect(five).toMatchObject({ code: 0, stdout: "5\n" });
    expect(wrong).toMatchObject({ code: 5 });
    expect(fail).toMatchObject({ code: 5, stdout: "failed on purpose\n" });
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Did you mean "say"?') as string,
    });
    expect(await running.stop()).toBe(0);
    running = undefined;
  });

  it("call takes a tool and arguments that begin with - behind --", async () => {
    running = await startPropylon(["start"], { cwd: folder });
    const ask = ["call", "--target", running.url, "--"];
    const [loud, end, object, split, none] = await propylonEach([
      [...ask, "-shout", "text=no"],
      [...ask, "-shout", "text=no", "-end=?"],
      [...ask, "-shout", '{"text":"--"}'],
      // What stands before it counts, too.
      ["call", "say", "text=ab", "--target", running.url, "--", "times=2"],
      ask,
    ]);
    expect(loud).toMatchObject({ stdout: "NO!\n" });
    expect(end).toMatchObject({ code: 0, stdout: "NO?\n" });
    expect(object).toMatchObject({ stdout: "--!\n" });
    expect(split).toMatchObject({ code: 0, stdout: "abab\n" });
    expect(none).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("missing required argument 'tool'") as string,
    });
  });

  it("call says that a tool is switched off, and by whom it can be switched on", async () => {
    await writeFile(
      join(folder, "gateway.yaml"),
      "listeners: { main: { port: 0 } }\nplugins: { ./echo.ts: {}, gating: {}, admin: {} }\n",
    );
    running = await startPropylon(["start", "--allow-mutations"], { cwd: folder });
    const { url } = running;
    const turn = (way: string): Promise<Response> =>
      fetch(new URL(`/_meta/servers/echo/tools/say/${way}`, url), { method: "POST" });
    expect((await turn("disable")).status).toBe(200);
    const say = ["call", "say", "text=x", "--target", url];
    const refused = await propylon(say);
    expect(refused.stderr).toContain('The tool "say" of "echo" is switched off.');
    expect(refused.stderr).toContain("An operator of the gateway can switch it on.");
    expect(refused.code).toBe(1);
    expect((await turn("enable")).status).toBe(200);
    expect(await propylon(say)).toMatchObject({ code: 0, stdout: "x\n" });
  });

  it("tells when nothing answers (2) and when the key is refused (3)", async () => {
    const key = "a-key-of-16-characters";
    running = await startPropylon(["start"], { cwd: folder, env: { PROPYLON_API_KEY: key } });
    const { url } = running;
    const [nothing, astray, refused, wrong, right] = await propylonEach([
      ["tools", "http://127.0.0.1:9"],
      ["tools", `${url}/astray`, "--api-key", key],
      ["tools", url],
      ["tools", url, "--api-key", "another-key-than-that"],
      ["tools", url, "--api-key", key],
    ]);
    expect(nothing).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("cannot be reached") as string,
    });
    expect(astray).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("There is no MCP endpoint at") as string,
    });
    expect(refused).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/ wants a key\. Give its key with --api-key/) as string,
    });
    expect(wrong).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("does not know this key") as string,
    });
    expect(right).toMatchObject({ code: 0 });
    expect(running.log()).not.toContain(key);
  });

  it("runs a server with no config at all, named after its command, and shows progress", async () => {
    running = await startPropylon(["--port", "0", "--", "node", EVERYTHING], { cwd: folder });
    expect(running.log()).toContain('"name":"index","state":"ready"');
    const { stdout, stderr, code } = await propylon([
      "call",
      "trigger-long-running-operation",
      "duration=0.3",
      "steps=3",
      "--target",
      running.url,
    ]);
    expect(stderr).toBe("1/3\n2/3\n3/3\n");
    expect(stdout).toContain("completed");
    expect(code).toBe(0);
    const hurried = ["call", "trigger-long-running-operation", "duration=20", "--timeout", "300ms"];
    expect(await propylon([...hurried, "--target", running.url])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--timeout") as string,
    });
  });

  it("M014, M041: the file watcher reloads a changed plugin and config, keeps the old on a wrong one and says where", async () => {
    running = await startPropylon(["start", "--watch"], { cwd: folder });
    const { url } = running;
    const say = async (): Promise<string> =>
      (await propylon(["call", "say", "text=x", "--target", url])).stdout;
    await writeFile(join(folder, "echo.ts"), ECHO.replace("text.repeat", '"new " + text.repeat'));
    await running.until(/"generation":2,.*"msg":"reloaded: [^"]*changed"/);
    expect(await say()).toBe("new x\n");
    await writeFile(join(folder, "gateway.yaml"), "listeners: { main: { port: 0 } }\nplugns: {}\n");
    await running.until(/gateway\.yaml:2:1 Unknown key/);
    expect(await say()).toBe("new x\n");
    await writeFile(
      join(folder, "gateway.yaml"),
      "listeners: { main: { port: 0 } }\nplugins: { ./echo.ts: {} }\ntimeouts: { default: 5s }\n",
    );
    await running.until(/"generation":3,.*"msg":"reloaded: [^"]*"/);
    expect(await say()).toBe("new x\n");
  });

  it("reloads on SIGHUP without --watch", async () => {
    running = await startPropylon(["start"], { cwd: folder });
    await writeFile(join(folder, "gateway.yaml"), "bogus: 1\n");
    running.child.kill("SIGHUP");
    await running.until(/gateway\.yaml:1:1 Unknown key/);
    expect(running.child.exitCode).toBeNull();
    await writeFile(join(folder, "gateway.yaml"), "listeners: { main: { port: 0 } }\n");
    running.child.kill("SIGHUP");
    await running.until(/"msg":"reloaded: plugin \.\/echo\.ts removed"/);
  });
});

/** What each client is told of a gateway with a key. */
const SNIPPETS = [
  [
    "claude",
    {
      mcpServers: {
        shop: {
          type: "http",
          url: "http://localhost:9000/mcp",
          headers: { Authorization: "Bearer ${PROPYLON_API_KEY}" },
        },
      },
    },
  ],
  [
    "cursor",
    {
      mcpServers: {
        shop: {
          url: "http://localhost:9000/mcp",
          headers: { Authorization: "Bearer ${env:PROPYLON_API_KEY}" },
        },
      },
    },
  ],
  [
    "vscode",
    {
      servers: {
        shop: {
          type: "http",
          url: "http://localhost:9000/mcp",
          headers: { Authorization: "Bearer ${input:propylon-key}" },
        },
      },
    },
  ],
] as const;

describe("client-config and schema", () => {
  it("prints the snippets of all clients without the key", async () => {
    await writeFile(
      join(folder, "gateway.yaml"),
      "name: shop\nlisteners: { main: { port: 9000, host: 0.0.0.0 } }\nauth: { apiKey: the-secret-key-itself }\n",
    );
    const asJson = SNIPPETS.map(([client]) => ["client-config", client, "--json"]);
    const asText = SNIPPETS.map(([client]) => ["client-config", client]);
    const told = await propylonEach([...asJson, ...asText], { cwd: folder });
    // The variable of the project's own .env is the one that its user has at hand.
    await writeFile(join(folder, "gateway.yaml"), 'name: shop\nauth: { apiKey: "${SHOP_KEY}" }\n');
    const env = { SHOP_KEY: "the-secret-key-itself" };
    const own = await propylonEach(asJson, { cwd: folder, env });
    for (const [at, [client, expected]] of SNIPPETS.entries()) {
      const { stdout } = told[at]!;
      expect(JSON.parse(stdout)).toMatchObject(expected);
      expect(stdout).not.toContain("the-secret");
      expect(told[at + SNIPPETS.length]!.stdout).toContain("mcp.json");
      expect(own[at]!.stdout).toContain(client === "vscode" ? "propylon-key" : "SHOP_KEY}");
      expect(own[at]!.stdout).not.toContain("the-secret");
    }
  });

  it("prints a schema with the options of the plugins", async () => {
    await writeFile(
      join(folder, "echo.ts"),
      ECHO.replace('name: "echo",', 'name: "echo", config: z.strictObject({ loud: z.boolean() }),'),
    );
    const { stdout } = await propylon(["schema", "gateway.yaml"], { cwd: folder });
    await writeFile(join(folder, "gateway.yaml"), "plugins: { ./echo.ts: { loud: true } }\n");
    const schema = parse((await propylon(["schema", "gateway.yaml"], { cwd: folder })).stdout) as {
      properties: { plugins: { properties: Record<string, object> } };
    };
    expect(stdout).toBe("");
    expect(JSON.stringify(schema.properties.plugins.properties["./echo.ts"])).toContain('"loud"');
  });
});
