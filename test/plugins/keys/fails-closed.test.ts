import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createChain } from "../../../core/http/authenticator.ts";
import {
  type AnyPlugin,
  configSchema,
  createGateway,
  definePlugin,
  type GatewayConfigInput,
} from "../../../core/index.ts";
import { digestOf } from "../../../core/kit.ts";
import { Authenticators } from "propylon/kit";
import { EVERYBODY } from "../../../core/internal.ts";
import { buildGateway } from "../../../core/build/build.ts";
import { check } from "../../../core/gateway/check/check.ts";
import { parseConfig } from "../../../core/gateway/check/parse.ts";
import { PluginSource } from "../../../core/gateway/check/resolve.ts";
import { startManaged } from "../../../core/gateway/management/start-managed.ts";
import { freePort, setupGateway } from "../../../core/testing/index.ts";
import keys from "../../../plugins/keys/index.ts";
import { useCommands } from "../../core/cli/propylon.ts";
import { makeFolder } from "../../kit/folder.ts";

const { propylon } = useCommands();

const KEY = "the-only-key-that-gets-in";
const JWT = { secret: "a secret of at least 32 characters", issuer: "us", audience: "here" };
const HASHED = { ci: { role: "operator" as const, hash: `sha256:${digestOf(KEY)}` } };
const AUTHS: readonly (readonly [string, GatewayConfigInput["auth"] & object])[] = [
  ["apiKey", { apiKey: KEY }],
  ["keys", { keys: HASHED }],
  ["jwt", { jwt: JWT }],
];
const UNCHECKED = /Nothing checks auth\.(?:apiKey|keys|jwt): the plugin keys is off/;

const status = async (url: string, key?: string): Promise<number> => {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return (await fetch(`${url}/mcp`, { headers })).status;
};

/** A plugin that stands in the place of `keys`. */
const instead = (setup: AnyPlugin["setup"], section?: "auth"): AnyPlugin =>
  ({ ...keys, name: "keys", section, ...(section ? {} : { config: undefined }), setup }) as never;

/** Why something does not start; nothing answers where it would have. */
async function refusalOf(
  config: GatewayConfigInput,
  plugins: Record<string, AnyPlugin> = {},
): Promise<string> {
  const port = await freePort();
  const start = async (): Promise<string> => {
    const gateway = await createGateway(
      { ...config, listeners: { main: { port } }, log: { level: "silent" } },
      { plugins },
    );
    onTestFinished(() => gateway.close({ grace: 0 }));
    await gateway.listen();
    return "It started.";
  };
  const refusal = await start().catch((error: Error) => error.message);
  await expect(fetch(`http://127.0.0.1:${port}/mcp`)).rejects.toThrow("fetch failed");
  return refusal;
}

/** A gateway of a file, which lets in who has the key. */
async function running(more = "", plugins: readonly AnyPlugin[] = []) {
  const folder = makeFolder();
  const file = join(folder, "gateway.yaml");
  const text = `log: { level: silent }\nlisteners: { main: { port: 0 } }\nauth: { apiKey: ${KEY} }\n${more}`;
  await writeFile(file, text);
  const { gateway, url } = await setupGateway({ file, plugins, client: false });
  expect([await status(url), await status(url, "wrong"), await status(url, KEY)]).toEqual([
    401, 401, 406,
  ]);
  return { gateway, url, file, text, folder };
}

const expectAsBefore = async (url: string): Promise<void> =>
  expect([await status(url), await status(url, KEY)]).toEqual([401, 406]);

