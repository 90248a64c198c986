import { describe, expect, it } from "vitest";
import { claimValues } from "../../../plugins/oauth/people/claim-values.ts";
import { Program } from "./attempt.ts";
import { setupLogin } from "./kit.ts";

const has = (claims: object, name: string, value: unknown): boolean =>
  claimValues(claims as Record<string, unknown>, name).has(value);

describe("bugs-rest 15: a rule finds a role or a group", () => {
  it.each<readonly [string, object, string, string]>([
    ["of Keycloak's realm", { realm_access: { roles: ["ops"] } }, "realm_access.roles", "ops"],
    [
      "of a client",
      { resource_access: { gw: { roles: ["ops"] } } },
      "resource_access.gw.roles",
      "ops",
    ],
    [
      "of a client with dots",
      { resource_access: { "my.gw": { roles: ["ops"] } } },
      "resource_access.my.gw.roles",
      "ops",
    ],
    ["with a slash in front", { groups: ["/ops"] }, "groups", "ops"],
    ["as it is written", { groups: ["/ops"] }, "groups", "/ops"],
    ["as JSON", { "custom:groups": '["dev","ops"]' }, "custom:groups", "ops"],
    ["with commas", { "custom:groups": "dev, ops" }, "custom:groups", "ops"],
    ["with commas in brackets", { "custom:groups": "[dev, ops]" }, "custom:groups", "ops"],
    [
      "in a claim whose own name has dots",
      { "https://a.example/roles": ["ops"] },
      "https://a.example/roles",
      "ops",
    ],
    ["that is one text", { role: "ops" }, "role", "ops"],
  ])("%s", (_, claims, name, value) => {
    expect(has(claims, name, value)).toBe(true);
  });

  it.each<readonly [string, object, string, unknown]>([
    [
      "the claim with dots comes first",
      { "a.roles": ["x"], a: { roles: ["ops"] } },
      "a.roles",
      "ops",
    ],
    ["a name with a comma is no list", { email: "ops,x@evil.example" }, "email", "ops"],
    ["a nickname is no list", { nickname: "x,ops" }, "nickname", "ops"],
    ["a group below another is another", { groups: ["/a/ops"] }, "groups", "ops"],
    ["nothing of a prototype", { groups: {} }, "groups.constructor.name", "Object"],
    ["nothing of a list's length", { groups: ["a"] }, "groups.length", 1],
  ])("and no other: %s", (_, claims, name, value) => {
    expect(has(claims, name, value)).toBe(false);
  });

  it("ends, however a name and claims are made", () => {
    let claims: Record<string, unknown> = { a: 1 };
    for (let depth = 0; depth < 40; depth++) claims = { a: claims, "a.a": { a: 1 } };
    expect(has(claims, Array.from({ length: 50 }, () => "a").join("."), "x")).toBe(false);
  });

  it("at a real login: roles of a realm let people in", async () => {
    const { url, provider } = await setupLogin({
      options: { roles: { caller: { "realm_access.roles": ["mcp"] } } },
    });
    provider.accounts["ada"] = { realm_access: { roles: ["mcp"] } };
    const program = new Program(url);
    expect((await program.tokens({ name: "ada" })).access_token).toBeDefined();
  });
});
