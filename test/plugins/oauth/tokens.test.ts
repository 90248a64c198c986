import { describe, expect, it } from "vitest";
import { startClock } from "../../fixtures/clock.ts";
import { ask, openSession } from "../oauth-resource/kit.ts";
import { Program } from "./attempt.ts";
import { newBrowser, setupLogin } from "./kit.ts";

/** A stream of a session, and how it ends. */
async function openStream(
  endpoint: string,
  token: string,
): Promise<{ readonly ended: Promise<string> }> {
  const session = await openSession(endpoint, token);
  const response = await fetch(endpoint, {
    headers: {
      authorization: `Bearer ${token}`,
      accept: "text/event-stream",
      "mcp-session-id": session,
    },
  });
  expect(response.status).toBe(200);
  return { ended: response.text().catch(() => "cut") };
}

async function setupProgram(rig: Parameters<typeof setupLogin>[0] = {}) {
  const gateway = await setupLogin(rig);
  const program = new Program(gateway.url);
  await program.register();
  return { ...gateway, program };
}

describe("a code", () => {
  it.each([
    ["another verifier", { code_verifier: "w".repeat(43) }, "invalid_grant"],
    ["a short verifier", { code_verifier: "w" }, "invalid_grant"],
    ["no verifier (downgrade)", { code_verifier: undefined }, "invalid_request"],
    ["another redirect URI", { redirect_uri: "http://localhost:1/callback" }, "invalid_grant"],
    ["another resource", { resource: "https://other.example/mcp" }, "invalid_target"],
    ["another program", { client_id: "cli" }, "invalid_grant"],
    ["an unknown program", { client_id: "nobody" }, "invalid_client"],
    ["another grant type", { grant_type: "password" }, "unsupported_grant_type"],
  ])("does not count with %s", async (_name, fields, error) => {
    const clients = { cli: { name: "CLI", redirects: ["http://localhost/callback"] } };
    const { program } = await setupProgram({ options: { clients } });
    const code = (await program.login()).get("code")!;
    const { status, body } = await program.redeem(code, fields);
    expect(body).toMatchObject({ error });
    expect(body.access_token).toBeUndefined();
    expect(status).toBe(error === "invalid_client" ? 401 : 400);
  });

  it("is used up by a wrong verifier: whoever stole it cannot go on trying", async () => {
    const { program } = await setupProgram();
    const code = (await program.login()).get("code")!;
    await program.redeem(code, { code_verifier: "w".repeat(43) });
    expect((await program.redeem(code)).body.error).toBe("invalid_grant");
  });

  it("that is used twice ends the login that it began, with its streams", async () => {
    const { program, endpoint } = await setupProgram();
    const code = (await program.login()).get("code")!;
    const { body } = await program.redeem(code);
    const { ended } = await openStream(endpoint, body.access_token!);
    expect((await program.redeem(code)).body.error).toBe("invalid_grant");
    await ended;
    expect((await ask(endpoint, body.access_token)).status).toBe(401);
    expect((await program.refresh(body.refresh_token!)).body.error).toBe("invalid_grant");
  });

  it("of one program is no use to another that was given it (injection)", async () => {
    const { program, url } = await setupProgram();
    const thief = new Program(url);
    await thief.register();
    const code = (await program.login()).get("code")!;
    expect((await thief.redeem(code)).body.error).toBe("invalid_grant");
  });
});

