import fc from "fast-check";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { definePlugin, type Role } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import access, { Accounts, type Explanation } from "../../../plugins/access/index.ts";
import { explain } from "../../../plugins/access/explain-command.ts";
import admin from "../../../plugins/admin/index.ts";
import gating from "../../../plugins/gating/index.ts";
import openapi from "../../../plugins/openapi/index.ts";
import ratelimit from "../../../plugins/ratelimit/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { crowd, headersOf, house, tokenOf, withRules, type Person } from "./kit.ts";

const ROLES: readonly Role[] = ["viewer", "caller", "operator", "admin", "service"];
const PEOPLE: readonly Person[] = (["user", "team", "agent", "service", "key"] as const).flatMap(
  (kind) =>
    ["a", "b", "ab"].flatMap((id) =>
      ROLES.map((role): Person => ({ kind, id: `${id}-${role}`, roles: [role] })),
    ),
);
const ROOT: Person = { kind: "user", id: "root", roles: ["admin"] };
const SERVERS = { one: ["find", "delete_all", "off"], two: ["find", "hidden"] } as const;
const TOOLS = Object.entries(SERVERS).flatMap(([server, tools]) =>
  tools.map((tool) => ({ server, tool })),
);

const pattern = fc
  .tuple(fc.constantFrom("one", "two", "*", "o*"), fc.constantFrom("find", "delete_*", "*", "*d*"))
  .map((halves) => halves.join("."));
const whom = fc.oneof(
  fc.record({ team: fc.array(fc.constantFrom("a-*", "b-*", "*-caller"), { minLength: 1 }) }),
  fc.record({ user: fc.constantFrom("a*", "root") }),
  fc.record({ kind: fc.constantFrom("agent", "service", "key") }),
  fc.record({ role: fc.constantFrom(...ROLES) }),
);
const rule = fc
  .record({
    effect: fc.constantFrom("allow", "allow", "deny"),
    pattern,
    whom: fc.option(whom, { nil: undefined }),
  })
  .map(({ effect, pattern: what, whom: who }) => ({ [effect]: [what], ...(who && { for: who }) }));

/** What explains a person who is asked about by somebody else: what an issuer would know. */
const registryOf = (people: readonly Person[]) =>
  definePlugin({
    name: "registry-of-people",
    provides: Accounts,
    setup: () => ({
      admit: (identity) => identity,
      explain(ref: string) {
        const found = people.find(({ kind, id }) => `${kind}:${id}` === ref);
        if (!found) return undefined;
        const { roles = [], libraries } = found;
        return { known: true, active: true, roles, ...(libraries && { libraries }) };
      },
    }),
  });

type Asked = Explanation & { readonly ok: boolean };

