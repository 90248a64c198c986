import { expect, it } from "vitest";
import { z } from "zod";
import { definePlugin, type Identity } from "../../../core/index.ts";
import { Authenticators } from "../../../core/kit.ts";
import type { AuthenticatorDefinition } from "../../../core/internal.ts";
import { setupGateway } from "../../../core/testing/index.ts";

const ADA: Identity = { id: "ada", kind: "user", roles: new Set(["admin"]) };
const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** A plugin whose authenticator is what its option says, and a route that tells who asks. */
function people(given: (isChanged: boolean) => AuthenticatorDefinition) {
  return definePlugin({
    name: "people",
    config: z.strictObject({ isChanged: z.boolean().default(false) }),
    setup(gateway) {
      gateway.add(Authenticators, given(gateway.config.isChanged));
      gateway.route("GET", "/who", { access: "principal", mutates: false }, ({ context }) => ({
        ref: context.principal.ref,
      }));
    },
  });
}

const known = (more: object = {}): AuthenticatorDefinition => ({
  name: "people",
  authenticate: ({ headers }) => (headers["authorization"] === "Bearer ada" ? ADA : undefined),
  ...more,
});
const misfit = (value: unknown): AuthenticatorDefinition => value as AuthenticatorDefinition;

it.each([
  ["a list", [["user:ada", "x"]]],
  ["an object", { "user:ada": "x" }],
  ["a set", new Set(["user:ada"])],
  ["a text", "user:ada"],
  ["a number", 7],
])("grants that are %s refuse the config, and the one before stays in force", async (_, grants) => {
  const { gateway, url } = await setupGateway({
    plugins: [people((isChanged) => known(isChanged ? { grants } : {}))],
    client: false,
  });
  const { written } = gateway;
  const plugins = { ...written.plugins, people: { isChanged: true } };
  await expect(gateway.apply({ ...written, plugins })).rejects.toMatchObject({
    code: "reload_failed",
    message: expect.stringContaining("grants are a Map") as string,
  });
  expect(gateway.info.generation).toBe(1);
  expect((await fetch(`${url}/who`, bearing("ada"))).status).toBe(200);
});

it("grants that cannot be read refuse a reload before anything of it is in force", async () => {
  const grants = new Map([["user:ada", "one"]]);
  const { gateway, url } = await setupGateway({
    plugins: [people(() => known({ grants }))],
    client: false,
  });
  Object.assign(grants, {
    [Symbol.iterator]: () => {
      throw new Error("no list");
    },
  });
  await expect(gateway.apply(gateway.written)).rejects.toMatchObject({ code: "reload_failed" });
  expect(gateway.info.generation).toBe(1);
  expect((await fetch(`${url}/who`, bearing("ada"))).status).toBe(200);
});

class Directory implements AuthenticatorDefinition {
  readonly name = "people";
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  authenticate({ headers }: Parameters<AuthenticatorDefinition["authenticate"]>[0]) {
    return headers["authorization"] === `Bearer ${this.#token}` ? ADA : undefined;
  }
}

it("an authenticator that is a class beside the others keeps its methods", async () => {
  const { url } = await setupGateway({
    plugins: [people(() => known({ among: () => new Directory("eve") }))],
    client: false,
  });
  expect(await (await fetch(`${url}/who`, bearing("eve"))).json()).toEqual({ ref: "user:ada" });
  expect((await fetch(`${url}/who`, bearing("ada"))).status).toBe(401);
});

it.each([
  ["nothing", () => undefined],
  ["a promise", () => Promise.resolve(known())],
  ["a promise that fails", () => Promise.reject(new Error("later"))],
  ["a part of one", () => ({ name: "people" })],
  ["grants that are no Map", () => known({ grants: [] })],
] as [string, () => unknown][])(
  "an authenticator that is %s beside the others is refused",
  async (_, among) => {
    await expect(
      setupGateway({ plugins: [people(() => misfit(known({ among })))], client: false }),
    ).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining('"people"') as string,
    });
  },
);
