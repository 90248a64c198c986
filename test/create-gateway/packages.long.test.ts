import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { makeFolder } from "../kit/folder.ts";
import { create, listFiles, openCreator } from "./creator.ts";

const creator = openCreator();

const npx = (...args: string[]) => ({ command: "npx", args });

/** Makes a project out of servers: what it depends on, what starts them, and what is said. */
async function takeOver(mcpServers: object, template = "minimal") {
  const folder = makeFolder();
  writeFileSync(join(folder, "mcp.json"), JSON.stringify({ mcpServers }));
  const words = ["gw", "--yes", "-t", template, "--import", "mcp.json"];
  const { stdout } = await create(creator, folder, words);
  const read = (name: string) => readFileSync(join(folder, "gw", name), "utf8");
  const { dependencies } = JSON.parse(read("package.json")) as { dependencies: object };
  const { mcpServers: made } = parse(read("gateway.yaml")) as {
    mcpServers: Record<string, { args: string[] }>;
  };
  const args = Object.fromEntries(Object.entries(made).map(([name, entry]) => [name, entry.args]));
  return { dependencies, args, stdout };
}

describe("servers that npx starts", () => {
  it.each([
    [["-y", "@acme/files", "/data"], { "@acme/files": "latest" }, ["-y", "@acme/files", "/data"]],
    [["--yes", "files@latest"], { files: "latest" }, ["--yes", "files"]],
    [["files@1.2.3", "x@y"], { files: "1.2.3" }, ["files@1.2.3", "x@y"]],
    [["-y", "files@^2"], { files: "^2" }, ["-y", "files@^2"]],
  ])("26: become dependencies: %j", async (words, added, args) => {
    const { dependencies, args: all, stdout } = await takeOver({ one: npx(...words) });
    expect(dependencies).toMatchObject(added);
    expect(all["one"]).toEqual(args);
    expect(stdout).not.toContain("downloaded");
  });

  it("26: keep the version that the template has", async () => {
    const name = "@modelcontextprotocol/server-everything";
    const { dependencies } = await takeOver({ one: npx("-y", name) });
    expect(dependencies).toEqual({ [name]: expect.stringMatching(/^\^\d/) });
  });

  it.each([[["-y", "github:acme/files"]], [["-p", "files", "run"]], [["./files"]], [[]]])(
    "26: are told of when they cannot: %j",
    async (words) => {
      const { dependencies, stdout } = await takeOver({ one: npx(...words) });
      expect(Object.keys(dependencies)).toHaveLength(1);
      expect(stdout).toContain(
        '"one": the package that npx starts here is not a dependency of the project',
      );
    },
  );

  it("26: are told of when another version of theirs was first", async () => {
    const servers = { one: npx("files@1.0.0"), two: npx("files@2.0.0") };
    const { dependencies, stdout } = await takeOver(servers);
    expect(dependencies).toMatchObject({ files: "1.0.0" });
    expect(stdout).toContain('"two": the package that npx starts here');
  });
});

describe("--with", () => {
  it.each(["compose", "kubernetes"])("26: %s brings the image that it runs", async (extra) => {
    const folder = makeFolder();
    await create(creator, folder, ["gw", "--yes", "--with", extra]);
    expect(listFiles(join(folder, "gw"))).toEqual(
      expect.arrayContaining([".dockerignore", "Dockerfile"]),
    );
  });
});
