import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import type { Identity, Role } from "../../../core/index.ts";
import { createPrincipal } from "../../../core/kit.ts";
import { connectClient, connectModernClient, setupGateway } from "../../../core/testing/index.ts";
import { may, notAllowed, viewOf } from "../../../plugins/access/decide.ts";
import { optionsSchema } from "../../../plugins/access/options.ts";
import { Rule } from "../../../plugins/access/rule.ts";
import access from "../../../plugins/access/index.ts";
import admin from "../../../plugins/admin/index.ts";
import gating from "../../../plugins/gating/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { crowd, headersOf, house, withRules, type Person } from "./kit.ts";
import { rounds } from "../../fixtures/ci.ts";

const rulesOf = (written: readonly object[]): Rule[] =>
  optionsSchema
    .parse({ rules: written })
    .rules.map(
      (rule, index) => new Rule(rule, index, { placeOf: (path) => `here:${path.at(-1)}` }),
    );
const who = (kind: Identity["kind"], id: string, ...roles: Role[]) =>
  createPrincipal({ kind, id, roles: new Set(roles) });
const asks = (rules: readonly object[], principal: ReturnType<typeof who>, text: string) => {
  const [server = "", name = ""] = text.split(" ");
  return may(rulesOf(rules), principal, { server, name }).allowed;
};

