import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { MANAGED, SCRIPTED, startManaged } from "./kit.ts";

const statuses = (answers: readonly { readonly status: number }[]): number[] =>
  answers.map(({ status }) => status).toSorted((left, right) => left - right);

describe("changes of one server at the same time", () => {
  it("adds it once: one 201, the rest 409, and the one that was answered is the one that runs", async () => {
    const managed = await startManaged(MANAGED);
    const answers = await Promise.all(
      ["one", "two", "three", "four"].map(() =>
        managed.meta("POST", "/servers", { name: "beta", command: "node", args: [SCRIPTED] }),
      ),
    );
    expect(statuses(answers)).toEqual([201, 409, 409, 409]);
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused.map(({ body }) => body.error.code)).toEqual(["exists", "exists", "exists"]);
    const config = parse(await readFile(managed.file, "utf8")) as { servers: object };
    expect(Object.keys(config.servers)).toEqual(["alpha", "beta"]);
  });

  it("adds every other one beside it", async () => {
    const managed = await startManaged(MANAGED);
    const answers = await Promise.all(
      ["b", "c", "b", "c"].map((name) =>
        managed.meta("POST", "/servers", { name, command: "node", args: [SCRIPTED] }),
      ),
    );
    expect(statuses(answers)).toEqual([201, 201, 409, 409]);
  });

  it("deletes it once: one 200, the rest 404", async () => {
    const managed = await startManaged(MANAGED);
    const answers = await Promise.all(
      [1, 2, 3].map(() => managed.meta("DELETE", "/servers/alpha")),
    );
    expect(statuses(answers)).toEqual([200, 404, 404]);
  });
});

describe("names that no server can have", () => {
  it.each(["..", ".", "__proto__", "constructor", "toString", "hasOwnProperty"])(
    "refuses to add %s, and the file keeps its bytes",
    async (name) => {
      const managed = await startManaged(MANAGED);
      const before = await managed.digest();
      const text = `{"name":${JSON.stringify(name)},"command":"node","args":[${JSON.stringify(SCRIPTED)}]}`;
      const { status, body } = await managed.meta("POST", "/servers", text);
      expect([status, body.error.code]).toEqual([422, "invalid"]);
      expect(await managed.digest()).toBe(before);
    },
  );
});
