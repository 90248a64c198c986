import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, lstat, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { replaceFile, sweepTemporary } from "../../../core/kit/replace-file.ts";
import type { ConfigEdit } from "../../../core/config/edit.ts";
import { applyEdits, draftConfig, readVersion } from "../../../core/file/write.ts";
import { makeFolder } from "../../kit/folder.ts";

/** `npm run campaign -- write` makes it 1,000. */
const KILLS = Number(process.env["WRITE_KILLS"] ?? 5);

const TEXT = `# yaml-language-server: $schema=./gateway.schema.json
name: shop   # shown to clients

servers:
  # the search
  search:
    url: 'https://search.example/mcp' # do not move
    headers: {Authorization: "Bearer \${TOKEN}"}
  files: { command: npx, args: [-y, files] }
future:
  unknown: [1, 2,   3]
# the end
`;

let file: string;
beforeEach(async () => {
  file = join(makeFolder(), "gateway.yaml");
  await writeFile(file, TEXT);
});

/** Returns the new version. */
async function editConfig(
  path: string,
  edits: readonly ConfigEdit[],
  expected?: string,
): Promise<string> {
  const { version, write } = await draftConfig(path, edits, expected);
  await write();
  return version;
}

const comments = (text: string): string[] => text.match(/# .*/g) ?? [];
const leftovers = async (): Promise<string[]> =>
  (await readdir(join(file, ".."))).filter((name) => name.endsWith(".tmp"));

describe("draftConfig", () => {
  it("M019 sets, adds and removes, and keeps comments, order, quotes and unknown keys", async () => {
    await editConfig(file, [
      { path: ["servers", "search", "timeout"], value: "5s" },
      { path: ["servers", "files"], value: undefined },
      { path: ["servers", "extra"], value: { command: "uvx", args: ["x"] } },
      { path: ["name"], value: "store" },
    ]);
    const text = await readFile(file, "utf8");
    expect(comments(text)).toEqual(comments(TEXT));
    expect(text).toContain("url: 'https://search.example/mcp' # do not move");
    expect(text).toContain('{Authorization: "Bearer ${TOKEN}"}');
    expect(parse(text)).toEqual({
      name: "store",
      servers: {
        search: {
          url: "https://search.example/mcp",
          headers: { Authorization: "Bearer ${TOKEN}" },
          timeout: "5s",
        },
        extra: { command: "uvx", args: ["x"] },
      },
      future: { unknown: [1, 2, 3] },
    });
  });

  it("keeps the mode and a symlink", async () => {
    await chmod(file, 0o640);
    const link = join(file, "..", "link.yaml");
    await symlink(file, link);
    await editConfig(link, [{ path: ["name"], value: "linked" }]);
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    expect(await readFile(file, "utf8")).toContain("name: linked");
  });

  it("refuses an edit made for another version", async () => {
    const { version } = await readVersion(file);
    const next = await editConfig(file, [{ path: ["name"], value: "one" }], version);
    await expect(
      editConfig(file, [{ path: ["name"], value: "two" }], version),
    ).rejects.toMatchObject({ code: "exists" });
    await editConfig(file, [{ path: ["name"], value: "three" }], next);
    expect(await readFile(file, "utf8")).toContain("name: three");
  });

  it("M027: never overwrites a change that comes in between, and leaves no temporary file", async () => {
    const write = replaceFile(file, "name: ours\n", async () => {
      await writeFile(file, "name: theirs\n");
      return Promise.reject(new Error("changed"));
    });
    await expect(write).rejects.toThrow("changed");
    expect(await readFile(file, "utf8")).toBe("name: theirs\n");
    expect(await leftovers()).toEqual([]);
  });

  it("of two edits made at the same time one is refused, none is lost", async () => {
    const drafts = await Promise.all(
      ["one", "two"].map((name) => draftConfig(file, [{ path: ["name"], value: name }])),
    );
    await drafts[0]!.write();
    await expect(drafts[1]!.write()).rejects.toMatchObject({ code: "exists" });
    expect(await readFile(file, "utf8")).toContain("name: one");
    expect(await leftovers()).toEqual([]);
  });

  it("keeps order and indentation of JSON", async () => {
    const json = join(file, "..", "gateway.json");
    await writeFile(json, '{\n\t"name": "a",\n\t"x": [1],\n\t"servers": {}\n}\n');
    await editConfig(json, [{ path: ["servers", "a"], value: { command: "npx" } }]);
    expect(await readFile(json, "utf8")).toBe(
      '{\n\t"name": "a",\n\t"x": [1],\n\t"servers": {\n\t\t"a": {\n\t\t\t"command": "npx"\n\t\t}\n\t}\n}\n',
    );
  });

  it.each([
    ["CRLF", TEXT.replaceAll("\n", "\r\n")],
    ["no final newline", TEXT.trimEnd()],
    ["a byte order mark", `\uFEFF${TEXT}`],
    ["four spaces", TEXT.replaceAll(/^( +)/gm, "$1$1")],
    [
      "blank lines and a flow map over lines",
      `${TEXT}\n\n\nmulti: {\n  a: 1,\n    b: 2 }\n\n# z\n`,
    ],
  ])("M019: leaves every other line as it is, byte for byte: %s", (_, text) => {
    const ending = text.includes("\r\n") ? "\r\n" : "\n";
    const edited = applyEdits("gateway.yaml", text, [
      { path: ["servers", "extra"], value: { command: "x" } },
    ]);
    const lines = edited.split(ending);
    const added = lines.findIndex((line) => line.trim() === "extra:");
    expect(lines[added + 1]!.trim()).toBe("command: x");
    expect([...lines.slice(0, added), ...lines.slice(added + 2)].join(ending)).toBe(text);
    const back = applyEdits("gateway.yaml", edited, [
      { path: ["servers", "extra"], value: undefined },
    ]);
    expect(back).toBe(text);
  });

  it("MT21: a server that is removed takes its own lines along, and no blank line or comment below it", () => {
    const gap = fc.constantFrom("", "\n", "\n\n");
    const note = fc.constantFrom("", "# note\n");
    const more = fc.constantFrom(
      "",
      "    args: [1]\n",
      "    env:\n      K: v\n",
      "    cwd: /x # why\n",
    );
    const ending = fc.constantFrom("plugins:\n  history: {}\n", "auth: {}\n", "");
    fc.assert(
      fc.property(
        gap,
        more,
        gap,
        note,
        ending,
        fc.boolean(),
        (above, own, below, comment, rest, isNoted) => {
          const kept = `name: x\nservers:\n  # of a\n  a:\n    command: x\n${above}`;
          const block = `${isNoted ? "  # of b\n" : ""}  b:\n    command: y\n${own}`;
          const after = `${below}${comment}${rest}`;
          const edited = applyEdits("gateway.yaml", kept + block + after, [
            { path: ["servers", "b"], value: undefined },
          ]);
          // One of two blank lines in a row may go, and which of two gaps stays is a matter of taste.
          const said = `${comment}${rest}`;
          expect(edited.endsWith(said)).toBe(true);
          expect(edited.slice(0, edited.length - said.length).replace(/\n*$/, "\n")).toBe(
            kept.replace(/\n*$/, "\n"),
          );
          const gapKept = said === "" ? /\n\n$/ : /\n\n(?:#|plugins|auth)/;
          expect(below === "" || gapKept.test(edited)).toBe(true);
        },
      ),
    );
  });

  it("M019: two edits far apart leave what lies between them as it is", () => {
    const text = "name: a   # x\nx-notes: [ a,   b ]\ntimeouts: { grace: 1 } # last\n";
    expect(
      applyEdits("gateway.yaml", text, [
        { path: ["name"], value: "b" },
        { path: ["timeouts", "grace"], value: 2 },
      ]),
    ).toBe(text.replace("name: a", "name: b").replace("grace: 1", "grace: 2"));
  });

  it("C12: edits a server in the block that declares it, and adds to the one that is there", () => {
    const pasted = '{\n  "mcpServers": {\n    "a": { "command": "x", "disabled": true }\n  }\n}\n';
    const read = (text: string): unknown => JSON.parse(text) as unknown;
    const edit = (path: readonly string[], value: unknown): string =>
      applyEdits("mcp.json", pasted, [{ path: ["servers", ...path], value }]);
    expect(read(edit(["b"], { url: "http://b" }))).toEqual({
      mcpServers: { a: { command: "x", disabled: true }, b: { url: "http://b" } },
    });
    expect(edit(["b"], { url: "http://b" })).toContain('"a": { "command": "x", "disabled": true }');
    expect(read(edit(["a"], undefined))).toEqual({ mcpServers: {} });
    expect(read(edit(["a", "enabled"], true))).toEqual({
      mcpServers: { a: { command: "x", disabled: false } },
    });
    const both = "servers: { a: { command: x } }\nmcpServers: { b: { command: y } }\n";
    expect(
      parse(
        applyEdits("gateway.yaml", both, [
          { path: ["servers", "b"], value: undefined },
          { path: ["servers", "c"], value: { command: "z" } },
        ]),
      ),
    ).toEqual({ servers: { a: { command: "x" }, c: { command: "z" } }, mcpServers: {} });
  });

  it("fills an empty file and a section whose entries are commented out", () => {
    expect(
      parse(applyEdits("a.yaml", "", [{ path: ["servers", "a", "command"], value: "x" }])),
    ).toEqual({ servers: { a: { command: "x" } } });
    const text = applyEdits("a.yaml", "servers:\n  # a: {}\nname: b\n", [
      { path: ["servers", "a", "command"], value: "x" },
    ]);
    expect(parse(text)).toEqual({ servers: { a: { command: "x" } }, name: "b" });
    expect(text).toContain("# a: {}");
  });

  it("says what it cannot edit, and leaves it as it is", async () => {
    await expect(editConfig(join(file, "..", "gateway.ts"), [])).rejects.toMatchObject({
      code: "no_config_mode",
      hint: expect.stringContaining("by hand") as string,
    });
    await expect(editConfig(file, [{ path: ["name", "first"], value: 1 }])).rejects.toMatchObject({
      code: "invalid",
    });
    await writeFile(file, "a: [1\n");
    await expect(editConfig(file, [{ path: ["name"], value: 1 }])).rejects.toMatchObject({
      code: "invalid",
    });
    expect(await readFile(file, "utf8")).toBe("a: [1\n");
  });

  it("answers io_error without permission (EACCES), and the old file is intact", async () => {
    const folder = join(file, "..");
    await chmod(folder, 0o555);
    // Root may write anywhere: be somebody else for a moment.
    const root = process.geteuid!() === 0;
    if (root) process.seteuid!(65_534);
    try {
      await expect(editConfig(file, [{ path: ["name"], value: "x" }])).rejects.toMatchObject({
        code: "io_error",
        hint: expect.stringContaining("write permission") as string,
      });
    } finally {
      if (root) process.seteuid!(0);
      await chmod(folder, 0o755);
    }
    expect(await readFile(file, "utf8")).toBe(TEXT);
    expect(await leftovers()).toEqual([]);
  });

  it("answers io_error when the space ends in the middle of writing, and the old file is intact", async () => {
    const loop = fileURLToPath(new URL("writer-loop.mjs", import.meta.url));
    const module = fileURLToPath(
      new URL("../../../dist/modules/core/file/write.js", import.meta.url),
    );
    const long = `${TEXT}# ${"x".repeat(20_000)}\n`;
    await writeFile(file, long);
    // No file of this process may grow over 4 blocks: the write ends half done, as on a full disk.
    const child = spawn(
      "sh",
      ["-c", 'ulimit -f 4; exec node "$0" "$1" "$2" once', loop, module, file],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const output: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    await once(child, "close");
    expect(Buffer.concat(output).toString()).toMatch(
      /^io_error gateway\.yaml cannot be written \(E(FBIG|NOSPC)\)\./,
    );
    expect(await readFile(file, "utf8")).toBe(long);
    expect(await leftovers()).toEqual([]);
  });

  it("keeps every comment and every other value, whatever is set", () => {
    const key = fc.stringMatching(/^[a-z]{1,6}$/);
    const value = fc
      .jsonValue({ maxDepth: 2 })
      .map((json) => JSON.parse(JSON.stringify(json)) as unknown);
    fc.assert(
      fc.property(fc.array(fc.tuple(key, key, value), { maxLength: 5 }), (changes) => {
        const edits = changes.map(([group, name, set]) => ({
          path: ["servers", `x${group}`, name],
          value: set ?? "none",
        }));
        const text = applyEdits("gateway.yaml", TEXT, edits);
        expect(comments(text).filter((comment) => comments(TEXT).includes(comment))).toEqual(
          comments(TEXT),
        );
        const before = parse(TEXT) as { servers: Record<string, unknown> };
        const after = parse(text) as { servers: Record<string, Record<string, unknown>> };
        for (const [name, server] of Object.entries(before.servers))
          expect(after.servers[name]).toEqual(server);
        const last = new Map(edits.map((edit) => [edit.path.join("."), edit]));
        for (const edit of last.values())
          expect(after.servers[edit.path[1]!]![edit.path[2]!]).toEqual(edit.value);
      }),
    );
  });

  it(
    `M027: ${KILLS} times killed in the middle of writing, the file is always whole; the leftovers are swept`,
    async () => {
      const loop = fileURLToPath(new URL("writer-loop.mjs", import.meta.url));
      const module = fileURLToPath(
        new URL("../../../dist/modules/core/file/write.js", import.meta.url),
      );
      await writeFile(file, TEXT.repeat(1));
      let kills = 0;
      while (kills < KILLS) {
        const child = fork(loop, [module, file]);
        await once(child, "message");
        // Not a wait for anything: the moment of death is what varies.
        await new Promise((resolve) => setTimeout(resolve, kills % 10));
        child.kill("SIGKILL");
        await once(child, "exit");
        kills++;
        const text = await readFile(file, "utf8");
        expect(comments(text)).toEqual(comments(TEXT));
        expect((parse(text) as { future: unknown }).future).toEqual({ unknown: [1, 2, 3] });
      }
      await sweepTemporary(file);
      expect(await leftovers()).toEqual([]);
    },
    120_000 + KILLS * 1_000,
  );

  it("sweeps only what dead processes left", async () => {
    const folder = join(file, "..");
    const own = `.gateway.yaml.${process.pid}.00000000.tmp`;
    await writeFile(join(folder, own), "");
    await writeFile(join(folder, ".gateway.yaml.4194300.00000000.tmp"), "");
    await writeFile(join(folder, ".other.yaml.4194300.00000000.tmp"), "");
    await sweepTemporary(file);
    expect(await leftovers()).toEqual([own, ".other.yaml.4194300.00000000.tmp"].toSorted());
  });
});
