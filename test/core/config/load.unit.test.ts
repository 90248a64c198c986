import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { GatewayError } from "propylon";
import { beforeEach, describe, expect, it } from "vitest";
import { issuesOf, issueText } from "../../../core/config/issue.ts";
import { ConfigFile } from "../../../core/file/config-file.ts";
import { findConfig, loadConfig } from "../../../core/file/load.ts";
import { maskConfig } from "../../../core/kit/mask.ts";
import { maskGatewayConfig } from "../../../core/config/shown.ts";
import { makeFolder } from "../../kit/folder.ts";

let folder: string;
beforeEach(async () => {
  folder = makeFolder();
});

async function write(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

async function failure(file: string, environment = {}): Promise<GatewayError> {
  return new ConfigFile(file, { environment }).load().then(
    () => expect.unreachable("the config was accepted"),
    (thrown: GatewayError) => thrown,
  );
}

describe("loadConfig", () => {
  it("fills in defaults, durations in ms and sizes in bytes", async () => {
    const { config } = await loadConfig(
      await write(
        "gateway.yaml",
        "servers: { a: { command: npx, timeout: 30s } }\nlimits: { body: 1MiB }\n",
      ),
    );
    expect(config.values.servers["a"]).toMatchObject({
      timeout: 30_000,
      args: [],
    });
    expect(config.values.limits.body).toBe(1_048_576);
    expect(config.values.listeners["main"]).toMatchObject({ host: "127.0.0.1", port: 8080 });
  });

  it.each(["gateway.yaml", "gateway.yml", "gateway.json"])("reads %s", async (name) => {
    const { config, cwd } = await loadConfig(
      await write(name, '{\n\t"$schema": "./x.json",\n\t"name": "tabs"\n}'),
    );
    expect(config.values.name).toBe("tabs");
    expect(cwd).toBe(folder);
  });

  it("reads a TypeScript config: types, functions, variables, and lists that are not concatenated", async () => {
    const source = `
      import { definePlugin } from "propylon";
      interface Names { name: string }
      const names: Names = { name: typeof definePlugin };
      export default async () => ({ ...names, servers: { a: { command: "npx", args: ["\${WORD}", "b"] } } });`;
    const { config } = await loadConfig(await write("gateway.ts", source), {
      environment: { WORD: "one" },
    });
    expect(config.values.name).toBe("function");
    expect(config.values.servers["a"]).toMatchObject({ args: ["one", "b"] });
  });

  it("downloads nothing a code config asks to extend, and reads no other file", async () => {
    await write("package.json", '{ "gateway": { "name": "wrong" } }');
    await write(".gatewayrc", "name=wrong");
    const error = await failure(
      await write("gateway.mts", 'export default { name: "own", extends: "gh:propylon/none" };'),
    );
    expect(issuesOf(error)[0]).toMatchObject({
      message: '"gh:propylon/none" is not a file.',
      place: { file: "gateway.mts", path: "extends" },
    });
  });

  it("tells where a code config is broken, without a path of this machine", async () => {
    const error = await failure(await write("gateway.ts", "export default {\n  name: ,\n};\n"));
    expect(error.message).toMatch(/^gateway\.ts:2:\d+ The file cannot be loaded/);
    expect(error.message).not.toContain(folder);
  });

  it("names a missing file, a folder and a foreign ending", async () => {
    expect((await failure(join(folder, "none.yaml"))).code).toBe("no_config");
    expect((await failure(folder)).code).toBe("no_config");
    expect((await failure(await write("gateway.ini", ""))).message).toContain("must end in");
  });

  it("finds the config of a folder", async () => {
    expect(() => findConfig(folder)).toThrow(/There is no gateway.yaml/);
    const file = await write("gateway.json", "{}");
    expect(findConfig(folder)).toBe(file);
  });

  it("keeps anchors in x- keys, merges them, and ignores sections that are commented out", async () => {
    const text =
      "x-common: &common { timeout: 5s }\nplugins:\n  # echo: {}\nservers:\n  a: { <<: *common, command: npx }\n";
    expect(
      (await loadConfig(await write("gateway.yaml", text))).config.values.servers["a"],
    ).toMatchObject({ timeout: 5_000 });
  });

  it("reads a variable as a number or boolean where one is wanted", async () => {
    const text =
      'listeners: { main: { port: "${PORT}" } }\nservers: { a: { command: npx, enabled: "${ON}" } }\nauth: { apiKey: "${KEY}" }\nworkers: "${WORKERS}"\n';
    const { config } = await loadConfig(await write("gateway.yaml", text), {
      environment: { PORT: "9000", ON: "false", KEY: "1234567890123456", WORKERS: "3" },
    });
    // A word would do, too.
    expect(config.values.workers).toBe(3);
    expect(config.values.listeners["main"]!.port).toBe(9000);
    expect(config.values.servers["a"]!.enabled).toBe(false);
    expect(config.values.auth.apiKey).toBe("1234567890123456");
  });

  it("takes variables from .env beside the config, below the real environment", async () => {
    await write(".env", "A=file\nB=file\n");
    const { config } = await loadConfig(await write("gateway.yaml", "name: ${A}-${B}\n"), {
      environment: { A: "real" },
    });
    expect(config.values.name).toBe("real-file");
  });
});

it("refuses an alias that repeats itself", async () => {
  const error = await failure(await write("gateway.yaml", "x-a: &a\n  b: [*a]\n"));
  expect(error.message).toContain('2:7 The alias "*a" is inside the part that it repeats.');
});

describe("blocks of other clients", () => {
  it.each([
    ["streamable_http", "streamable-http"],
    ["streamablehttp", "streamable-http"],
    ["streamable-http", "streamable-http"],
    ["streamableHttp", "streamable-http"],
    ["http", "streamable-http"],
    ["sse", "sse"],
  ])("M006: the transport %s is %s, under either key", async (written, expected) => {
    const text = JSON.stringify({
      mcpServers: { a: { type: written, url: "https://a.example" } },
      servers: { b: { transport: written, url: "https://b.example" } },
    });
    const { config } = await loadConfig(await write("gateway.json", text));
    expect(config.values.servers).toMatchObject({
      a: { transport: expected },
      b: { transport: expected },
    });
  });

  it("accepts mcpServers verbatim and warns about keys only other clients know", async () => {
    const pasted = {
      mcpServers: {
        files: {
          type: "stdio",
          command: "npx",
          args: ["-y", "files"],
          env: { ROOT: "${env:HOME}" },
          disabled: true,
          autoApprove: ["read"],
        },
        search: {
          serverUrl: "https://search.example/mcp",
          disabledTools: ["drop"],
          alwaysAllow: [],
        },
      },
    };
    const { config, warnings } = await loadConfig(
      await write("gateway.json", JSON.stringify(pasted, null, 2)),
      { environment: { HOME: "/home/x" } },
    );
    expect(config.values.servers).toMatchObject({
      files: { command: "npx", enabled: false, env: { ROOT: "/home/x" } },
      search: { url: "https://search.example/mcp", tools: { exclude: ["drop"] } },
    });
    expect(warnings.map((warning) => [warning.message, warning.place.line])).toEqual([
      ['The key "autoApprove" is ignored.', 14],
      ['The key "alwaysAllow" is ignored.', 23],
    ]);
  });

  it("points at the words of the other client, and names them", async () => {
    const text = `mcpServers:
  a:
    serverUrl: nowhere
    disabledTools: 5
  b: { command: npx, disabled: maybe }
`;
    const file = await write("gateway.yaml", text);
    expect(issuesOf(await failure(file)).map(issueText)).toEqual([
      expect.stringContaining("3:16 mcpServers.a.serverUrl must be an http or https URL."),
      expect.stringContaining("4:20 mcpServers.a.disabledTools must be a list."),
      expect.stringContaining("5:32 mcpServers.b.disabled must be true or false."),
    ]);
  });

  it("takes a variable for disabled", async () => {
    const text = 'mcpServers: { a: { command: npx, disabled: "${OFF}" } }\n';
    const file = await write("gateway.yaml", text);
    for (const off of [true, false]) {
      const { config } = await loadConfig(file, { environment: { OFF: String(off) } });
      expect(config.values.servers["a"]!.enabled).toBe(!off);
    }
  });

  it("refuses those keys among our own servers", async () => {
    expect(
      (
        await failure(
          await write("gateway.yaml", "servers:\n  a: { command: npx, autoApprove: [] }\n"),
        )
      ).message,
    ).toContain('2:22 Unknown key "autoApprove"');
  });
});

describe("secrets", () => {
  const CANARY = "canary-5f1e9c-as-long-as-a-key";

  it("are masked wherever the config is shown: headers, env, keys, userinfo, and all that came from a variable", async () => {
    const text = `
auth: { apiKey: "plain-api-key-in-file" }
servers:
  a: { url: "https://user:plain-password@a.example/\${C}", headers: { X-Anything: plain-header } }
  b: { command: npx, args: ["--flag=\${C}"], env: { ANY: plain-env } }
plugins:
  ./p.ts: { token: plain-token, nested: { clientSecret: plain-secret }, harmless: visible, tokens: 5 }
`;
    await write("p.ts", "export default {}");
    const { config } = await loadConfig(await write("gateway.yaml", text), {
      environment: { C: CANARY },
    });
    const shown = JSON.stringify(maskConfig(config.values, config.secrets));
    expect(shown).not.toMatch(/plain-|canary/);
    expect(shown).toContain("visible");
    expect(shown).toContain("https://***@a.example/***");
    expect(shown).toContain("--flag=***");
  });

  it("leave what clients see anyway as it is, because plugins work with it: name, publicUrl, listeners, timeouts", async () => {
    const text = `
name: \${NAME}
publicUrl: \${URL}
listeners: { main: { host: "\${HOST}", port: "\${PORT}", allowedHosts: ["\${NAME}"] } }
timeouts: { grace: "\${GRACE}" }
auth: { apiKey: "\${KEY}" }
`;
    const environment = {
      NAME: "shop",
      URL: "https://user:plain-password@shop.example",
      HOST: "127.0.0.1",
      PORT: "9000",
      GRACE: "30000ms",
      KEY: CANARY,
    };
    const { config } = await loadConfig(await write("gateway.yaml", text), {
      environment,
    });
    expect(maskGatewayConfig(config.values, config.secrets)).toMatchObject({
      name: "shop",
      publicUrl: "https://***@shop.example",
      listeners: { main: { host: "127.0.0.1", port: 9_000, allowedHosts: ["***"] } },
      timeouts: { grace: 30_000 },
      auth: { apiKey: "***" },
    });
  });

  it.each([
    ["timeouts: { default: '${C}' }"],
    ["log: { level: '${C}' }"],
    ["servers: { a: { url: '${C}' } }"],
    ["servers: { a: { command: npx, protocol: '${C}' } }"],
    ["endpoints: { mcp: { listener: '${C}' } }"],
    ["endpoints: { mcp: { servers: ['${C}'] } }"],
    ["endpoints: { mcp: { path: 'x${C}' } }"],
    ["listeners: { main: { port: '${C}' } }"],
    ["limits: { body: '${C}' }"],
    ["servers: { a: { type: '${C}', url: 'http://x' } }"],
    ["mcpServers: '${C}'"],
  ])("do not appear in the error of %s", async (text) => {
    const error = await failure(await write("gateway.yaml", text), { C: CANARY });
    expect(JSON.stringify([error.message, error.hint, error.data, error.place])).not.toContain(
      CANARY,
    );
  });

  it("do not appear in syntax errors", async () => {
    for (const text of [
      `a: "${CANARY}\nb: 1`,
      `a: ${CANARY}: x`,
      `- ${CANARY}\nb: 1`,
      `a: @${CANARY}`,
      `{ a: "${CANARY}" b: 2 }`,
    ]) {
      const error = await failure(await write("gateway.yaml", text));
      expect(JSON.stringify([error.message, error.hint, error.data])).not.toContain(CANARY);
    }
    expect(await readFile(join(folder, "gateway.yaml"), "utf8")).toContain(CANARY);
  });
});