describe("a rule", () => {
  const kottos = who("team", "kottos", "caller");

  it("lets everybody do everything when there is none, and nothing else once there is one", () => {
    expect(asks([], kottos, "search find")).toBe(true);
    expect(asks([{ allow: "search.*" }], kottos, "search find")).toBe(true);
    expect(asks([{ allow: "search.*" }], kottos, "shop buy")).toBe(false);
  });

  it("decides by the first that fits, and says which it was and where it stands", () => {
    const rules = rulesOf([
      { allow: ["search.*"], for: { team: ["kottos"] } },
      { deny: ["*.delete_*"], for: { role: "caller" } },
      { allow: ["*"], for: { role: "operator" } },
    ]);
    const decide = (principal: ReturnType<typeof who>, server: string, name: string) => {
      const { allowed, rule, place } = may(rules, principal, { server, name });
      return [allowed, rule, place];
    };
    expect(decide(kottos, "search", "delete_all")).toEqual([true, 0, "here:0"]);
    expect(decide(kottos, "shop", "delete_all")).toEqual([false, 1, "here:1"]);
    expect(decide(kottos, "shop", "buy")).toEqual([false, undefined, undefined]);
    expect(decide(who("key", "ci", "operator"), "shop", "delete_all")).toEqual([true, 2, "here:2"]);
  });

  it("keeps servers apart whose names hold dots", () => {
    expect(asks([{ allow: "a.*" }], kottos, "a.b c")).toBe(false);
    expect(asks([{ allow: "a.b.*" }], kottos, "a.b c")).toBe(true);
    expect(asks([{ deny: "a.*" }, { allow: "*" }], kottos, "a x.y")).toBe(false);
  });

  it("is about kinds and ids, and no id of another kind", () => {
    const rule = [{ allow: "*", for: { user: ["ann", "b*"] } }];
    expect(asks(rule, who("user", "ann"), "x y")).toBe(true);
    expect(asks(rule, who("user", "bob"), "x y")).toBe(true);
    expect(asks(rule, who("team", "ann"), "x y")).toBe(false);
    expect(asks([{ allow: "*", for: { kind: "team" } }], who("team", "ann"), "x y")).toBe(true);
    expect(asks([{ allow: "*", for: { kind: ["team"] } }], who("user", "ann"), "x y")).toBe(false);
  });

  it("never gives less to somebody with a higher role", () => {
    const ladder = ["viewer", "caller", "operator", "admin"] as const;
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            effect: fc.constantFrom("allow", "deny"),
            role: fc.constantFrom(...ladder),
          }),
          { maxLength: 1, minLength: 1 },
        ),
        fc.nat(2),
        (written, at) => {
          const rules = rulesOf([
            ...written.map(({ effect, role }) => ({ [effect]: "*", for: { role } })),
            ...(written[0]!.effect === "deny" ? [{ allow: "*" }] : []),
          ]);
          const item = { server: "x", name: "y" };
          const lower = may(rules, who("key", "k", ladder[at]!), item).allowed;
          const higher = may(rules, who("key", "k", ladder[at + 1]!), item).allowed;
          expect(!lower || higher).toBe(true);
        },
      ),
    );
  });

  it("shows the same to all of one view", () => {
    const part = fc.constantFrom("a", "b", "*", "a*");
    const rule = fc.record({
      effect: fc.constantFrom("allow", "deny"),
      pattern: fc.tuple(part, part).map((halves) => halves.join(".")),
      who: fc.option(
        fc.oneof(
          fc.record({ team: fc.constantFrom("a", "b", "*") }),
          fc.record({ user: fc.constantFrom("a", "*") }),
          fc.record({ role: fc.constantFrom("viewer", "caller", "operator") }),
        ),
        { nil: undefined },
      ),
    });
    const person = fc
      .record({
        kind: fc.constantFrom("team" as const, "user" as const),
        id: fc.constantFrom("a", "b"),
        role: fc.constantFrom<Role>("viewer", "caller", "operator", "admin", "service"),
      })
      .map(({ kind, id, role }) => who(kind, id, role));
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 6 }), person, person, (written, one, other) => {
        const rules = rulesOf(
          written.map(({ effect, pattern, who: whom }) => ({
            [effect]: pattern,
            ...(whom && { for: whom }),
          })),
        );
        if (viewOf(rules, one) !== viewOf(rules, other)) return;
        for (const server of ["a", "b", "ab"])
          for (const name of ["a", "b"])
            expect(may(rules, one, { server, name })).toBe(may(rules, other, { server, name }));
      }),
      { numRuns: rounds(1_000) },
    );
  });

  it.each([
    [{}, "must have either allow or deny"],
    [{ allow: "*", deny: "*" }, "must have either allow or deny"],
    [{ allow: "search" }, "must be server.name"],
    [{ allow: [] }, ""],
    [{ allow: "*", for: {} }, "names nobody"],
    [{ allow: "*", for: { teem: "x" } }, "teem"],
  ])("is refused as %j", (written, words) => {
    const checked = optionsSchema.safeParse({ rules: [written] });
    expect(checked.success).toBe(false);
    expect(JSON.stringify(checked.error?.issues)).toContain(words);
  });

  it("has patterns and ids of 500 characters, lists of 1,000, and not one more", () => {
    const isTaken = (written: object, times = 1): boolean =>
      optionsSchema.safeParse({ rules: Array.from({ length: times }, () => written) }).success;
    const pattern = (length: number) => `a.${"b".repeat(length - 2)}`;
    expect([500, 501].map((length) => isTaken({ allow: pattern(length) }))).toEqual([true, false]);
    const id = (length: number) => ({ allow: "*", for: { user: "u".repeat(length) } });
    expect([0, 1, 500, 501].map((length) => isTaken(id(length)))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    const list = (length: number) => ({ allow: Array.from({ length }, () => "a.b") });
    expect([1_000, 1_001].map((length) => isTaken(list(length)))).toEqual([true, false]);
    expect([1_000, 1_001].map((times) => isTaken({ allow: "*" }, times))).toEqual([true, false]);
  });

  it("tells the refused no more than 200 characters of the name that they sent", () => {
    const { message, data } = notAllowed({ server: "shop", name: "x".repeat(300) });
    expect(/"(x*)"/.exec(message)?.[1]).toHaveLength(200);
    expect(data).toEqual({ server: "shop", name: "x".repeat(200) });
  });
});

