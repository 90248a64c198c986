import { expect, it } from "vitest";
import {
  type AgentView,
  entryOf,
  type InstanceView,
  setupConsole,
  startRegistry,
  withIssuer,
} from "./kit.ts";
import { startIssuer } from "./scripted-issuer.ts";

const NOWHERE = { allowedAddresses: ["127.0.0.1"] };
const EMPTY = "No teams attached to this workspace. Go to workspace settings → Attached Teams.";

interface Picker {
  readonly agents: readonly AgentView[];
  readonly message?: string;
}

async function setupTeams(names: readonly string[]) {
  const issuer = await startIssuer();
  const running = await setupConsole(withIssuer(issuer));
  const { ask } = running;
  const teams: string[] = [];
  for (const name of names) {
    const registry = await startRegistry({
      servers: [entryOf(`ca.helu/${name}-harper`, { title: "Harper" })],
    });
    const { body } = await ask<InstanceView>("POST", "/pallas", {
      registry_url: registry.url,
      name,
    });
    teams.push(body.id);
  }
  const create = async (id: string): Promise<void> => {
    expect((await ask("POST", "/workspaces", { id, name: id })).status).toBe(201);
  };
  return { ...running, issuer, teams, create };
}

it("T009, T055, T056, T128, T137, T147: what is attached is a team, and the issuer gets the whole list each time", async () => {
  const { ask, issuer, teams, create } = await setupTeams(["Kottos"]);
  const [team] = teams;
  await create("ws_a");
  await create("ws_b");
  expect((await ask("GET", "/workspaces/ws_a")).body).toMatchObject({ teams: [] });
  const puts = (): unknown[] => issuer.of("PUT", "/workspaces/").map(({ body }) => body);
  const before = puts().length;
  const first = await ask("PUT", `/workspaces/ws_a/teams/${team}`);
  expect(first).toMatchObject({ status: 200, body: { teams: [team], in_force: true } });
  await ask("PUT", "/workspaces/ws_b/teams", { teams: [team] });
  expect(puts().slice(before)).toEqual([
    { workspace_ids: ["ws_a"] },
    { workspace_ids: ["ws_a", "ws_b"] },
  ]);
  // A second time changes nothing and asks nobody.
  await ask("PUT", `/workspaces/ws_b/teams/${team}`);
  expect(puts()).toHaveLength(before + 2);
});

it("T129: what is detached leaves the list at once", async () => {
  const { ask, issuer, teams, create } = await setupTeams(["Kottos"]);
  const [team] = teams as [string];
  await create("ws_a");
  await create("ws_b");
  for (const id of ["ws_a", "ws_b"]) await ask("PUT", `/workspaces/${id}/teams/${team}`);
  const detached = await ask("DELETE", `/workspaces/ws_a/teams/${team}`);
  expect(detached).toMatchObject({ status: 200, body: { teams: [], in_force: true } });
  expect(issuer.teams.get(team)!.workspaces).toEqual(["ws_b"]);
  await ask("PUT", "/workspaces/ws_b/teams", { teams: [] });
  expect(issuer.teams.get(team)!.workspaces).toEqual([]);
});

it("T055, T130: a workspace that is deleted leaves the lists of all its teams", async () => {
  const { ask, issuer, teams, create } = await setupTeams(["Kottos", "Mentor"]);
  await create("ws_a");
  await create("ws_b");
  for (const id of ["ws_a", "ws_b"]) await ask("PUT", `/workspaces/${id}/teams`, { teams });
  expect((await ask("DELETE", "/workspaces/ws_a")).status).toBe(204);
  for (const team of teams) expect(issuer.teams.get(team)!.workspaces).toEqual(["ws_b"]);
  // The other way round: an instance that is deleted leaves its workspaces.
  await ask("DELETE", `/pallas/${teams[0]}`);
  expect((await ask("GET", "/workspaces/ws_b")).body).toMatchObject({ teams: [teams[1]] });
});

it("T010, T138, T148, T149, P081, P083, P084: the picker has the agents of attached teams, under the names of both", async () => {
  const { ask, teams, create } = await setupTeams(["Kottos", "Mentor", "Iolaus"]);
  await create("ws_a");
  await ask("PUT", "/workspaces/ws_a/teams", { teams: [teams[1], teams[0]] });
  const picker = async (): Promise<Picker> =>
    (await ask<Picker>("GET", "/workspaces/ws_a/agents")).body;
  const labels = new Set((await picker()).agents.map(({ label }) => label));
  expect(labels).toEqual(new Set(["Kottos › Harper", "Mentor › Harper"]));
  expect(await picker()).not.toHaveProperty("message");
  await ask("DELETE", `/workspaces/ws_a/teams/${teams[1]}`);
  expect((await picker()).agents.map(({ label }) => label)).toEqual(["Kottos › Harper"]);
});

it("T150: a picker without teams says in the words of the source where to attach one", async () => {
  const { ask, create } = await setupTeams([]);
  await create("ws_a");
  expect((await ask("GET", "/workspaces/ws_a/agents")).body).toEqual({
    agents: [],
    message: EMPTY,
  });
});

