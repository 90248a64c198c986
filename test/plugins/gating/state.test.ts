import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Flag, GatingState } from "propylon/plugins/gating";
import { definePlugin } from "propylon";
import { freePort } from "propylon/testing";
import {
  isServerOn,
  isToolOn,
  withFlags,
  type FlagMap,
} from "../../../plugins/gating/flags/flags.ts";
import { statePath } from "../../../plugins/gating/flags/create-keeper.ts";
import { parseState, toState } from "../../../plugins/gating/flags/state.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";
import { serveEverything, setupGating, whenListed } from "./kit.ts";

const parse = (value: unknown) => parseState(JSON.stringify(value));
const stateOf = async (file: string) => JSON.parse(await readFile(file, "utf8")) as GatingState;

describe("the content", () => {
  it("M075: the minimal form is understood", () => {
    const { flags } = parse({
      server_enabled: { a: false, b: true },
      tool_enabled: { b: { t: false } },
    });
    expect([isServerOn(flags, "a"), isServerOn(flags, "b"), isToolOn(flags, "b", "t")]).toEqual([
      false,
      true,
      false,
    ]);
  });

  it("M076, M160: version 1 is understood, with the times and errors of connects", () => {
    const servers = {
      a: {
        enabled: false,
        tools: { t: { enabled: false } },
        lastInit: "2026-01-01T00:00:00Z",
        lastError: "no",
        attempts: 2,
      },
    };
    const { version, flags, history } = parse({
      version: 1,
      servers,
      updatedAt: "2026-01-01T00:00:00Z",
    });
    expect(version).toBe(1);
    expect(isToolOn(flags, "a", "t")).toBe(false);
    expect(history.get("a")).toEqual({
      lastInit: "2026-01-01T00:00:00Z",
      lastError: "no",
      attempts: 2,
    });
    expect(toState(flags, history, "2026-01-01T00:00:00Z").servers).toEqual(servers);
  });

  it("M028, M080: unknown members are ignored, also of later versions", () => {
    const { version, flags } = parse({
      version: 7,
      shiny: [1],
      servers: { a: { enabled: false, color: "red", tools: { t: { enabled: false, weight: 1 } } } },
    });
    expect([version, isServerOn(flags, "a"), isToolOn(flags, "a", "t")]).toEqual([7, false, false]);
  });

  it("M077, M078: what is not recorded is on", () => {
    const { flags } = parse({ version: 0, servers: { a: { tools: {} } } });
    expect([isServerOn(flags, "a"), isServerOn(flags, "z"), isToolOn(flags, "a", "t")]).toEqual([
      true,
      true,
      true,
    ]);
  });

  it.each([
    [[]],
    [null],
    [{ version: "1" }],
    [{ version: -1 }],
    [{ servers: [] }],
    [{ servers: { a: 1 } }],
    [{ servers: { a: { enabled: "no" } } }],
    [{ servers: { a: { tools: { t: "off" } } } }],
    [{ server_enabled: { a: 0 } }],
    [{ tool_enabled: { a: false } }],
  ])("%j is refused and not guessed at", (value) => {
    expect(() => parse(value)).toThrow(/./);
  });

  const name = fc.constantFrom("a", "b", "__proto__", "constructor", "ü/x");
  const flag: fc.Arbitrary<Flag> = fc.oneof(
    fc.record({ server: name, enabled: fc.boolean() }),
    fc.record({ server: name, tool: name, enabled: fc.boolean() }),
  );

  it("M025, M104: any sequence of switches gives what a plain model gives, also after a round trip through the file", () => {
    fc.assert(
      fc.property(fc.array(fc.array(flag, { maxLength: 4 })), (batches) => {
        let flags: FlagMap = new Map();
        const model = new Map<string, boolean>();
        const key = (server: string, tool?: string) => JSON.stringify([server, tool]);
        for (const batch of batches) {
          const result = withFlags(flags, batch);
          const changed = batch.filter(({ server, tool, enabled }) => {
            const differs = (model.get(key(server, tool)) ?? true) !== enabled;
            model.set(key(server, tool), enabled);
            return differs;
          });
          expect(result.changed).toEqual(changed);
          flags = parseState(JSON.stringify(toState(result.flags, new Map(), ""))).flags;
        }
        for (const [place, enabled] of model) {
          const [server, tool] = JSON.parse(place) as [string, string | null];
          expect(tool === null ? isServerOn(flags, server) : isToolOn(flags, server, tool)).toBe(
            enabled,
          );
        }
      }),
    );
  });

  it("keeps the flag of a tool whatever its name", () => {
    for (const tool of ["__proto__", "constructor", "toString", "", "a/b", "\u{1F680}"]) {
      const { flags } = withFlags(new Map(), [{ server: "odd", tool, enabled: false }]);
      const again = parseState(JSON.stringify(toState(flags, new Map(), ""))).flags;
      expect([tool, isToolOn(again, "odd", tool), isToolOn(again, "odd", "other")]).toEqual([
        tool,
        false,
        true,
      ]);
    }
  });

  it("of two forms that disagree, off counts", () => {
    const both = fc.record({ one: fc.boolean(), two: fc.boolean() });
    fc.assert(
      fc.property(both, both, (server, tool) => {
        const { flags } = parse({
          servers: { a: { enabled: server.one, tools: { t: { enabled: tool.one } } } },
          server_enabled: { a: server.two },
          tool_enabled: { a: { t: tool.two } },
        });
        expect(isServerOn(flags, "a")).toBe(server.one && server.two);
        expect(isToolOn(flags, "a", "t")).toBe(tool.one && tool.two);
      }),
    );
  });
});

