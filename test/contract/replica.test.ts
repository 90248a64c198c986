import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** Names and phrases that stood for a replica, a gateway among those that share a store. */
const RETIRED = [
  /fleet/i,
  /\b(?:an)?other gateways?\b/i,
  /\bgateways? of (?:the|a|one|its|their|this) (?:same )?store\b/i,
  /\bdepartures?\b/i,
  /session-?peers?/i,
  /\bgateway: [\w.#]*\breplica\b|\breplica: gateway\b/,
  /readonly gateway\?: string/,
] as const;
/** The same in sources: as a word of English it stands in many a page for any other place. */
const IN_SOURCES = [...RETIRED, /elsewhere/i] as const;

/** Not looked at, as a folder, a file or both, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "docs/decisions/": "say what was decided, in the words of the time",
  "docs/reliability.md": "quotes the titles of tests and findings",
  "docs/benchmarks.md": "compares with gateways of others",
};

/** Lines that mean something else, by what they match, and what that is. */
const OTHER: Readonly<Record<string, string>> = {
  "core/build/build.ts": "another kind of build",
  "core/config/code-imports.ts": "another package",
  "core/config/explain.ts": "another place in the config",
  "core/config/log.ts": "a gateway of the same process, with a store of its own",
  "core/file/draft.ts": "another place in the config file",
  "core/gateway/reload.ts": "a gateway of the same machine, with a store of its own",
  "core/kit/lock.ts": "a gateway that shares a file and no store; other systems",
  "core/plugin/route.ts": "other routes",
  "docs/plugins/oauth.md": "a gateway of others, which checks tokens of this one",
  "plugins/agents/agent/agent.ts": "a server at another address",
  "plugins/agents/agent/remote.ts": "a server at another address",
  "plugins/agents/models/answers/answer-body.ts": "another file",
  "plugins/agents/options.ts": "a server at another address",
  "plugins/agents/pallas/pallas.ts": "another machine",
  "plugins/agents/team/place.ts": "a server at another address",
  "plugins/conformance/runtime/level3.ts": "another context",
  "plugins/gating/flags/file.ts": "a gateway that shares a file and no store",
  "plugins/gating/flags/flag-records.ts": "a gateway that shares a file and no store",
  "plugins/gating/flags/keeper.ts": "a gateway that shares a file and no store",
  "plugins/oauth/routes.ts": "a gateway of others, which checks tokens of this one",
  "plugins/payloads/folder.ts": "a gateway that shares a folder and no store",
  "plugins/rest/reading/api.ts": "operations at another address",
  "plugins/rest/reading/operations.ts": "another place in a document",
  "plugins/rest/server.ts": "operations at another address",
  "plugins/sidecar/commands.ts": "another worker of the queue",
  "plugins/sidecar/options.ts": "a runtime at another address",
  "plugins/team-auth/audit/audit.ts": "a place outside of the store",
  "plugins/telemetry/options.ts": "another program",
};

const isWithin = (file: string, path: string): boolean =>
  file === path || (path.endsWith("/") && file.startsWith(path));

const all = ["core", "plugins", "docs"]
  .flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: "utf8" }).map((file) => `${root}/${file}`),
  )
  .filter((file) => /\.(?:tsx?|md|json|yaml)$/.test(file));
const files = all.filter((file) => !Object.keys(LEFT_OUT).some((path) => isWithin(file, path)));

/** Lines of a file that say a retired word, the path of the file among them. */
function wordsOf(file: string, text: string): readonly string[] {
  const retired = file.startsWith("docs/") ? RETIRED : IN_SOURCES;
  return [file, ...text.split("\n")].filter((line) => retired.some((word) => word.test(line)));
}

describe("a gateway among those of a store is a replica", () => {
  it("in sources, records, messages and pages", () => {
    const said = files
      .filter((file) => !(file in OTHER))
      .flatMap((file) => wordsOf(file, readFileSync(file, "utf8")).map((line) => [file, line]));
    expect(said).toEqual([]);
    expect(files.length).toBeGreaterThan(1_000);
  });

  it.each([...Object.keys(LEFT_OUT), ...Object.keys(OTHER)])("%s says such words still", (path) => {
    const said = all
      .filter((file) => isWithin(file, path))
      .flatMap((file) => wordsOf(file, readFileSync(file, "utf8")));
    expect(said).not.toEqual([]);
  });

  it.each([
    ["plugins/x/fleet-calls.ts", ""],
    ["plugins/x/x.ts", "/** Another gateway of the store. */"],
    ["plugins/x/x.ts", "const record = { gateway: this.#store.replica };"],
    ["plugins/x/x.ts", "  readonly gateway?: string;"],
    ["plugins/x/x.ts", "class Elsewhere {}"],
    ["docs/x.md", "Of several gateways of one store one does."],
  ])("is found: %s %s", (file, text) => {
    expect(wordsOf(file, text)).toHaveLength(1);
  });
});
