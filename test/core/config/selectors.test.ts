import { collectWarnings } from "../../../core/gateway/management/warnings.ts";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import access from "../../../plugins/access/index.ts";
import gating from "../../../plugins/gating/index.ts";
import ratelimit from "../../../plugins/ratelimit/index.ts";
import { until } from "../../kit/until.ts";

const notes = definePlugin({
  name: "notes",
  setup(gateway) {
    gateway.tool("read", { description: "Reads.", run: () => "x" });
  },
});
const AWAY = { command: "a-program-that-is-not-there" };

interface Options {
  readonly access?: unknown;
  readonly gating?: Record<string, unknown>;
  readonly ratelimit?: Record<string, unknown>;
}

function start(options: Options, log = pino({ level: "silent" })) {
  return setupGateway({
    client: false,
    log,
    plugins: [
      notes,
      [gating, { state: false, ...options.gating }],
      [ratelimit, { ...options.ratelimit }],
      access,
    ],
    config: {
      servers: { files: AWAY, "big.data": AWAY, off: { ...AWAY, enabled: false } },
      auth: {
        apiKey: "x".repeat(32),
        keys: { ci: { role: "caller", hash: `sha256:${"a".repeat(64)}` } },
      },
      ...(options.access !== undefined && { access: options.access }),
    } as never,
  });
}

/** What is said when it starts, or of what it warns. */
async function said(options: Options): Promise<string[]> {
  try {
    const { gateway } = await start(options);
    return collectWarnings(gateway).map(({ message, hint }) => `warns: ${message} ${hint}`);
  } catch (error) {
    const { data } = error as { data?: { issues?: { message: string; hint: string }[] } };
    if (!data?.issues) throw error;
    return data.issues.map(({ message, hint }) => `refuses: ${message} ${hint}`);
  }
}

const rate = { per: "server", rate: 5 };

describe("newcomer 1, issue line 16: a name that selects nothing", () => {
  it.each<[string, Options, string[]]>([
    [
      "in a rule that denies",
      { access: [{ deny: ["file.fail"] }, { allow: ["*"] }] },
      [
        'refuses: The rule access[0] names a server "file" that does not exist. Did you mean "files"?',
      ],
    ],
    [
      "in a rule that allows",
      { access: [{ allow: ["file.*"] }] },
      [
        'warns: The rule access[0] names a server "file" that does not exist. Did you mean "files"?',
      ],
    ],
    [
      "of a key that is denied something",
      { access: [{ deny: ["files.*"], for: { key: "cl" } }, { allow: ["*"] }] },
      ['refuses: The rule access[0] names a key "cl" that does not exist. Did you mean "ci"?'],
    ],
    [
      "of a key that may something",
      { access: [{ allow: ["files.*"], for: { key: "c" } }] },
      ['warns: The rule access[0] names a key "c" that does not exist. Did you mean "ci"?'],
    ],
    [
      "of what is reserved",
      { gating: { reserved: { "file/delete_*": "operator" } } },
      [
        'refuses: The option reserved names a server "file" that does not exist. Did you mean "files"?',
      ],
    ],
    [
      "in a timeout",
      { gating: { timeouts: { servers: { file: "5s" }, tools: { "note/read": "5s" } } } },
      [
        'warns: The option timeouts.servers names a server "file" that does not exist. Did you mean "files"?',
        'warns: The option timeouts.tools names a server "note" that does not exist. Did you mean "notes"?',
      ],
    ],
    [
      "in a rate",
      { ratelimit: { rates: { x: { ...rate, server: "file" } } } },
      [
        'warns: The rule ratelimit.rates.x names a server "file" that does not exist. Did you mean "files"?',
      ],
    ],
    [
      "in a bound",
      { ratelimit: { concurrency: { y: { per: [], maxRunning: 1, server: "note" } } } },
      [
        'warns: The rule ratelimit.concurrency.y names a server "note" that does not exist. Did you mean "notes"?',
      ],
    ],
    [
      "as a pattern, which may be about what is to come",
      { access: [{ deny: ["prod-*.x"] }, { allow: ["*"] }] },
      [
        'warns: The rule access[0] names a server "prod-*" that does not exist. There are: files, big.data, off, gating, ratelimit, access, notes.',
      ],
    ],
  ])("%s is told with the nearest", async (_what, options, expected) => {
    const sorted = (await said(options)).map((each) => each.replace(/There are: .*/, "There are:"));
    expect(sorted).toEqual(expected.map((each) => each.replace(/There are: .*/, "There are:")));
  });

  it("is none that exists: of a server that is away or switched off, of a plugin, with dots, as a pattern", async () => {
    const rules = ["files.fail", "off.x", "notes.read", "big.data.x", "*.delete_*", "f*.x", "*"];
    expect(
      await said({
        access: [{ deny: rules }, { allow: ["*"], for: { key: ["ci", "api-key", "c*"] } }],
        gating: {
          reserved: { "files/x": "operator", "notes/*": "admin", "*/rm_*": "admin" },
          timeouts: { servers: { off: "5s" }, tools: { "notes/read": "5s" } },
        },
        ratelimit: { rates: { x: { ...rate, server: "n*", tool: "read" } } },
      }),
    ).toEqual([]);
  });

  it("is a tool: warned of when its server has listed its own, and written to the log once", async () => {
    const lines: { msg: string; hint?: string }[] = [];
    const write = (line: string): void => void lines.push(JSON.parse(line) as { msg: string });
    const { gateway } = await start(
      {
        access: [{ deny: ["notes.raed", "files.raed"] }, { allow: ["*"] }],
        ratelimit: { rates: { x: { ...rate, tool: "read" } } },
      },
      pino({ level: "warn" }, { write }),
    );
    const message = 'The rule access[0] names a tool "notes/raed" that does not exist.';
    expect(collectWarnings(gateway)).toEqual([
      expect.objectContaining({ code: "unknown_name", message, hint: 'Did you mean "read"?' }),
    ]);
    await until(() => lines.some(({ msg }) => msg === message));
    await until(() => gateway.servers.get("files")?.status.state === "backoff");
    expect(lines.filter(({ msg }) => msg === message)).toHaveLength(1);
  });
});