describe("where it is", () => {
  it("M023: beside the config file and named after it, or where the option says, or nowhere", () => {
    const [folder, file] = ["/etc/gate", "/etc/gate/gateway.yaml"];
    expect(statePath(undefined, folder, file)).toBe("/etc/gate/gateway_state.json");
    expect(statePath("x/y.json", folder, file)).toBe("/etc/gate/x/y.json");
    expect(statePath("x/y.json", folder, undefined)).toBe("/etc/gate/x/y.json");
    expect(statePath(false, folder, file)).toBeUndefined();
    expect(statePath(undefined, folder, undefined)).toBeUndefined();
    expect(statePath(true, folder, undefined)).toBe("/etc/gate/mcpo_state.json");
  });
});

const off = (server: string, tool?: string): Flag[] => [
  { server, ...(tool !== undefined && { tool }), enabled: false },
];

async function setup(content?: unknown, mode?: number) {
  const folder = makeFolder();
  const file = join(folder, "gateway_state.json");
  if (content !== undefined)
    await writeFile(file, typeof content === "string" ? content : JSON.stringify(content), {
      mode,
    });
  const upstream = await serveEverything();
  const start = async (more: object = {}) => {
    const gated = await setupGating(
      { state: file },
      { servers: { house: { url: upstream.url }, ...more } },
    );
    await whenListed(gated.gateway, "house");
    return gated;
  };
  return { folder, file, upstream, start };
}

