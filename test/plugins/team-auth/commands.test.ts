import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "commander";
import { expect, it, vi } from "vitest";
import { addCommand } from "../../../core/cli/program.ts";
import { commands } from "../../../plugins/team-auth/commands.ts";
import { ADMIN_KEY, type RunningIssuer, startIssuer } from "./issuer.ts";

interface Shell extends RunningIssuer {
  /** Runs `propylon team-auth <words>`; what it printed, and its exit code. */
  readonly run: (...words: string[]) => Promise<{ out: string; code: number }>;
  /** The same with `--json`, read. */
  // eslint-disable-next-line typescript/no-explicit-any -- each test knows what it asked for
  readonly json: (...words: string[]) => Promise<any>;
}

async function startShell(): Promise<Shell> {
  const issuer = await startIssuer();
  const run: Shell["run"] = async (...words) => {
    const program = new Command("propylon").exitOverride();
    addCommand(program, "team-auth", commands["team-auth"], undefined);
    const printed: string[] = [];
    const keep = (text: unknown): boolean => printed.push(String(text)) > 0;
    const log = vi.spyOn(console, "log").mockImplementation((text) => void keep(`${text}\n`));
    const write = vi
      .spyOn(process.stdout, "write")
      .mockImplementation((piece) =>
        keep(typeof piece === "string" ? piece : Buffer.from(piece).toString()),
      );
    process.exitCode = undefined;
    try {
      const target = words.includes("--target") ? [] : ["--target", issuer.url];
      const key = words.includes("--api-key") ? [] : ["--api-key", ADMIN_KEY];
      await program.parseAsync(["team-auth", ...words, ...target, ...key], { from: "user" });
      return { out: printed.join(""), code: (process.exitCode as number | undefined) ?? 0 };
    } finally {
      log.mockRestore();
      write.mockRestore();
      process.exitCode = undefined;
    }
  };
  const json: Shell["json"] = async (...words) => JSON.parse((await run(...words, "--json")).out);
  return { ...issuer, run, json };
}

it("makes users, libraries, tokens and teams, and shows them as tables", async () => {
  const { run, json } = await startShell();
  await run("user", "create", "ada", "--name", "Ada");
  await run("library", "create", "lib-a", "--workspace", "ws-1", "--owner", "ada");
  const token = await json("token", "create", "ada", "laptop", "--library", "lib-a");
  expect(token).toMatchObject({
    token: { libraries: ["lib-a"] },
    secret: expect.stringMatching(/^ppt_/),
  });
  expect((await run("user", "list")).out).toMatch(
    /^id +name +active +created_at\nada +Ada +1 +\d{4}/,
  );
  const id = randomUUID();
  expect((await json("team", "create", id, "Kottos")).jwt).toMatch(/^ey/);
  expect((await json("team", "workspaces", id, "ws-1", "ws-2")).workspaces).toEqual([
    "ws-1",
    "ws-2",
  ]);
  expect((await json("team", "workspaces", id)).workspaces).toEqual([]);
  expect((await json("team", "rotate", id)).jwt).toMatch(/^ey/);
  expect((await json("team", "delete", id)).active).toBe(false);
  expect((await run("team", "show", id)).out).toContain("active: false");
  expect((await json("team", "reactivate", id)).ended).toEqual({
    sessions: 0,
    streams: 0,
    calls: 0,
  });
  const [{ kid }] = (await json("key", "list")).keys;
  expect((await json("key", "retire", kid)).state).toBe("retired");
  await run("token", "revoke", token.token.id);
  expect((await json("token", "list", "--user", "ada")).tokens[0].active).toBe(0);
});

it("grants and revokes roles, and tells a refusal as a sentence with its next step", async () => {
  const { run, json } = await startShell();
  await run("user", "create", "ada");
  await run("library", "create", "lib-a");
  await run("member", "grant", "ada", "lib-a", "owner");
  expect((await json("member", "list", "--user", "ada")).memberships).toHaveLength(1);
  await expect(run("member", "revoke", "ada", "lib-a", "owner")).rejects.toMatchObject({
    code: "invalid",
    message: "A library cannot lose its last owner.",
    hint: expect.stringContaining("owner"),
  });
  await expect(run("user", "create", "ada")).rejects.toMatchObject({ code: "exists" });
  await expect(run("team", "show", "a/../b?c")).rejects.toMatchObject({ code: "not_found" });
});

it("makes a password for a service account that nobody has to type", async () => {
  const { json, send } = await startShell();
  const { name, password } = await json("account", "create", "console");
  expect(password).toHaveLength(32);
  const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
  const { status } = await send("GET", `/mcp_server/api/teams/${randomUUID()}`, {
    headers: { authorization },
  });
  expect(status).toBe(404);
});

it("prints the audit, checks its chain, and says by its exit code when something is wrong", async () => {
  const { run, json } = await startShell();
  await run("user", "create", "ada");
  await run("user", "create", "mia");
  const { out } = await run("audit", "export");
  expect(
    out
      .trim()
      .split("\n")
      .map((row) => (JSON.parse(row) as { target: string }).target),
  ).toEqual(["user:ada", "user:mia"]);
  const verified = await run("audit", "verify");
  expect(verified.code).toBe(0);
  const [, head] = /Newest: (2:[\da-f]{64})/.exec(verified.out) ?? [];
  expect(await json("audit", "verify", "--head", head!)).toMatchObject({ ok: true, rows: 2 });
  const wrong = await run("audit", "verify", "--head", `2:${"0".repeat(64)}`);
  expect(wrong).toMatchObject({ code: 1, out: "Row 2 is wrong: rewritten.\n" });
  await expect(run("audit", "verify", "--head", "2")).rejects.toMatchObject({ code: "invalid" });
});

it("T189: gives libraries of before their owners, says what it did, and does it once", async () => {
  const { run, json, folder } = await startShell();
  for (const id of ["ada", "mia", "otto"]) await run("user", "create", id);
  for (const uid of ["lib-a", "lib-b"]) await run("library", "create", uid);
  await run("library", "create", "lib-c", "--owner", "otto");
  const map = join(folder, "map.csv");
  await writeFile(map, "# library,user\n\nlib-b, mia\nlib-c,ada\r\n");
  const step = (library: string, owner: string, done: string): object => ({ library, owner, done });
  expect((await json("backfill", "--owner", "ada", "--map", map, "--dry-run")).libraries).toEqual([
    step("lib-a", "ada", "would grant"),
    step("lib-b", "mia", "would grant"),
    step("lib-c", "otto", "owned"),
  ]);
  expect((await json("member", "list")).memberships).toHaveLength(1);
  expect((await run("backfill", "--map", map)).code).toBe(1);
  expect((await run("backfill", "--owner", "ada", "--map", map)).out).toMatch(
    /^library +owner +done\nlib-a +ada +granted\nlib-b +mia +owned\nlib-c +otto +owned\n$/,
  );
  expect((await run("backfill", "--owner", "ada")).code).toBe(0);
  expect((await json("member", "list")).memberships).toHaveLength(3);
  await writeFile(map, "lib-a;ada\n");
  await expect(run("backfill", "--map", map)).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("map.csv:1"),
  });
  await expect(run("backfill", "--map", join(folder, "no.csv"))).rejects.toMatchObject({
    code: "io_error",
  });
});

it("says that a gateway cannot be reached, or wants another key", async () => {
  const { run } = await startShell();
  await expect(run("user", "list", "--target", "http://127.0.0.1:1")).rejects.toThrow(
    /cannot be reached/,
  );
  await expect(run("user", "list", "--api-key", "wrong")).rejects.toMatchObject({
    code: "unauthorized",
  });
});
