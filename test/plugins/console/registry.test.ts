import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { entryOf, type InstanceView, setupConsole, startRegistry } from "./kit.ts";

const OPTIONS = { allowedAddresses: ["127.0.0.1"] };

it("P012, P077, P078, P079, P080, T133: one URL registers an instance with all its agents", async () => {
  const registry = await startRegistry({
    servers: [
      entryOf("ca.helu/pallas-research", {
        title: "Research Agent",
        description: "Web search",
        icons: [{ src: "/icons/research.svg", sizes: "any" }, { src: "second" }],
      }),
      entryOf("ca.helu/pallas-infra"),
    ],
  });
  const { ask } = await setupConsole(OPTIONS);
  const made = await ask<InstanceView>("POST", "/pallas", { registry_url: `${registry.url}/` });
  expect(made.status).toBe(201);
  expect(made.headers.get("location")).toBe(`/api/v1/pallas/${made.body.id}`);
  expect(made.body).toMatchObject({ registry_url: registry.url, name: "127.0.0.1" });
  expect(registry.paths).toEqual(["/.well-known/mcp/server.json"]);
  expect(made.body.agents).toMatchObject([
    { server_id: "pallas-research", title: "Research Agent", description: "Web search" },
    { server_id: "pallas-infra", title: "ca.helu/pallas-infra", description: null, icon: null },
  ]);
  const listed = await ask<{ instances: InstanceView[] }>("GET", "/instances");
  expect(listed.body.instances).toEqual([made.body]);
  const twice = await ask("POST", "/instances", { registry_url: registry.url });
  expect(twice.status).toBe(409);
});

it("P023, P028, P030, P041: id, icon and endpoint are those of the source, and a wrong entry spoils no other", async () => {
  const remotes = [
    { type: "sse", url: "http://127.0.0.1/sse" },
    { type: "streamable-http", url: "http://127.0.0.1/first" },
    { type: "streamable-http", url: "http://127.0.0.1/second" },
  ];
  const registry = await startRegistry({
    servers: [
      entryOf("a/b/c", { remotes, icons: [{ src: "icons/relative.svg" }] }),
      entryOf("another/c"),
      entryOf("a/no-endpoint", { remotes: [{ type: "sse", url: "http://127.0.0.1" }] }),
      entryOf("a/scheme", { remotes: [{ type: "streamable-http", url: "file:///etc/passwd" }] }),
      entryOf("a/login", { remotes: [{ type: "streamable-http", url: "http://a:b@127.0.0.1" }] }),
      entryOf("ends-with/"),
      { server: null },
      "text",
      entryOf("a/last"),
    ],
  });
  const { ask } = await setupConsole(OPTIONS);
  const { body } = await ask<InstanceView>("POST", "/pallas", { registry_url: registry.url });
  expect(body.agents).toMatchObject([
    { server_id: "c", icon: "icons/relative.svg", url: "http://127.0.0.1/first" },
    { server_id: "last" },
  ]);
});

it("T190: the chat of the console is an instance without a registry", async () => {
  const { register, instance } = await setupConsole(OPTIONS);
  const { id } = await register("Console chat");
  expect(await instance(id)).toMatchObject({ registry_url: null, agents: [] });
});

const answer =
  (status: number, body: string, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void => {
    response.writeHead(status, headers);
    response.end(body);
  };

const BAD: readonly (readonly [what: string, document: unknown, status: number])[] = [
  ["is away", (response: ServerResponse) => response.destroy(), 502],
  ["answers 500", answer(500, ""), 502],
  ["redirects", answer(302, "", { location: "http://169.254.169.254/" }), 502],
  ["answers with HTML", answer(200, "<html>"), 502],
  ["answers with too much", answer(200, " ".repeat(2_000_000)), 502],
  ["nests too deep", answer(200, `${"[".repeat(100)}${"]".repeat(100)}`), 502],
  ["has no list", { agents: [] }, 502],
  ["does not answer", () => {}, 504],
];

it.each(BAD)("a registry that %s registers nothing", async (_, document, status) => {
  const registry = await startRegistry(document);
  const { ask } = await setupConsole({ ...OPTIONS, registryTimeout: "300ms" });
  const refused = await ask("POST", "/pallas", { registry_url: registry.url });
  expect(refused.status).toBe(status);
  expect((await ask("GET", "/pallas")).body).toEqual({ instances: [] });
});

it("a registry is asked at public addresses only, unless the operator allows others", async () => {
  const { ask } = await setupConsole({});
  const urls = [
    "http://127.0.0.1:9/",
    "http://localhost:9/",
    "http://[::1]:9/",
    "http://169.254.169.254/latest",
    "http://user:password@example.com/",
    "ftp://example.com/",
    "nothing",
  ];
  for (const url of urls) {
    const { status, body } = await ask("POST", "/pallas", { registry_url: url });
    expect([url, status, (body["error"] as { code: string }).code]).toEqual([url, 422, "invalid"]);
  }
});

it("agents beyond the limit are left out", async () => {
  const servers = Array.from({ length: 12 }, (_, at) => entryOf(`a/agent-${at}`));
  const registry = await startRegistry({ servers });
  const { ask } = await setupConsole({ ...OPTIONS, maxAgents: 5 });
  const { body } = await ask<InstanceView>("POST", "/pallas", { registry_url: registry.url });
  expect(body.agents.map((agent) => agent.server_id)).toEqual(
    [0, 1, 2, 3, 4].map((at) => `agent-${at}`),
  );
});