describe("the file", () => {
  it("M016, M023, M024, M025: what was switched is off after a restart, from a private file with version and time", async () => {
    const { file, start } = await setup();
    const first = await start();
    await first.service.set([...off("house", "alpha"), ...off("house", "beta")], "x");
    const written = await stateOf(file);
    expect(written).toMatchObject({
      version: 1,
      servers: { house: { enabled: true, tools: { alpha: { enabled: false } } } },
    });
    expect(Date.parse(written.updatedAt)).toBeGreaterThan(Date.now() - 60_000);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await first.gateway.close();
    const second = await start();
    await expect(second.gateway.call({ server: "house", name: "alpha" })).rejects.toMatchObject({
      code: "disabled",
    });
    expect(second.service.export().servers).toMatchObject({
      house: { tools: { beta: { enabled: false } } },
    });
  });

  it("M046: no check reads the file", async () => {
    const { file, start } = await setup();
    const { service, gateway } = await start();
    await service.set(off("house", "alpha"), "x");
    await writeFile(file, "not json");
    await expect(gateway.call({ server: "house", name: "alpha" })).rejects.toMatchObject({
      code: "disabled",
    });
    expect((await gateway.call({ server: "house", name: "beta" })).isError).toBe(false);
  });

  it("M026, M160: connects are noted with their time, failures with their reason and number, also in the file", async () => {
    const { file, start } = await setup();
    const port = await freePort();
    const { service, gateway } = await start({
      late: { url: `http://127.0.0.1:${port}/mcp`, backoff: { initial: "50ms", max: "50ms" } },
    });
    const stateNow = (server: string) => service.export().servers[server];
    await until(() => (stateNow("late")?.attempts ?? 0) >= 2);
    expect(stateNow("late")).toMatchObject({
      lastInit: null,
      lastError: expect.stringContaining("late") as string,
    });
    await until(() => stateNow("house")?.lastInit != null);
    expect(stateNow("house")).toMatchObject({ lastError: null, attempts: 0 });
    await until(async () => {
      const written = await stateOf(file).catch(() => undefined);
      return (written?.servers["late"]?.attempts ?? 0) >= 2;
    });

    const before = new Date().toISOString();
    const late = await serveEverything(port);
    await whenListed(gateway, "late");
    expect(stateNow("late")).toMatchObject({ lastError: null, attempts: 0 });
    expect(stateNow("late")!.lastInit! >= before).toBe(true);
    await late.close();
    const lastInit = stateNow("late")!.lastInit;
    await expect(gateway.call({ server: "late", name: "alpha" })).rejects.toThrow(/./);
    await until(() => (stateNow("late")?.attempts ?? 0) >= 1);
    expect(stateNow("late")!.lastInit).toBe(lastInit);
    const written = stateNow("late")!.attempts;
    await gateway.close();
    expect((await stateOf(file)).servers["late"]).toMatchObject({
      lastInit,
      attempts: expect.toSatisfy((count: number) => count >= written) as number,
    });
  });

  it("a file without numbers of failures, or with wrong ones, counts from none", () => {
    for (const attempts of [undefined, -1, 1.5, "3", null])
      expect(parse({ servers: { a: { attempts } } }).history.get("a")?.attempts).toBe(0);
  });

  it("M079, M152: tools and servers that are gone are dropped, tools of a server that is away are kept", async () => {
    const { file, start } = await setup({
      server_enabled: { stale: false, away: false },
      tool_enabled: { house: { gone: false, alpha: false }, away: { t: false } },
    });
    const { service, gateway } = await start({ away: { url: "http://127.0.0.1:9/mcp" } });
    await until(() => !("gone" in (service.export().servers["house"]?.tools ?? { gone: 1 })));
    const { servers } = service.export();
    expect(Object.keys(servers)).not.toContain("stale");
    expect(servers["house"]?.tools).toEqual({ alpha: { enabled: false } });
    expect(servers["away"]).toMatchObject({ enabled: false, tools: { t: { enabled: false } } });
    await gateway.close();
    expect((await stateOf(file)).servers["house"]?.tools).toEqual({ alpha: { enabled: false } });
  });

  it("a tool that goes away and comes back while the gateway runs keeps its flag", async () => {
    const { service, changes, gateway, names } = await comingAndGoing();
    await service.set(off("shop", "t"), "x");
    names.splice(0);
    gateway.emit();
    names.push("t");
    gateway.emit();
    expect(service.isToolEnabled("shop", "t")).toBe(false);
    expect(changes).toHaveLength(1);
  });

  it("C09: a file of a later version is read, never written, and changes are refused", async () => {
    const content = {
      version: 2,
      new: 1,
      servers: { house: { tools: { alpha: { enabled: false } } } },
    };
    const { file, start } = await setup(content);
    const { service, gateway } = await start();
    await expect(gateway.call({ server: "house", name: "alpha" })).rejects.toMatchObject({
      code: "disabled",
    });
    await expect(service.set(off("house"), "x")).rejects.toMatchObject({
      code: "io_error",
      message: expect.stringContaining("version 2") as string,
    });
    expect(service.isServerEnabled("house")).toBe(true);
    await gateway.close();
    expect(await stateOf(file)).toEqual(content);
  });

  it.each(["", "{", "[]", '{"servers":{"house":{"enabled":"no"}}}', "\u0000\u0001"])(
    "fails closed: the gateway does not start with the corrupt file %j, and leaves it alone",
    async (content) => {
      const { file, start } = await setup(content);
      const error = await start().catch((thrown: Error) => thrown);
      expect(error).toMatchObject({
        message: expect.stringContaining("gateway_state.json") as string,
      });
      expect((error as unknown as { hint: string }).hint).toContain("Repair it");
      expect(await readFile(file, "utf8")).toBe(content);
    },
  );

  it("a file that cannot be read stops the start too", async () => {
    const { file, start } = await setup();
    await mkdir(file);
    await expect(start()).rejects.toMatchObject({
      message: expect.stringContaining("EISDIR") as string,
    });
  });

  it("M027: drafts of killed writers are swept at the start, those of living ones and other files are not", async () => {
    const { folder, start } = await setup();
    const dead = ".gateway_state.json.999999999.0123456789ab.tmp";
    const living = `.gateway_state.json.${process.ppid}.0123456789ab.tmp`;
    for (const name of [dead, living, ".gateway_state.json.backup.tmp"])
      await writeFile(join(folder, name), "");
    await start();
    expect((await readdir(folder)).filter((name) => name.endsWith(".tmp")).toSorted()).toEqual(
      [".gateway_state.json.backup.tmp", living].toSorted(),
    );
  });

  it("a symlink stays one", async () => {
    const { folder, file, start } = await setup();
    const target = join(folder, "elsewhere.json");
    await writeFile(target, "{}");
    await symlink(target, file);
    const { service } = await start();
    await service.set(off("house"), "x");
    expect((await stateOf(target)).servers["house"]?.enabled).toBe(false);
  });

  it("one write for what is asked for at the same time; each is told what it changed", async () => {
    const { start } = await setup();
    const { service } = await start();
    const results = await Promise.all([
      service.set(off("house"), "a"),
      service.set(off("house", "alpha"), "b"),
      service.set(off("house"), "c"),
      service.set([{ server: "house", enabled: true }], "d"),
    ]);
    expect(results.map(({ length }) => length)).toEqual([1, 1, 0, 1]);
    expect(service.isServerEnabled("house")).toBe(true);
    expect(service.isToolEnabled("house", "alpha")).toBe(false);
  });

  it("another path in the config: what is in memory moves there", async () => {
    const { folder, start } = await setup();
    const { service, apply, gateway } = await start();
    await service.set(off("house"), "x");
    const other = join(folder, "other.json");
    await apply({ state: other });
    expect(service.isServerEnabled("house")).toBe(false);
    await gateway.close();
    expect((await stateOf(other)).servers["house"]?.enabled).toBe(false);
  });
});

