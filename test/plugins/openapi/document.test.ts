import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it, onTestFinished } from "vitest";
import { get, startOpenapi } from "./support.ts";

/** Six servers from npm, as their packages run. */
async function realServers() {
  const folder = await mkdtemp(join(tmpdir(), "openapi-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const bin = (name: string) => `node_modules/.bin/${name}`;
  return {
    everything: { command: bin("mcp-server-everything"), args: ["stdio"] },
    filesystem: { command: bin("mcp-server-filesystem"), args: [folder] },
    memory: {
      command: bin("mcp-server-memory"),
      env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
    },
    thinking: { command: bin("mcp-server-sequential-thinking") },
    budget: { command: bin("mcp-budget-allocator-server"), args: ["--stdio"] },
    monitor: { command: bin("mcp-system-monitor-server"), args: ["--stdio"] },
  };
}

async function problemsOf(document: unknown): Promise<unknown> {
  const { valid, errors } = await new Validator().validate(document as object);
  return valid ? [] : errors;
}

describe("OpenAPI documents", () => {
  it("are valid for six real servers and all of them together", async () => {
    const servers = await realServers();
    const { url } = await startOpenapi({}, [], { servers });
    for (const name of Object.keys(servers)) {
      const { status, body } = await get(`${url}/${name}/openapi.json`);
      expect(status).toBe(200);
      expect(body.openapi).toBe("3.1.0");
      expect({ name, tools: Object.keys(body.paths).length > 0 }).toEqual({ name, tools: true });
      expect({ name, problems: await problemsOf(body) }).toEqual({ name, problems: [] });
    }
    const { body } = await get(`${url}/openapi.json`);
    expect(await problemsOf(body)).toEqual([]);
    expect(body.tags.map((tag: { name: string }) => tag.name)).toEqual(Object.keys(servers));
    const ids = Object.values(body.paths as Record<string, Record<string, { operationId: string }>>)
      .flatMap((path) => Object.values(path))
      .map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
