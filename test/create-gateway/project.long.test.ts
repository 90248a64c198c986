import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TEMPLATES } from "../../templates/src/template.ts";
import { lowest } from "../fixtures/lowest.ts";
import { makeFolder } from "../kit/folder.ts";
import { cleanEnvironment, create, listFiles, openCreator, run } from "./creator.ts";

const creator = openCreator();

describe("a project", () => {
  it.each(TEMPLATES.map(({ name }) => name))(
    "%s: bears its name everywhere, and --production lets nobody change it",
    async (template) => {
      const folder = makeFolder();
      const flags = template === "plugin" ? [] : ["--production"];
      const { code, stderr } = await create(creator, folder, ["mine", "-t", template, ...flags]);
      expect([code, stderr]).toEqual([0, ""]);
      const files = listFiles(join(folder, "mine"));
      const texts = files.map((file) => readFileSync(join(folder, "mine", file), "utf8"));
      expect(texts.filter((text) => text.includes("my-gateway"))).toEqual([]);
      const config = files.includes("gateway.yaml") ? texts[files.indexOf("gateway.yaml")]! : "";
      expect(config.includes("readOnly: true }")).toBe(template !== "plugin");
      expect(config).not.toMatch(/^management: .*mutations/m);
    },
  );

  it("is there in less than two seconds", async () => {
    const timed = async (): Promise<number> => {
      const folder = makeFolder();
      const started = performance.now();
      await create(creator, folder, ["gw", "--yes"]);
      return performance.now() - started;
    };
    expect(await lowest(2_000, timed)).toBeLessThan(2_000);
  });

  it("git has all of it but the secrets, unless nobody wants git", async () => {
    const folder = makeFolder();
    await create(creator, folder, ["gw", "--yes"]);
    const { stdout } = await run("git", ["ls-files"], { cwd: join(folder, "gw") });
    const staged = stdout.trim().split("\n");
    expect(staged).toEqual(listFiles(join(folder, "gw")).filter((file) => file !== ".env"));
    const without = await create(creator, folder, ["other", "--yes", "--no-git", "--json"]);
    expect(JSON.parse(without.stdout)).toMatchObject({ git: false });
    expect(() => statSync(join(folder, "other/.git"))).toThrow("ENOENT");
  });

  it(".env is its owner's alone whatever the umask, with a key of its own, and stays when the rest is overwritten", async () => {
    const folder = makeFolder();
    const file = join(folder, "gw/.env");
    const open = `umask 0; exec '${process.execPath}' '${creator.program}' gw --yes`;
    const env = cleanEnvironment() as NodeJS.ProcessEnv;
    await run("sh", ["-c", open], { cwd: folder, env });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const key = /^GATEWAY_KEY=(.*)$/m.exec(readFileSync(file, "utf8"))![1]!;
    expect(key).toMatch(/^[0-9a-f]{48}$/);
    await create(creator, folder, ["second", "--yes"]);
    expect(readFileSync(join(folder, "second/.env"), "utf8")).not.toContain(key);
    const mine = "# mine\nMODEL='of my own'\nGATEWAY_KEY=\nOTHER=1\n";
    writeFileSync(file, mine);
    chmodSync(file, 0o644);
    const words = ["gw", "--yes", "--overwrite", "-t", "agent-team"];
    const { stdout } = await create(creator, folder, [...words, "--dry-run"]);
    expect(stdout).toContain(".env (added to)\n");
    await create(creator, folder, words);
    const after = readFileSync(file, "utf8");
    expect(after.startsWith(`${mine}\n# Added by create-gateway.\n`)).toBe(true);
    expect(after).toMatch(/\nGATEWAY_KEY=[0-9a-f]{48}\n/);
    expect(after).toMatch(/\nMODEL_URL=http/);
    expect(after.match(/^MODEL=/gm)).toHaveLength(1);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await create(creator, folder, words);
    expect(readFileSync(file, "utf8")).toBe(after);
  });
});
