import { expect, it } from "vitest";
import access, { type Explanation } from "../../../plugins/access/index.ts";
import { postModern } from "../mcp/kit.ts";
import { populate, startIssuer } from "./gateway-kit.ts";
import { ADMIN, KOTTOS } from "./kit.ts";

const MASTER = "the-master-key-of-this-gateway";

async function start() {
  const config = { auth: { apiKey: MASTER } };
  const rules = [
    { allow: ["reader.sees"], for: { team: [KOTTOS] } },
    { allow: ["*"], for: { role: "admin" } },
  ];
  const started = await startIssuer({}, config, [[access, { rules }]]);
  const { jwt, opaque } = await populate(started.issuer);
  const explain = async (principal: string, library = "lib-a"): Promise<Explanation> => {
    const query = new URLSearchParams({ principal, server: "reader", tool: "sees", library });
    const response = await fetch(`${started.url}/_meta/access/explain?${query.toString()}`, {
      headers: { authorization: `Bearer ${MASTER}` },
    });
    expect(response.status).toBe(200);
    return (await response.json()) as Explanation;
  };
  return { ...started, jwt, opaque, explain };
}

const verdictsOf = ({ steps }: Explanation): Record<string, string> =>
  Object.fromEntries(steps.map(({ step, verdict }) => [step, verdict]));

it("a team is explained by its live rows: libraries, deletion, and that there is none", async () => {
  const { issuer, explain } = await start();
  const there = await explain(`team:${KOTTOS}`);
  expect(there.allowed).toBe(true);
  expect(verdictsOf(there)).toMatchObject({
    credential: "pass",
    active: "pass",
    rule: "pass",
    libraries: "pass",
  });
  expect(verdictsOf(await explain(`team:${KOTTOS}`, "lib-c"))).toMatchObject({ libraries: "fail" });
  await issuer.directory.teams.setWorkspaces(ADMIN, KOTTOS, ["ws-2"]);
  expect(verdictsOf(await explain(`team:${KOTTOS}`, "lib-c"))).toMatchObject({ libraries: "pass" });
  await issuer.directory.teams.deactivate(ADMIN, KOTTOS);
  const deleted = await explain(`team:${KOTTOS}`);
  expect(deleted.allowed).toBe(false);
  expect(verdictsOf(deleted)).toMatchObject({ credential: "pass", active: "fail", rule: "pass" });
  const unknown = await explain("team:4f6f5b1e-0000-4000-8000-000000000000");
  expect(unknown.allowed).toBe(false);
  expect(verdictsOf(unknown)).toMatchObject({ credential: "fail" });
});

it("a user is explained by what its tokens see, and by whether it is active", async () => {
  const { issuer, explain } = await start();
  const there = await explain("user:ada", "lib-d");
  expect(verdictsOf(there)).toMatchObject({
    credential: "pass",
    active: "pass",
    rule: "fail",
    libraries: "pass",
  });
  expect(verdictsOf(await explain("user:ada", "lib-c"))).toMatchObject({ libraries: "fail" });
  await issuer.directory.users.update(ADMIN, "ada", { active: false });
  expect(verdictsOf(await explain("user:ada"))).toMatchObject({ active: "fail" });
  expect(verdictsOf(await explain("user:of-another-issuer"))).toMatchObject({
    credential: "unknown",
  });
});

it("what is explained is what a call does", async () => {
  const { gateway, jwt, opaque, explain } = await start();
  const call = async (bearer: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${bearer}` };
    const params = { name: "sees", arguments: {} };
    const url = new URL(gateway.endpoints[0]!.url);
    return (await postModern(url, 1, "tools/call", params, headers)).json();
  };
  const libraries = ["lib-a", "lib-b"];
  expect(await call(jwt)).toMatchObject({ result: { structuredContent: { libraries } } });
  expect((await explain(`team:${KOTTOS}`)).allowed).toBe(true);
  expect(await call(opaque)).toMatchObject({ error: { data: { code: "forbidden" } } });
  expect((await explain("user:ada")).allowed).toBe(false);
});