const ann: Person = { kind: "user", id: "ann" };
const kottos: Person = { kind: "team", id: "kottos" };
const root: Person = { kind: "user", id: "root", roles: ["admin"] };

describe("rules of a gateway", () => {
  it("refuse a call with 403 before it reaches its server, and name no rule", async () => {
    const ran: string[] = [];
    const { post } = await withRules(
      [{ allow: "shop.buy", for: { team: "kottos" } }],
      [ann, kottos],
      { plugins: [house("shop", ["buy", "sell"], ran)] },
    );
    expect((await post(kottos, "/shop/buy")).status).toBe(200);
    for (const [person, tool] of [
      [kottos, "sell"],
      [ann, "buy"],
    ] as const) {
      const { status, body } = await post(person, `/shop/${tool}`);
      expect([status, body.error?.code]).toEqual([403, "forbidden"]);
      expect(JSON.stringify(body)).not.toContain("kottos");
    }
    expect(ran).toEqual(["shop.buy"]);
  });

  it("hold for resources, prompts and completions as for tools, in both eras", async () => {
    const { at } = await withRules([{ allow: "open.*" }], [ann], {
      plugins: [house("open", ["a"]), house("shut", ["b"])],
    });
    for (const connect of [connectClient, connectModernClient]) {
      const client = await connect(at, { headers: headersOf(ann) });
      const { resources } = await client.listResources();
      expect(resources.map(({ uri }) => uri)).toEqual(["open://page"]);
      const { prompts } = await client.listPrompts();
      expect(prompts.map(({ name }) => name)).toEqual(["open_hello"]);
      const { resourceTemplates } = await client.listResourceTemplates();
      expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
        "open://pages/{id}",
      ]);
      await client.readResource({ uri: "open://page" });
      await client.readResource({ uri: "open://pages/1" });
      const refused = [
        () => client.callTool({ name: "b" }),
        () => client.readResource({ uri: "shut://page" }),
        () => client.readResource({ uri: "shut://pages/1" }),
        () => client.getPrompt({ name: "shut_hello" }),
        () =>
          client.complete({
            ref: { type: "ref/prompt", name: "shut_hello" },
            argument: { name: "who", value: "" },
          }),
        () =>
          client.complete({
            ref: { type: "ref/resource", uri: "shut://pages/{id}" },
            argument: { name: "id", value: "" },
          }),
      ];
      for (const each of refused)
        await expect(each()).rejects.toMatchObject({ data: { code: "forbidden" } });
      await client.close();
    }
  });

  it("change by a reload: lists follow, clients are told, and a place is that of the file", async () => {
    const file = join(makeFolder(), "gateway.yaml");
    const write = (rules: string): Promise<void> =>
      writeFile(
        file,
        `plugins: { crowd: {}, shop: {}, admin: {}, gating: {} }\nmanagement: { mutations: true }\naccess:\n${rules}`,
      );
    await write("  - { allow: shop.buy }\n");
    const { gateway, url } = await setupGateway({
      file,
      plugins: [access, admin, gating, crowd([ann, root]), house("shop", ["buy", "sell"])],
      client: false,
    });
    const client = await connectClient(gateway.endpoints[0]!.url, { headers: headersOf(ann) });
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    expect(await names()).toEqual(["buy"]);
    const told = new Promise<void>((resolve) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
    );
    await write("  - { allow: shop.sell }\n");
    const reload = () => fetch(`${url}/_meta/reload`, { method: "POST", headers: headersOf(root) });
    expect((await reload()).status).toBe(200);
    await told;
    expect(await names()).toEqual(["sell"]);
    await expect(client.callTool({ name: "buy" })).rejects.toMatchObject({
      data: { code: "forbidden" },
    });
    await write("  - { allow: shop.sell }\n  - { allow: shop }\n");
    const refused = await reload();
    expect(refused.status).toBe(500);
    expect(await refused.text()).toMatch(/gateway\.yaml:5:\d+/);
  });
});