describe.each(AUTHS)("auth.%s", (_name, auth) => {
  it("never runs while keys is off", async () => {
    expect(await refusalOf({ auth, plugins: { keys: false } })).toMatch(UNCHECKED);
  });

  it("never runs while keys, mcp, servers and tasks are off, in a gateway made in code", async () => {
    const plugins = { keys: false, mcp: false, servers: false, tasks: false } as const;
    expect(await refusalOf({ auth, plugins })).toMatch(UNCHECKED);
  });

  it("never runs with a plugin of that name that adds no authenticator", async () => {
    expect(await refusalOf({ auth }, { keys: instead(() => {}) })).toMatch(UNCHECKED);
    expect(await refusalOf({ auth }, { keys: instead(() => {}, "auth") })).toMatch(UNCHECKED);
  });

  it("never runs with an authenticator of another plugin in its place", async () => {
    const other = definePlugin({
      name: "other",
      setup: (gateway) =>
        gateway.add(Authenticators, {
          name: "other",
          authenticate: () => ({ id: "all", kind: "user", roles: new Set(["admin"]) }),
        }),
    });
    expect(await refusalOf({ auth, plugins: { keys: false, other: {} } }, { other })).toMatch(
      UNCHECKED,
    );
  });

  it("lets nobody in where a chain is made without what knows it", async () => {
    const chain = createChain(configSchema.parse({ auth }).auth, []);
    const from = (authorization?: string) => ({
      method: "POST",
      path: "/mcp",
      headers: { authorization },
      remoteAddress: "127.0.0.1",
    });
    expect(await chain!.authenticate(from())).toBeUndefined();
    expect(() => chain!.authenticate(from(`Bearer ${KEY}`))).toThrow("The API key or token");
  });
});

describe("keys", () => {
  it("is not replaced by a plugin of another name that claims auth", async () => {
    const claims = definePlugin({ name: "mine", section: "auth", setup() {} });
    expect(
      await refusalOf({ auth: { apiKey: KEY }, plugins: { mine: {} } }, { mine: claims }),
    ).toContain("claims the section auth, which the gateway has itself");
    expect(
      await refusalOf(
        { auth: { apiKey: KEY }, plugins: { keys: false, mine: {} } },
        { mine: claims },
      ),
    ).toContain("claims the section auth, which the gateway has itself");
  });

  it("is not replaced by a plugin under another key that has its name", async () => {
    const auth = { apiKey: KEY };
    const twin: AnyPlugin = definePlugin({ name: "keys", setup() {} });
    expect(await refusalOf({ auth, plugins: { twin: {} } }, { twin })).toContain(
      'both named "keys"',
    );
    expect(await refusalOf({ auth, plugins: { keys: false, twin: {} } }, { twin })).toMatch(
      UNCHECKED,
    );
  });

  it.each(["keys", "jwt", "gateway"])(
    "shares its name %s with no authenticator of others",
    async (name) => {
      const other = definePlugin({
        name: "other",
        setup: (gateway) =>
          gateway.add(Authenticators, {
            name,
            authenticate: () => ({ id: "all", kind: "user", roles: new Set(["admin"]) }),
          }),
      });
      const plugins = { other: {} };
      for (const auth of [{ apiKey: KEY }, {}])
        expect(await refusalOf({ auth, plugins }, { other })).toContain(
          "a name that cannot be used",
        );
      expect(
        await refusalOf(
          { plugins: { ...plugins, keys: false } },
          {
            other,
          },
        ),
      ).toContain("a name that cannot be used");
    },
  );

  it("brings one authenticator of a name, and none of another", async () => {
    const add = (...names: readonly string[]): AnyPlugin =>
      instead((gateway) => {
        for (const name of names)
          gateway.add(Authenticators, { name, authenticate: () => undefined });
      }, "auth");
    const auth = { apiKey: KEY };
    expect(await refusalOf({ auth }, { keys: add("keys", "keys") })).toContain(
      'which plugin "keys" has already',
    );
    expect(await refusalOf({ auth }, { keys: add("keys", "more") })).toContain(
      "a name that cannot be used",
    );
  });

  it.each([
    [() => Promise.reject(new Error("broken")), "broken"],
    [
      () => {
        throw new Error("broken");
      },
      "broken",
    ],
    [() => new Promise(() => {}), "setup took longer than 50 ms"],
  ])("that fails in its setup lets nobody in (%#)", async (setup, words) => {
    expect(
      await refusalOf(
        { auth: { apiKey: KEY }, timeouts: { setup: "50ms" } },
        {
          keys: instead(setup as never, "auth"),
        },
      ),
    ).toContain(words);
  });

  it("that is no plugin, or is not found, lets nobody in", async () => {
    const config = await parseConfig({ auth: { apiKey: KEY } }, new PluginSource("."));
    const resolver = new PluginSource(".");
    const without = (resolve: () => AnyPlugin) => ({
      names: resolver.names,
      resolve: (key: string) => (key === "keys" ? resolve() : resolver.resolve(key)),
    });
    const lost = without(() => {
      throw new Error("Cannot find module");
    });
    await expect(check(config, lost)).rejects.toThrow("The plugin keys cannot be loaded");
    const none = without(() => ({ name: "keys", setup() {}, authenticates: true }) as never);
    await expect(check(config, none)).rejects.toThrow(
      'a member "authenticates" that nothing reads',
    );
  });

  it("that got lost between the check and the start is missed", async () => {
    const source = new PluginSource(".");
    const config = await parseConfig({ auth: { apiKey: KEY }, log: { level: "silent" } }, source);
    const checked = await check(config, source);
    const plugins = checked.plugins.filter(({ key }) => key !== "keys");
    await expect(startManaged({ ...checked, plugins }, {})).rejects.toThrow(UNCHECKED);
  });

  it("takes no credentials in its own place, so that they stand in one", async () => {
    const plugins = { keys: { apiKey: KEY } } as never;
    expect(await refusalOf({ plugins })).toMatch(/plugins\.keys/);
    expect(await refusalOf({ auth: { apiKey: KEY }, plugins })).toMatch(/plugins\.keys/);
    const { url, gateway } = await running("plugins: { keys: {} }\n");
    await expectAsBefore(url);
    expect(JSON.stringify(gateway.info.effectiveConfig())).not.toContain(KEY);
    expect(gateway.config.plugins["keys"]).toEqual({});
  });

  it.each([
    ["a mistyped member", { apikey: KEY }, "apikey"],
    ["a key without a hash", { keys: { ci: { role: "admin" } } }, "hash"],
    ["two sources of keys", { jwt: { ...JWT, publicKey: "x" } }, "exactly one of"],
    ["two names of one key", { keys: { a: HASHED.ci, b: HASHED.ci } }, "have the same hash"],
    ["qualify: false beside others", { jwt: { ...JWT, qualify: false } }, "qualify: false beside"],
  ])("refuses %s", async (_name, auth, words) => {
    const people = definePlugin({
      name: "people",
      setup: (gateway) =>
        gateway.add(Authenticators, { name: "people", authenticate: () => undefined }),
    });
    expect(await refusalOf({ auth: auth as never, plugins: { people: {} } }, { people })).toContain(
      words,
    );
  });
});

