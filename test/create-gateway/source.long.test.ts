import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../kit/folder.ts";
import { create, openCreator } from "./creator.ts";

const creator = openCreator();

const CONTENT = gzipSync("a tarball");

async function make(spec: string, template = "minimal") {
  const folder = makeFolder();
  writeFileSync(join(folder, "propylon-0.1.0.tgz"), CONTENT);
  writeFileSync(join(folder, "text.tgz"), "text");
  const words = ["gw", "--yes", "--template", template, "--propylon", spec];
  const ran = await create(creator, folder, words);
  return { ...ran, folder, project: join(folder, "gw") };
}

const manifest = (project: string) =>
  JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as {
    devDependencies: Record<string, string>;
    peerDependencies?: Record<string, string>;
  };

describe("--propylon", () => {
  it.each(["./propylon-0.1.0.tgz", "propylon-0.1.0.tgz"])(
    "22: copies a tarball, found from where it runs: %s",
    async (path) => {
      const { code, project } = await make(path);
      expect(code).toBe(0);
      expect(manifest(project).devDependencies["propylon"]).toBe("file:propylon.tgz");
      expect(readFileSync(join(project, "propylon.tgz"))).toEqual(CONTENT);
      expect(readFileSync(join(project, "Dockerfile"), "utf8")).toContain(" propylon.tgz* ");
    },
  );

  it("22: a plugin asks its users for a version, not for a file of this machine", async () => {
    const { project } = await make("./propylon-0.1.0.tgz", "plugin");
    expect(manifest(project)).toMatchObject({
      devDependencies: { propylon: "file:propylon.tgz" },
      peerDependencies: { propylon: expect.stringMatching(/^\^\d/) },
    });
  });

  it.each(["1.2.3", "^0.1.0", "file:../propylon", "https://packages.example/propylon-0.1.0.tgz"])(
    "22: leaves to npm what npm understands: %s",
    async (spec) => {
      const { project } = await make(spec);
      expect(manifest(project).devDependencies["propylon"]).toBe(spec);
      expect(existsSync(join(project, "propylon.tgz"))).toBe(false);
    },
  );

  it.each([
    ["./missing.tgz", "--propylon: there is no file ./missing.tgz.\n"],
    [".", "--propylon: . is not a tarball."],
    ["text.tgz", "--propylon: text.tgz is not a tarball."],
  ])("22: refuses %s and writes nothing", async (spec, message) => {
    const { code, stderr, project } = await make(spec);
    expect([code, existsSync(project)]).toEqual([1, false]);
    expect(stderr).toContain(message);
  });
});