describe("a refresh token", () => {
  it("makes the next, and counts no more itself: reuse ends the login, its streams and nobody else's", async () => {
    const { program, endpoint, url } = await setupProgram({ options: { reuseGrace: 0 } });
    const first = await program.tokens();
    const other = new Program(url);
    const others = await other.tokens({ name: "bob" });
    const second = (await program.refresh(first.refresh_token!)).body;
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect((await ask(endpoint, second.access_token)).status).toBe(200);
    const { ended } = await openStream(endpoint, second.access_token!);
    const foreign = await openStream(endpoint, others.access_token!);
    const reused = await program.refresh(first.refresh_token!);
    expect(reused).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    await ended;
    expect((await ask(endpoint, second.access_token)).status).toBe(401);
    expect((await program.refresh(second.refresh_token!)).body.error).toBe("invalid_grant");
    expect((await ask(endpoint, others.access_token)).status).toBe(200);
    expect(await Promise.race([foreign.ended, Promise.resolve("open")])).toBe("open");
  });

  it("that is refreshed by two at once is answered alike for reuseGrace", async () => {
    const { program } = await setupProgram({ options: { reuseGrace: "1m" } });
    const { refresh_token: token } = await program.tokens();
    const both = await Promise.all([program.refresh(token!), program.refresh(token!)]);
    const [one, two] = both.map(({ body }) => body.refresh_token);
    expect(one).toBe(two);
    expect((await program.refresh(one!)).status).toBe(200);
    // The first is older than the last by now.
    expect((await program.refresh(token!)).body.error).toBe("invalid_grant");
    expect((await program.refresh(two!)).body.error).toBe("invalid_grant");
  });

  it("that is used twice counts as stolen after ten seconds, where nothing else is set", async () => {
    const { program } = await setupProgram();
    const passTime = startClock();
    const { refresh_token: token } = await program.tokens();
    const { refresh_token: next } = (await program.refresh(token!)).body;
    passTime(9_000);
    expect((await program.refresh(token!)).body.refresh_token).toBe(next);
    passTime(2_000);
    expect((await program.refresh(token!)).body.error).toBe("invalid_grant");
    expect((await program.refresh(next!)).body.error).toBe("invalid_grant");
  });

  it("of two that use it at once without reuseGrace, one ends the login", async () => {
    const { program } = await setupProgram({ options: { reuseGrace: 0 } });
    const { refresh_token: token } = await program.tokens();
    const both = await Promise.all([program.refresh(token!), program.refresh(token!)]);
    expect(both.filter(({ status }) => status === 200)).toHaveLength(1);
    const kept = both.find(({ status }) => status === 200)!.body.refresh_token;
    expect((await program.refresh(kept!)).body.error).toBe("invalid_grant");
  });

  it("is nothing to another program, and that ends nothing", async () => {
    const { program, url } = await setupProgram();
    const { refresh_token: token } = await program.tokens();
    const thief = new Program(url);
    await thief.register();
    expect((await thief.refresh(token!)).body.error).toBe("invalid_grant");
    expect((await program.refresh(token!)).status).toBe(200);
  });

  it("that was never made ends nothing, whatever login it names", async () => {
    const { program } = await setupProgram();
    const { refresh_token: token } = await program.tokens();
    const [head, turn] = token!.split(".");
    for (const forged of [
      `${head}.9.${"A".repeat(43)}`,
      `${head}.${turn}.x`,
      `${head}.${turn}`,
      "ppr_",
      head!,
    ])
      expect((await program.refresh(forged)).body.error).toBe("invalid_grant");
    expect((await program.refresh(token!)).status).toBe(200);
  });
});