describe("a gateway that runs", () => {
  const OFF = "plugins: { keys: false }\n";

  it("stays as it is when a reload, a plan or an edit switches keys off", async () => {
    const { gateway, url, file, text } = await running();
    const management = await gateway.manage();
    await writeFile(file, text + OFF);
    await expect(management.plan()).rejects.toThrow(UNCHECKED);
    await expectAsBefore(url);
    await expect(management.reload()).rejects.toThrow(UNCHECKED);
    await expectAsBefore(url);
    await writeFile(file, text);
    const edits = [{ path: ["plugins", "keys"], value: false }] as never;
    await expect(management.checkEdit(edits)).rejects.toThrow(UNCHECKED);
    await expect(management.edit(edits)).rejects.toThrow(UNCHECKED);
    expect(await readFile(file, "utf8")).toBe(text);
    await expectAsBefore(url);
  });

  it("stays as it is when a program applies a config without keys", async () => {
    const { gateway, url } = await running();
    const next = {
      ...gateway.written,
      plugins: { ...gateway.written.plugins, keys: false as const },
    };
    await expect(gateway.apply(next)).rejects.toThrow(UNCHECKED);
    await expectAsBefore(url);
  });

  it("stays as it is when keys cannot be set up with what is new", async () => {
    const { gateway, url, file, text } = await running();
    await writeFile(file, text.replace(/auth:.*/, `auth: { apiKey: ${KEY}, jwt: {} }`));
    await expect((await gateway.manage()).reload()).rejects.toMatchObject({
      message: expect.stringContaining("exactly one of secret"),
      place: { path: "auth", line: 3 },
    });
    await expectAsBefore(url);
  });

  it("that begins without credentials takes them with keys alone", async () => {
    const { gateway, url } = await setupGateway({
      config: { plugins: { keys: false } },
      client: false,
    });
    expect(await status(url)).toBe(406);
    const auth = { apiKey: KEY };
    await expect(gateway.apply({ ...gateway.written, auth })).rejects.toThrow(UNCHECKED);
    await gateway.apply({ ...gateway.written, auth, plugins: {} });
    await expectAsBefore(url);
  });

  it("knows nobody before its first config is in force", async () => {
    const asked: unknown[] = [];
    const anybody = { ref: "anonymous:anonymous", roles: ["admin" as const] };
    const holder = { ref: "key:api-key", roles: ["caller" as const], origin: "keys" };
    const early = definePlugin({
      name: "early",
      setup(gateway) {
        const { info } = gateway;
        asked.push(info.renew(anybody), info.renew(holder), info.describe().endpoints.length);
        gateway.onStart(() => void asked.push(info.renew(anybody), info.renew(holder)?.ref));
      },
    });
    await running("plugins: { early: {} }\n", [early]);
    expect(asked).toEqual([undefined, undefined, 0, undefined, "key:api-key"]);
  });

  it("shows no plugin who lets people in, and by what", async () => {
    let read: (() => unknown) | undefined;
    const curious = definePlugin({
      name: "curious",
      setup(gateway) {
        read = () => gateway.point(Authenticators);
      },
    });
    await running("plugins: { curious: {} }\n", [curious]);
    expect(read).toThrow("Only the gateway reads what is added to authenticators");
  });

  it("ends what everybody has where an authenticator grants anew, or nothing any more", async () => {
    const grants = [new Map([[EVERYBODY, "1"]]), new Map([[EVERYBODY, "2"]]), undefined];
    let at = 0;
    const door = definePlugin({
      name: "door",
      setup(gateway) {
        const own = grants[at];
        gateway.add(Authenticators, {
          name: "door",
          authenticate: ({ headers }) =>
            headers["authorization"] === "Bearer ada"
              ? { id: "ada", kind: "user", roles: new Set(["caller"]) }
              : undefined,
          ...(own && { grants: own }),
        });
      },
    });
    const plugin = (): Record<string, AnyPlugin> => ({ door: { ...door } });
    const plugins = plugin();
    const gateway = await createGateway(
      { listeners: { main: { port: 0 } }, log: { level: "silent" }, plugins: { door: {} } },
      { plugins },
    );
    onTestFinished(() => gateway.close({ grace: 0 }));
    const evicted: unknown[] = [];
    gateway.hook("principal:evict", (match) => void evicted.push(match));
    for (at of [1, 2]) {
      Object.assign(plugins, plugin());
      await gateway.apply(gateway.written);
    }
    expect(evicted).toHaveLength(2);
  });
});

describe("the command line", () => {
  it("neither checks, starts, builds nor explains a config without what checks its credentials", async () => {
    const folder = makeFolder();
    const file = join(folder, "gateway.yaml");
    await writeFile(
      file,
      `listeners: { main: { port: 0 } }\nauth: { apiKey: ${KEY} }\nplugins:\n  keys: false\n`,
    );
    for (const words of [["check"], ["start"], ["check", "--explain", "mcp"], ["graph"]]) {
      const { code, stdout, stderr } = await propylon(words, { cwd: folder });
      expect([words, code]).toEqual([words, 1]);
      expect(stdout + stderr).toMatch(UNCHECKED);
      expect(stdout + stderr).toContain("gateway.yaml:2:");
      expect(stdout + stderr).not.toContain(KEY);
    }
    const out = join(folder, "out");
    await expect(buildGateway({ config: file, out })).rejects.toThrow(UNCHECKED);
  });
});
