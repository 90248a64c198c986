import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { isMistyped } from "../../../plugins/keys/key.ts";
import { configSchema } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { useCommands } from "../../core/cli/propylon.ts";
import { makeFolder } from "../../kit/folder.ts";

const { propylon, propylonEach } = useCommands();

it("M122: propylon key prints a key once and the lines for the config, and the two fit", async () => {
  const { code, stdout } = await propylon(["key", "--role", "caller", "--name", "ci"]);
  expect(code).toBe(0);
  const [key] = stdout.split("\n");
  expect(stdout.split(key!)).toHaveLength(2);
  expect(isMistyped(key!)).toBe(false);
  const config = configSchema.parse(parse(stdout.slice(stdout.indexOf("\nauth:"))));
  expect(config.auth.keys).toMatchObject({ ci: { role: "caller" } });
  const { url } = await setupGateway({ config: { auth: config.auth }, client: false });
  const status = async (token: string) =>
    (await fetch(`${url}/mcp`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect(await status(key!)).toBe(406);
  expect(await status(key!.slice(0, -1))).toBe(401);
});

it("propylon key --json is for scripts; a wrong role or name is refused with a sentence", async () => {
  const [json, role, name] = await propylonEach([
    ["key", "--role", "admin", "--name", "ops", "--json"],
    ["key", "--role", "root", "--name", "ops"],
    ["key", "--role", "admin", "--name", "a b"],
  ]);
  expect(JSON.parse(json!.stdout)).toEqual({
    name: "ops",
    role: "admin",
    key: expect.stringMatching(/^ppl_a_/),
    hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
  });
  expect([role!.code, role!.stderr]).toEqual([1, expect.stringContaining("viewer, caller")]);
  expect([name!.code, name!.stderr]).toEqual([1, expect.stringContaining("The name of a key has")]);
});

it("client-config knows that a gateway with keys of any kind wants one", async () => {
  const cwd = makeFolder();
  const shown = async (auth: string): Promise<string> => {
    await writeFile(join(cwd, "gateway.yaml"), `auth: ${auth}\n`);
    return (await propylon(["client-config", "cursor", "--json"], { cwd })).stdout;
  };
  expect(await shown("{}")).not.toContain("Authorization");
  const hash = `"sha256:${"0".repeat(64)}"`;
  for (const auth of [
    "{ apiKey: a-key-of-16-chars! }",
    `{ keys: { ci: { role: caller, hash: ${hash} } } }`,
    `{ jwt: { secret: ${"s".repeat(32)} } }`,
  ])
    expect(await shown(auth)).toContain("Authorization");
});

it("client-config of a gateway where people log in sends no key, unless it is asked to", async () => {
  const cwd = makeFolder({
    "gateway.yaml":
      "name: shop\npublicUrl: https://shop.example\nauth: { apiKey: the-secret-key-itself }\nplugins: { oauth-resource: {} }\n",
  });
  const clients =
    "claude-code claude-desktop claude-web chatgpt cursor vscode inspector generic".split(" ");
  const plain = clients.map((client) => ["client-config", client]);
  const finished = await propylonEach([...plain, ...plain.map((words) => [...words, "--key"])], {
    cwd,
  });
  for (const [at, client] of clients.entries()) {
    const { stdout, code } = finished[at]!;
    expect([client, code]).toEqual([client, 0]);
    expect(stdout).toContain("https://shop.example/mcp");
    expect(stdout).toContain("The client opens a browser, where you log in.");
    expect(stdout).not.toMatch(/Authorization|the-secret/);
    const keyed = finished[clients.length + at]!;
    const isLoginOnly = client === "chatgpt" || client === "claude-web";
    expect([client, keyed.code]).toEqual([client, isLoginOnly ? 1 : 0]);
    const words = isLoginOnly ? `${client} sends no key, it only logs in.` : "Authorization";
    expect(keyed.stdout + keyed.stderr).toContain(words);
    expect(keyed.stdout + keyed.stderr).not.toContain("the-secret");
  }
});