describe("a login ends", () => {
  it.each([["refresh_token" as const], ["access_token" as const]])(
    "when the program takes its %s back, in the middle of a stream",
    async (kind) => {
      const { program, endpoint } = await setupProgram();
      const tokens = await program.tokens();
      const { ended } = await openStream(endpoint, tokens.access_token!);
      const revoked = await program.post("/oauth/revoke", {
        token: tokens[kind],
        client_id: program.id,
      });
      expect(revoked.status).toBe(200);
      await ended;
      expect((await ask(endpoint, tokens.access_token)).status).toBe(401);
      expect((await program.refresh(tokens.refresh_token!)).body.error).toBe("invalid_grant");
    },
  );

  it("not when another program, or nobody, takes a token back", async () => {
    const { program, endpoint, url } = await setupProgram();
    const tokens = await program.tokens();
    const other = new Program(url);
    await other.register();
    for (const token of [tokens.refresh_token, tokens.access_token, "nothing"])
      expect((await other.post("/oauth/revoke", { token, client_id: other.id })).status).toBe(200);
    expect((await ask(endpoint, tokens.access_token)).status).toBe(200);
  });

  it("when an administrator ends it, or everything of a person", async () => {
    const { program, endpoint, url } = await setupProgram({
      config: { auth: { apiKey: "the-master-key-of-the-tests" }, management: { mutations: true } },
    });
    const admin = (method: string, path: string) =>
      fetch(`${url}/_meta/oauth/${path}`, {
        method,
        headers: { authorization: "Bearer the-master-key-of-the-tests" },
      });
    const first = await program.tokens();
    const second = await program.tokens();
    const { logins } = (await (await admin("GET", "logins?subject=ada")).json()) as {
      logins: { id: string; subject: string }[];
    };
    expect(logins).toHaveLength(2);
    expect(logins[0]!.subject).toBe("ada");
    expect((await admin("DELETE", `logins/${logins[0]!.id}`)).status).toBe(200);
    expect((await admin("DELETE", `logins/${logins[0]!.id}`)).status).toBe(404);
    const states = async () =>
      Promise.all(
        [first, second].map(async ({ access_token: token }) => (await ask(endpoint, token)).status),
      );
    expect(new Set(await states())).toEqual(new Set([200, 401]));
    expect(await (await admin("DELETE", "people/ada")).json()).toEqual({ ended: 1 });
    expect(await states()).toEqual([401, 401]);
    expect((await ask(endpoint, "the-master-key-of-the-tests")).status).toBe(200);
  });
});

describe("a token", () => {
  it("is for the endpoint that was asked for, and no other", async () => {
    const { program, url } = await setupProgram({
      config: { endpoints: { mcp: { path: "/mcp" }, other: { path: "/other" } } },
    });
    const tokens = await program.tokens();
    expect((await ask(`${url}/mcp`, tokens.access_token)).status).toBe(200);
    expect(
      (await ask(`${url}/other`, tokens.access_token, { method: "POST", body: "{}" })).status,
    ).toBe(401);
    expect((await ask(`${url}/who`, tokens.access_token)).status).toBe(401);
  });

  it.each([undefined, "https://evil.example/mcp", "not a url"])(
    "is not made for the resource %s where there are several",
    async (resource) => {
      const { program } = await setupProgram({
        config: { endpoints: { mcp: { path: "/mcp" }, other: { path: "/other" } } },
      });
      const words = "The parameter resource must be the URL of an endpoint of this gateway.";
      await expect(program.login({}, { resource })).rejects.toThrow(words);
    },
  );

  it("has the scopes that the person's roles cover, and less at a refresh that asks for less", async () => {
    const { program, provider, url } = await setupProgram({
      resource: { scopes: { look: "viewer", "mcp:call": "caller", "mcp:operate": "operator" } },
      options: { roles: { caller: { groups: ["staff"] }, operator: { groups: ["admins"] } } },
    });
    provider.accounts["ada"] = { groups: ["staff"] };
    provider.accounts["eve"] = { groups: ["guests"] };
    provider.accounts["root"] = { groups: ["admins"] };
    const all = "look mcp:call mcp:operate mcp:nothing";
    const tokens = await program.tokens({ name: "ada" }, { scope: all });
    expect(tokens.scope).toBe("look mcp:call");
    expect((await ask(`${url}/operate`, tokens.access_token)).status).toBe(401);
    const less = (await program.refresh(tokens.refresh_token!, { scope: "look mcp:operate" })).body;
    expect(less.scope).toBe("look");
    program.browser = newBrowser();
    expect((await program.tokens({ name: "root" }, { scope: all })).scope).toBe(
      all.replace(" mcp:nothing", ""),
    );
    program.browser = newBrowser();
    await expect(program.login({ name: "eve" }, { scope: all })).rejects.toThrow(
      "The person may not use this gateway, or not with these rights.",
    );
  });
});
