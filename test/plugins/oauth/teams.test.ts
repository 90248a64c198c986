import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, it, onTestFinished } from "vitest";
import oauth from "../../../plugins/oauth/index.ts";
import oauthResource from "../../../plugins/oauth-resource/index.ts";
import { RealProvider, SECRET } from "../../fixtures/oidc-provider.ts";
import { ask, who } from "../oauth-resource/kit.ts";
import { startIssuer } from "../team-auth/gateway-kit.ts";
import { ADMIN, KOTTOS } from "../team-auth/kit.ts";
import { Program } from "./attempt.ts";

const BRIAREOS = "a3f10000-0000-4000-8000-00000000000b";
/** Of the person ada, who logs in at the provider that the gateway calls "login". */
const ADA = "login:ada";

/** A gateway with two teams and their libraries; ada reads one of each, and nobody knows eve. */
async function setupTeams() {
  const provider = await RealProvider.start();
  const { gateway, url, issuer, sees } = await startIssuer({}, {}, [
    who,
    oauthResource,
    [
      oauth,
      {
        provider: { issuer: provider.url, clientId: "gateway", clientSecret: SECRET },
        roles: { caller: "everyone" },
        secretKeys: ["a key of the tests, long enough for it"],
      },
    ],
  ]);
  await provider.serve(`${url}/oauth/callback`);
  const { users, libraries, memberships, teams } = issuer.directory;
  for (const id of ["boss", ADA]) await users.create(ADMIN, { id });
  for (const [uid, workspaceId, team] of [
    ["lib-a", "ws-1", KOTTOS],
    ["lib-b", "ws-2", BRIAREOS],
  ] as const) {
    await libraries.create(ADMIN, { uid, workspaceId, owner: "boss" });
    await teams.create(ADMIN, { id: team, name: team });
    await teams.setWorkspaces(ADMIN, team, [workspaceId]);
    await memberships.grant(ADMIN, { user: ADA, library: uid, role: "reader" });
  }
  return { gateway, url, endpoint: `${url}/mcp`, issuer, sees };
}

async function connect(endpoint: string, token: string) {
  const client = new Client({ name: "test", version: "1" });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(endpoint), { requestInit: { headers } }),
  );
  onTestFinished(() => client.close());
  return {
    client,
    sees: async () => (await client.callTool({ name: "sees" })).structuredContent,
  };
}

it("a person who logs in is the user of that name, and sees at each moment what the memberships say", async () => {
  const { gateway, url, endpoint, issuer, sees } = await setupTeams();
  const { memberships, tokens, users } = issuer.directory;
  const program = new Program(url);
  const { access_token: access } = await program.tokens();
  const ada = await connect(endpoint, access!);
  expect(await ada.sees()).toEqual({ libraries: ["lib-a", "lib-b"] });

  await memberships.revoke(ADMIN, { user: ADA, library: "lib-b", role: "reader" });
  expect(await ada.sees()).toEqual({ libraries: ["lib-a"] });
  await memberships.grant(ADMIN, { user: ADA, library: "lib-b", role: "manager" });
  expect(await ada.sees()).toEqual({ libraries: ["lib-a", "lib-b"] });

  // Her tokens are hers: the same principal, with what each of them may see.
  const input = { user: ADA, name: "laptop", libraries: ["lib-b"] };
  const { value: token } = await tokens.create(ADMIN, input);
  expect(await sees(token.secret)).toEqual(["lib-b"]);
  expect((await ask(`${url}/who`, token.secret)).body).toEqual({ ref: `user:${ADA}` });
  expect(await issuer.service.explain(`user:${ADA}`)).toMatchObject({
    libraries: ["lib-a", "lib-b"],
  });

  const ended = ada.client.callTool({ name: "wait" }).catch((error: Error) => error.message);
  await expect.poll(() => gateway.inFlight).toBe(1);
  await users.update(ADMIN, ADA, { active: false });
  expect(await ended).toContain("revoked");
  expect(await ask(endpoint, access)).toMatchObject({
    status: 401,
    body: { error: { message: expect.stringContaining("disabled") as string } },
  });
});

it("a person whom no team knows comes in and sees no library, whatever the name", async () => {
  const { url, endpoint, issuer } = await setupTeams();
  await issuer.directory.users.create(ADMIN, { id: "eve" });
  const { libraries } = issuer.directory;
  await libraries.create(ADMIN, { uid: "lib-e", workspaceId: "ws-1", owner: "eve" });
  const { access_token: access } = await new Program(url).tokens({ name: "eve" });
  const eve = await connect(endpoint, access!);
  expect(await eve.sees()).toEqual({ libraries: [] });
  await issuer.directory.users.create(ADMIN, { id: "login:eve" });
  await issuer.directory.memberships.grant(ADMIN, {
    user: "login:eve",
    library: "lib-a",
    role: "reader",
  });
  expect(await eve.sees()).toEqual({ libraries: ["lib-a"] });
});