describe("the explanation", () => {
  it("is what a call does, for 500 random principals and tools", async () => {
    const cells = { called: 0, refused: 0 };
    const samples = fc.sample(fc.array(rule, { minLength: 1, maxLength: 6 }), 9);
    // Random rules may let next to nobody in.
    for (const [round, rules] of [[{ allow: ["*.*"] }], ...samples].entries()) {
      const folder = makeFolder();
      const file = join(folder, "gateway.json");
      await writeFile(
        file,
        JSON.stringify(
          {
            plugins: {
              crowd: {},
              one: {},
              two: {},
              openapi: {},
              admin: {},
              "registry-of-people": {},
              gating: { state: false, reserved: { "two/hidden": "operator" } },
            },
            management: { mutations: true },
            access: [{ allow: "one.off", for: { user: "root" } }, ...rules],
          },
          null,
          1,
        ),
      );
      const ran: string[] = [];
      const { gateway, url } = await setupGateway({
        file,
        plugins: [
          access,
          admin,
          crowd([...PEOPLE, ROOT]),
          house("one", SERVERS.one, ran),
          house("two", SERVERS.two, ran),
          openapi,
          gating,
          registryOf([...PEOPLE, ROOT]),
        ],
        client: false,
      });
      const off = await fetch(`${url}/_meta/servers/one/tools/off/disable`, {
        method: "POST",
        headers: headersOf(ROOT),
      });
      expect(off.status).toBe(200);
      const picks = fc.sample(
        fc.record({ person: fc.constantFrom(...PEOPLE), item: fc.constantFrom(...TOOLS) }),
        { numRuns: 50, seed: round },
      );
      for (const { person, item } of picks) {
        const { server, tool } = item;
        const ref = `${person.kind}:${person.id}`;
        const query = new URLSearchParams({ principal: ref, server, tool });
        const reply = await fetch(`${url}/_meta/access/explain?${query.toString()}`, {
          headers: headersOf(ROOT),
        });
        const told = (await reply.json()) as Asked;
        expect(reply.status).toBe(200);
        const before = ran.length;
        const call = await fetch(`${url}/${server}/${tool}`, {
          method: "POST",
          headers: { ...headersOf(person), "content-type": "application/json" },
          body: "{}",
        });
        const text = await call.text();
        // All in one, so that a difference tells whose it is.
        expect({
          ref,
          text,
          told,
          isCalled: call.status === 200,
          ran: ran.length - before,
        }).toEqual({
          ref,
          text,
          told,
          isCalled: told.allowed,
          ran: told.allowed ? 1 : 0,
        });
        cells[told.allowed ? "called" : "refused"]++;
        const { place } = told.steps.find(({ step }) => step === "rule")!;
        expect(place ?? "gateway.json:1:1").toMatch(/gateway\.json:\d+:\d+$/);
      }
      await gateway.close({ grace: 0 });
    }
    expect(cells.called + cells.refused).toBe(500);
    expect(cells.called).toBeGreaterThan(10);
    expect(cells.refused).toBeGreaterThan(10);
  });

  it("names the rule, its file and line, and what would change it", async () => {
    const file = join(makeFolder(), "gateway.yaml");
    await writeFile(
      file,
      [
        "plugins: { crowd: {}, one: {}, admin: {}, gating: {} }",
        "management: { mutations: true }",
        "access:",
        "  - { allow: one.find, for: { team: kottos } }",
        "  - deny: '*.delete_*'",
        "    for: { role: caller }",
      ].join("\n"),
    );
    const kottos: Person = { kind: "team", id: "kottos" };
    const { url } = await setupGateway({
      file,
      plugins: [access, admin, gating, crowd([ROOT, kottos]), house("one", SERVERS.one)],
      client: false,
    });
    const ask = async (as: Person, query: Record<string, string>) => {
      const path = `/_meta/access/explain?${new URLSearchParams({ server: "one", ...query }).toString()}`;
      const reply = await fetch(url + path, { headers: headersOf(as) });
      return (await reply.json()) as Asked;
    };
    const stepOf = ({ steps }: Asked) => steps.find(({ step }) => step === "rule");
    const other = { principal: "team:kottos", role: "caller" };
    expect(stepOf(await ask(ROOT, { ...other, tool: "find" }))).toEqual({
      step: "rule",
      verdict: "pass",
      reason: "access[0] allows one.find for team kottos.",
      place: expect.stringMatching(/gateway\.yaml:4:\d+$/),
    });
    expect(stepOf(await ask(ROOT, { ...other, tool: "delete_all" }))).toEqual({
      step: "rule",
      verdict: "fail",
      reason: "access[1] denies *.delete_* for role caller.",
      place: expect.stringMatching(/gateway\.yaml:5:\d+$/),
      change: expect.stringMatching(
        /^Write a rule before \S*gateway\.yaml:5:\d+ that allows one\.delete_all for team:kottos\.$/,
      ),
    });
    expect(stepOf(await ask(ROOT, { ...other, tool: "off" }))).toMatchObject({
      verdict: "fail",
      reason: "No rule fits, and what no rule allows is refused.",
    });
    await writeFile(file, `# moved\n${await readFile(file, "utf8")}`);
    const report = await fetch(`${url}/_meta/reload`, { method: "POST", headers: headersOf(ROOT) });
    expect(await report.json()).toMatchObject({ ok: true, applied: false });
    expect(stepOf(await ask(ROOT, { ...other, tool: "find" }))?.place).toMatch(/gateway\.yaml:5:/);
    // About themselves callers hear everything but the rules, which name others.
    const own = await ask(kottos, { tool: "find" });
    expect(own).toMatchObject({ ok: true, principal: "team:kottos", allowed: true });
    expect(stepOf(own)).toEqual({ step: "rule", verdict: "pass", reason: "The rules allow it." });
    expect(JSON.stringify(await ask(kottos, { tool: "delete_all" }))).not.toMatch(/yaml|access\[/);
    const others = await ask(kottos, { tool: "find", principal: "team:rival" });
    expect(others).toMatchObject({ ok: false, error: { code: "forbidden" } });
  });

  it("asks those who know: keys of the config, accounts, gates, rates and libraries", async () => {
    const readers: Person = { kind: "team", id: "readers", libraries: ["a", "b"] };
    const { get, post, url } = await withRules([], [ROOT, readers], {
      plugins: [
        house("one", SERVERS.one),
        gating,
        [
          ratelimit,
          { rates: { few: { per: "principal", rate: 1, interval: "1h", tool: "find" } } },
        ],
        registryOf([readers]),
      ],
      config: { auth: { keys: { ci: { role: "viewer", hash: `sha256:${"0".repeat(64)}` } } } },
    });
    const verdicts = async (query: Record<string, string>) => {
      const { body } = await get(
        ROOT,
        `/_meta/access/explain?${new URLSearchParams({ server: "one", tool: "find", ...query }).toString()}`,
      );
      const steps = (body as unknown as Asked).steps.map(({ step, verdict }) => [step, verdict]);
      return Object.fromEntries(steps) as Record<string, string>;
    };
    expect(await verdicts({ principal: "key:ci" })).toMatchObject({
      credential: "pass",
      active: "pass",
      role: "fail",
    });
    // The name of the key in auth.apiKey, which this gateway does not have.
    expect(await verdicts({ principal: "key:api-key" })).toMatchObject({ credential: "fail" });
    expect(await verdicts({ principal: "key:gone" })).toMatchObject({ credential: "fail" });
    expect(await verdicts({ principal: "user:somebody" })).toMatchObject({
      credential: "unknown",
      role: "unknown",
    });
    expect(await verdicts({ principal: "anonymous:anonymous" })).toMatchObject({
      credential: "fail",
    });
    expect(await verdicts({ principal: "team:readers", library: "b" })).toMatchObject({
      credential: "pass",
      limit: "pass",
      libraries: "pass",
    });
    expect(await verdicts({ principal: "team:readers", library: "c" })).toMatchObject({
      libraries: "fail",
    });
    expect(await verdicts({ principal: "team:readers", tool: "nothing" })).toMatchObject({
      gate: "fail",
    });
    expect((await post(readers, "/one/find")).status).toBe(200);
    expect(await verdicts({ principal: "team:readers" })).toMatchObject({ limit: "fail" });
    expect((await post(readers, "/one/find")).status).toBe(429);
    for (const principal of ["nobody", "team:", "tema:x"]) {
      const { status } = await get(
        ROOT,
        `/_meta/access/explain?${new URLSearchParams({ principal, server: "one", tool: "find" }).toString()}`,
      );
      expect(status).toBe(422);
    }
    const printed: string[] = [];
    const stdout = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      printed.push(String(text));
      return true;
    });
    const input = { target: `${url}/mcp`, apiKey: tokenOf(ROOT), server: "one", tool: "find" };
    const asked = [
      await explain({ ...input, principal: "user:root" }),
      await explain({ ...input, principal: "key:ci" }),
    ];
    stdout.mockRestore();
    expect(asked).toEqual([0, 3]);
    await expect(
      explain({ ...input, apiKey: tokenOf(readers), principal: "key:ci" }),
    ).rejects.toMatchObject({ code: "forbidden" });
    expect(printed[0]).toMatch(/^user:root may call one\/find\n {2}credential pass/);
    expect(printed[1]).toMatch(/^key:ci may not call one\/find\n[^]*role {7}fail/);
  });

  it("is read like the keys that servers check with: neither stands in the audit", async () => {
    const { gateway } = await withRules([], [ROOT]);
    const routes = gateway
      .describe()
      .routes.filter(({ plugin }) => plugin === "access")
      .map(({ path, mutates }) => [path, mutates]);
    expect(routes).toEqual([
      ["/_meta/access/explain", false],
      ["/.well-known/propylon/jwks.json", false],
    ]);
  });

  it("knows the one key of auth.apiKey by its name, and no other key for it", async () => {
    const { get } = await withRules([], [ROOT], {
      plugins: [house("one", SERVERS.one)],
      config: { auth: { apiKey: "an-api-key-of-some-length" } },
    });
    const stepsOf = async (principal: string) => {
      const query = new URLSearchParams({ principal, server: "one", tool: "find" }).toString();
      const { body } = await get(ROOT, `/_meta/access/explain?${query}`);
      return (body as unknown as Asked).steps.slice(0, 3).map(({ verdict }) => verdict);
    };
    expect(await stepsOf("key:api-key")).toEqual(["pass", "pass", "pass"]);
    expect(await stepsOf("key:gone")).toEqual(["fail", "fail", "unknown"]);
  });
});
