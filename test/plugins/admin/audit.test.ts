import { expect, it } from "vitest";
import type { Mutation } from "../../../core/index.ts";
import { MANAGED, SCRIPTED, startManaged, whenReady } from "./kit.ts";

it("the audit names what was added, and what a bulk request switches, refused or not", async () => {
  const managed = await startManaged(MANAGED);
  const { gateway, meta } = managed;
  // A tool can be switched once its server has listed it.
  await whenReady(managed, "alpha");
  const mutations: Mutation[] = [];
  gateway.hook("mutation", (mutation) => void mutations.push(mutation));
  const bulk = (server: string) =>
    meta("POST", "/bulk", {
      changes: [
        { server, enabled: false },
        { server, tool: "echo", enabled: true },
      ],
    });
  const added = { name: "new", url: "http://127.0.0.1:9/mcp", enabled: false };
  expect((await meta("POST", "/servers", added)).status).toBe(201);
  expect((await meta("POST", "/servers", added)).status).toBe(409);
  expect((await bulk("alpha")).status).toBe(200);
  expect((await bulk("nobody")).status).toBe(404);
  expect(mutations.map(({ target, outcome }) => ({ ...target, outcome }))).toEqual([
    { server: "new", outcome: "ok" },
    { server: "new", outcome: "refused" },
    { enable: "alpha/echo", disable: "alpha", outcome: "ok" },
    { enable: "nobody/echo", disable: "nobody", outcome: "refused" },
  ]);
  expect(JSON.stringify(mutations)).not.toContain(SCRIPTED);
});