it("P082: attaching reads the registry again, and one that does not answer leaves the agents of before", async () => {
  const registry = await startRegistry({ servers: [entryOf("ca.helu/one")] });
  const { ask, instance } = await setupConsole(NOWHERE);
  const { id } = (await ask<InstanceView>("POST", "/pallas", { registry_url: registry.url })).body;
  await ask("POST", "/workspaces", { id: "ws_a", name: "A" });
  registry.document = { servers: [entryOf("ca.helu/one"), entryOf("ca.helu/two")] };
  await ask("PUT", `/workspaces/ws_a/teams/${id}`);
  expect((await instance(id)).agents.map((agent) => agent.server_id)).toEqual(["one", "two"]);
  registry.document = { error: "no list" };
  const { body } = await ask<InstanceView>("POST", `/pallas/${id}/refresh`);
  expect(body.agents).toHaveLength(2);
  expect(body.registry_problem).toBe("The registry does not answer with a list of agents.");
});

it("a registry that hangs holds up nothing that the issuer is to be told", async () => {
  const [issuer, registry] = [
    await startIssuer(),
    await startRegistry({ servers: [entryOf("ca.helu/one")] }),
  ];
  const { ask } = await setupConsole(withIssuer(issuer, { registryTimeout: "1h" }));
  const { id } = (await ask<InstanceView>("POST", "/pallas", { registry_url: registry.url })).body;
  await ask("POST", "/workspaces", { id: "ws_a", name: "A" });
  registry.document = () => {};
  const attached = await ask("PUT", `/workspaces/ws_a/teams/${id}`);
  expect(attached).toMatchObject({ status: 200, body: { in_force: true } });
  expect(issuer.teams.get(id)!.workspaces).toEqual(["ws_a"]);
  const detached = await ask("DELETE", `/workspaces/ws_a/teams/${id}`);
  expect(detached).toMatchObject({ status: 200, body: { in_force: true } });
});

it("T177: two workspaces with teams of their own share no agent and no library list", async () => {
  const { ask, issuer, teams, create } = await setupTeams(["Work", "Personal"]);
  await create("ws_work");
  await create("ws_home");
  await ask("PUT", "/workspaces/ws_work/teams", { teams: [teams[0]] });
  await ask("PUT", "/workspaces/ws_home/teams", { teams: [teams[1]] });
  const lists = teams.map((team) => issuer.teams.get(team)!.workspaces);
  expect(lists).toEqual([["ws_work"], ["ws_home"]]);
  const labels = async (id: string): Promise<(string | undefined)[]> =>
    (await ask<Picker>("GET", `/workspaces/${id}/agents`)).body.agents.map(({ label }) => label);
  expect([await labels("ws_work"), await labels("ws_home")]).toEqual([
    ["Work › Harper"],
    ["Personal › Harper"],
  ]);
});

it("unknown and hostile names are 404, two of one id 409, too many 429", async () => {
  const { ask, register } = await setupConsole({ ...NOWHERE, maxWorkspaces: 2, maxInstances: 1 });
  const { id } = await register("Kottos");
  const create = async (name: string): Promise<number> =>
    (await ask("POST", "/workspaces", { id: name, name })).status;
  expect([await create("ws_a"), await create("ws_a"), await create("ws_b")]).toEqual([
    201, 409, 201,
  ]);
  expect([await create("ws_c"), await create("../x"), await create("a\u0000")]).toEqual([
    429, 422, 422,
  ]);
  expect((await ask("POST", "/pallas", { name: "Two" })).status).toBe(429);
  expect((await ask("POST", "/pallas", {})).status).toBe(422);
  expect((await ask("POST", "/pallas", { name: "two\nlines" })).status).toBe(422);
  const unknown = "00000000-0000-4000-8000-000000000000";
  const paths = [
    `/workspaces/ws_a/teams/${unknown}`,
    `/workspaces/ws_x/teams/${id}`,
    `/workspaces/%00/teams/${id}`,
    "/workspaces/ws_a/teams/%00",
  ];
  for (const path of paths) expect([path, (await ask("PUT", path)).status]).toEqual([path, 404]);
  const replaced = await ask("PUT", "/workspaces/ws_a/teams", { teams: [id, unknown] });
  expect(replaced.status).toBe(404);
  expect((await ask("GET", "/workspaces/ws_a")).body).toMatchObject({ teams: [] });
});

it("the list of workspaces has the teams of each, in the order in which they were attached", async () => {
  const { ask, teams, create } = await setupTeams(["Kottos", "Mentor"]);
  const [kottos, mentor] = teams;
  for (const id of ["ws_a", "ws_b", "ws_c"]) await create(id);
  await ask("PUT", `/workspaces/ws_a/teams/${mentor}`);
  await ask("PUT", `/workspaces/ws_a/teams/${kottos}`);
  await ask("PUT", `/workspaces/ws_c/teams/${kottos}`);
  const { body } = await ask<{ workspaces: { id: string; teams: string[] }[] }>(
    "GET",
    "/workspaces",
  );
  expect(body.workspaces.map((each) => [each.id, each.teams])).toEqual([
    ["ws_a", [mentor, kottos]],
    ["ws_b", []],
    ["ws_c", [kottos]],
  ]);
  const stranger = "00000000-0000-4000-8000-000000000000";
  expect(await ask("PUT", "/workspaces/ws_b/teams", { teams: [kottos, stranger] })).toMatchObject({
    status: 404,
    body: { error: { code: "not_found", data: { instances: [stranger] } } },
  });
});
