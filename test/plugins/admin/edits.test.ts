import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { MANAGED, startManaged, type ManagedGateway } from "./kit.ts";

const EDITABLE = MANAGED.replace("  admin:\n", "  admin:\n    allowConfigEdits: true\n").replace(
  "args: [",
  "env: { TOKEN: literal-secret }, args: [",
);

const put = async (
  managed: ManagedGateway,
  body: object,
  version?: string,
  path = "",
): Promise<{ status: number; body: Record<string, never> }> => {
  const response = await fetch(`${managed.url}/_meta/config${path}`, {
    method: path === "" ? "PUT" : "POST",
    headers: {
      "content-type": "application/json",
      ...(version !== undefined && { "if-match": `"${version}"` }),
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, never> };
};

const edit = { edits: [{ path: ["name"], value: "renamed" }] };

it("says where each value comes from, without secrets", async () => {
  const managed = await startManaged(EDITABLE);
  const { body } = await managed.meta("GET", "/config/origin");
  expect(body).toMatchObject({ file: managed.file, generation: 1, editable: true, why: null });
  const of = (...path: unknown[]): object =>
    body.values.find(
      (each: { path: unknown }) => JSON.stringify(each.path) === JSON.stringify(path),
    );
  expect(of("name")).toEqual({
    path: ["name"],
    value: "managed",
    from: "file",
    place: { file: "gateway.yaml", line: 2, column: 7 },
  });
  expect(of("servers", "alpha", "env", "TOKEN")).toMatchObject({
    value: "***",
    from: "file",
    place: { line: 9 },
  });
  expect(of("timeouts", "default")).toMatchObject({ from: "default", place: null });
  expect(JSON.stringify(body)).not.toContain("literal-secret");
});

it("edits the file for the version the edit was made for, with comments kept", async () => {
  const managed = await startManaged(EDITABLE);
  const { version } = (await managed.meta("GET", "/config/origin")).body;
  const checked = await put(
    managed,
    { edits: [{ path: ["servers", "beta"], value: { url: "http://127.0.0.1:9/mcp" } }] },
    undefined,
    "/check",
  );
  expect(checked.body).toMatchObject({ ok: true, servers: { added: ["beta"] } });
  expect(managed.gateway.info.generation).toBe(1);
  const changed = await put(
    managed,
    { edits: [{ path: ["timeouts", "default"], value: "45s" }] },
    version,
  );
  expect(changed).toMatchObject({ status: 200, body: { applied: true, generation: 2 } });
  const text = await readFile(managed.file, "utf8");
  expect(text).toContain("# the gateway of the team");
  expect(text).toContain("# does what it is told");
  expect(text).toContain("literal-secret");
  expect(managed.gateway.config.timeouts.default).toBe(45_000);
  const removal = { edits: [{ path: ["timeouts", "default"] }] };
  expect((await put(managed, removal, undefined, "/check")).status).toBe(200);
  // The second of two that were made for one version is refused.
  const late = await put(managed, edit, version);
  expect(late).toMatchObject({
    status: 409,
    body: { error: { code: "exists", data: { reason: "changed" } } },
  });
});

it("what is refused changes nothing", async () => {
  const managed = await startManaged(EDITABLE);
  const before = await managed.digest();
  const { version } = (await managed.meta("GET", "/config/origin")).body;
  expect((await put(managed, edit)).status).toBe(400);
  const wrong = { edits: [{ path: ["servers", "alpha", "nonsense"], value: 1 }] };
  const refused = await put(managed, wrong, version);
  expect(refused.body["error"]).toMatchObject({
    code: "reload_failed",
    message: expect.stringContaining("nonsense"),
  });
  expect((await put(managed, wrong, undefined, "/check")).body["error"]).toMatchObject({
    code: "reload_failed",
  });
  for (const bad of [{ edits: [] }, { edits: [{ path: [] }] }, { text: "name: x" }])
    expect((await put(managed, bad, version)).status).toBe(422);
  expect(await managed.digest()).toBe(before);
  expect(managed.gateway.info.generation).toBe(1);
});

it("is off unless the config says otherwise, and off with mutations", async () => {
  const managed = await startManaged(MANAGED);
  const { body } = await managed.meta("GET", "/config/origin");
  expect(body).toMatchObject({
    editable: false,
    why: { hint: expect.stringContaining("allowConfigEdits") },
  });
  expect((await put(managed, edit, body.version)).status).toBe(403);
  expect((await put(managed, edit, undefined, "/check")).status).toBe(403);
  const closed = await startManaged(EDITABLE.replace("mutations: true", "mutations: false"));
  const { version } = (await closed.meta("GET", "/config/origin")).body;
  expect((await put(closed, edit, version)).body["error"]).toMatchObject({ code: "read_only" });
});

it.each([
  ["2,000 values", { path: ["name"], value: Array.from({ length: 2_001 }, () => 1) }],
  ["200,000 characters in a text", { path: ["name"], value: "a".repeat(200_000) }],
  ["200,000 characters in a key", { path: ["name"], value: { ["a".repeat(200_000)]: 1 } }],
])("S1-1: edits of more than %s are refused before YAML reads them", async (_kind, long) => {
  const managed = await startManaged(EDITABLE);
  const { version } = (await managed.meta("GET", "/config/origin")).body;
  for (const path of ["", "/check"]) {
    const { status, body } = await put(managed, { edits: [long] }, version, path);
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toMatch(/may hold at most 2\d*,000 (values|characters); edit the/);
  }
  expect(managed.gateway.info.generation).toBe(1);
});