/** A server in the process whose tools come and go. */
async function comingAndGoing() {
  const names = ["t"];
  const listeners = new Set<(event: { type: "changed"; lists: ["tools"] }) => void>();
  const shop = definePlugin({
    name: "shop-plugin",
    setup(gateway) {
      gateway.server({
        name: "shop",
        status: { state: "ready", since: "", attempts: 0, transport: "local" },
        get catalogue() {
          const tools = names.map((name) => ({ name, inputSchema: { type: "object" } }));
          return {
            tools,
            resources: [],
            resourceTemplates: [],
            prompts: [],
            capabilities: {},
            hash: names.join() || "-",
          };
        },
        request: () => Promise.reject(new Error("nobody calls it")),
        subscribe: async () => {},
        unsubscribe: async () => {},
        setLogLevel() {},
        rootsChanged() {},
        on: (listener) => (listeners.add(listener), () => void listeners.delete(listener)),
      });
    },
  });
  const gated = await setupGating({ state: false }, {}, [shop]);
  const emit = () =>
    listeners.forEach((listener) => listener({ type: "changed", lists: ["tools"] }));
  return { service: gated.service, changes: gated.changes, names, gateway: { emit } };
}

describe("a disk that takes nothing", () => {
  it("io_error in a read-only directory: memory, lists and file stay as they are, and it works again afterwards", async () => {
    const { folder, file, start } = await setup();
    const { service, gateway, changes } = await start();
    await service.set(off("house", "alpha"), "x");
    const before = await readFile(file, "utf8");
    await chmod(folder, 0o555);
    // Root may write anywhere: be somebody else for a moment.
    const isRoot = process.geteuid!() === 0;
    if (isRoot) process.seteuid!(65_534);
    try {
      await expect(service.set(off("house"), "x")).rejects.toMatchObject({
        code: "io_error",
        status: 500,
        hint: expect.stringContaining("writable") as string,
      });
    } finally {
      if (isRoot) process.seteuid!(0);
      await chmod(folder, 0o755);
    }
    expect(service.isServerEnabled("house")).toBe(true);
    expect(changes).toHaveLength(1);
    expect(await readFile(file, "utf8")).toBe(before);
    expect((await gateway.call({ server: "house", name: "beta" })).isError).toBe(false);
    expect(await service.set(off("house"), "x")).toHaveLength(1);
  });

  it("io_error when the space ends in the middle of writing: the old file is intact and no draft is left", async () => {
    const folder = makeFolder();
    const file = join(folder, "gateway_state.json");
    const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
    await writeFile(file, '{"version":1,"servers":{}}');
    // No file of this process may grow over 4 blocks: the write ends half done, as on a full disk.
    const child = spawn(
      "sh",
      [
        "-c",
        'ulimit -f 4; exec node "$0" "$1" "$2"',
        path("filler.mjs"),
        path("../../../plugins/gating/flags/flag-store.ts"),
        file,
      ],
      {
        stdio: ["ignore", "pipe", "inherit"],
        env: {
          ...process.env,
          ALIAS: JSON.stringify({
            "propylon/kit": path("propylon.ts"),
            "propylon/internal": path("propylon.ts"),
            propylon: path("propylon.ts"),
          }),
        },
      },
    );
    const output: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    await once(child, "close");
    expect(JSON.parse(Buffer.concat(output).toString())).toEqual({ code: "io_error", flags: 0 });
    expect(await readFile(file, "utf8")).toBe('{"version":1,"servers":{}}');
    expect(await readdir(folder)).toEqual(["gateway_state.json", "gateway_state.json.lock"]);
  });
});
