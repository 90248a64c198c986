import { describe, expect, it } from "vitest";
import { makeAccounts, type Received, type RunningIssuer, startIssuer } from "./issuer.ts";

interface People extends RunningIssuer {
  /** Makes a token of ada, and tells its id and how it asks the administration. */
  readonly make: (input: object) => Promise<Holder>;
  /** Whether a secret is let in at all. */
  readonly counts: (secret: string) => Promise<boolean>;
}

interface Holder {
  readonly id: string;
  readonly secret: string;
  readonly ask: (method: string, path: string, body?: unknown) => Promise<Received>;
}

/** ada owns lib-a and lib-secret, otto owns lib-o. */
async function startPeople(): Promise<People> {
  const issuer = await startIssuer();
  const { admin, send } = issuer;
  for (const id of ["ada", "bob", "otto"]) await admin("POST", "/users", { body: { id } });
  for (const [uid, owner] of [
    ["lib-a", "ada"],
    ["lib-secret", "ada"],
    ["lib-o", "otto"],
  ])
    await admin("POST", "/libraries", { body: { uid, owner } });
  const make: People["make"] = async (input) => {
    const made = await admin("POST", "/tokens", { body: { user: "ada", name: "t", ...input } });
    expect(made.status).toBe(201);
    const { secret, token } = made.body as { secret: string; token: { id: string } };
    const ask: Holder["ask"] = (method, path, body) =>
      admin(method, path, { bearer: secret, body });
    return { id: token.id, secret, ask };
  };
  const counts: People["counts"] = async (bearer) => {
    const answer = await send("GET", "/mcp_server/api/teams/x", { bearer });
    return answer.status !== 401;
  };
  return { ...issuer, make, counts };
}

const later = (ms: number): string => new Date(Date.now() + ms).toISOString();
const statusOf = ({ status, body }: Received): string =>
  `${status} ${String(body.error?.code ?? "ok")}`;

it("the user and the kind of a token stay what they were", async () => {
  const { admin, make } = await startPeople();
  const { id } = await make({ libraries: ["lib-a"] });
  for (const change of [{ user: "otto" }, { kind: "admin" }, { name: "u", user: "otto" }])
    expect((await admin("PATCH", `/tokens/${id}`, { body: change })).status).toBe(422);
  const listed = await admin("GET", "/tokens?user=ada");
  expect(JSON.stringify(listed.body)).toContain(id);
});

describe("attacks S1-6: a token that reads", () => {
  it("T1: makes no token, whatever it would see and however long", async () => {
    const { make } = await startPeople();
    const narrow = await make({ libraries: ["lib-a"], expires_at: later(60_000) });
    for (const input of [
      { libraries: ["lib-secret"] },
      { libraries: ["lib-a"] },
      { libraries: ["lib-a"], expires_at: later(30_000) },
      { kind: "admin" },
    ]) {
      const made = await narrow.ask("POST", "/tokens", { user: "ada", name: "t", ...input });
      expect(statusOf(made)).toBe("403 forbidden");
    }
    expect(statusOf(await narrow.ask("POST", `/tokens/${narrow.id}/replace`))).toBe(
      "403 forbidden",
    );
  });

  it("T2: neither widens nor prolongs itself, and may narrow, shorten and revoke itself", async () => {
    const { make, counts, admin } = await startPeople();
    const token = await make({ libraries: ["lib-a", "lib-secret"], expires_at: later(60_000) });
    const change = (body: object): Promise<Received> =>
      token.ask("PATCH", `/tokens/${token.id}`, body);
    expect(statusOf(await change({ expires_at: "2099-01-01T00:00:00Z" }))).toBe("403 forbidden");
    expect((await change({ libraries: ["lib-a"], expires_at: later(30_000) })).status).toBe(200);
    expect(statusOf(await change({ libraries: ["lib-a", "lib-secret"] }))).toBe("403 forbidden");
    expect(statusOf(await change({ expires_at: later(60_000) }))).toBe("403 forbidden");
    const seen = await admin("GET", `/tokens/${token.id}`);
    expect(seen.body.libraries).toEqual(["lib-a"]);
    expect((await token.ask("DELETE", `/tokens/${token.id}`)).status).toBe(200);
    expect(await counts(token.secret)).toBe(false);
  });

  it("T2c: changes no library and grants nothing, of whatever its user owns", async () => {
    const { make, admin } = await startPeople();
    const token = await make({ libraries: ["lib-a"] });
    const asked = [
      ["POST", "/memberships", { user: "bob", library: "lib-secret", role: "owner" }],
      ["POST", "/memberships", { user: "bob", library: "lib-a", role: "reader" }],
      ["DELETE", "/memberships?user=ada&library=lib-a&role=owner"],
      ["PATCH", "/libraries/lib-a", { name: "mine" }],
      ["DELETE", "/libraries/lib-a"],
      ["GET", "/libraries"],
      ["GET", "/memberships"],
      ["GET", "/libraries?scopable=ada"],
      ["GET", "/pages/libraries"],
      ["GET", "/pages/users"],
      ["GET", "/pages/teams"],
      ["GET", "/pages/accounts"],
      ["GET", "/pages/audit"],
      ["GET", "/pages/audit/verdict"],
    ] as const;
    for (const [method, path, body] of asked)
      expect([path, statusOf(await token.ask(method, path, body))]).toEqual([
        path,
        "403 forbidden",
      ]);
    const { body } = await admin("GET", "/memberships?library=lib-a");
    expect(body.memberships).toHaveLength(1);
  });

  it("T2c (sibling: pages): learns nothing there of what its user owns", async () => {
    const { make, admin } = await startPeople();
    const token = await make({ libraries: ["lib-a"] });
    const other = await make({ libraries: ["lib-secret"] });
    await admin("PATCH", "/libraries/lib-secret", { body: { workspace_id: "ws-secret" } });
    await admin("POST", "/memberships", {
      body: { user: "ada", library: "lib-secret", role: "reader" },
    });
    const own = await token.ask("GET", `/pages/tokens/${token.id}/libraries`);
    expect([own.status, own.body]).toEqual([200, { libraries: ["lib-a"] }]);
    expect(statusOf(await token.ask("GET", `/pages/tokens/${other.id}/libraries`))).toBe(
      "404 not_found",
    );
    const listed = await token.ask("GET", "/pages/tokens");
    expect((listed.body.tokens as Holder[]).map(({ id }) => id)).toEqual([token.id]);

    const hits = (of: string, row = "", value: object = {}): Promise<Received> =>
      token.ask(
        "GET",
        `/pages/hits?of=${of}${row}&value=${encodeURIComponent(JSON.stringify(value))}`,
      );
    for (const asked of [
      hits("team+workspaces", "", { workspace_ids: ["ws-secret"] }),
      hits("member+revoke", "&user=ada&library=lib-secret&role=reader"),
      hits("library+remove", "&uid=lib-secret"),
      hits("library+change", "&uid=lib-secret", { workspace_id: "x" }),
      hits("user+remove", "&id=ada"),
      hits("key+retire", "&kid=x"),
    ])
      expect(statusOf(await asked)).toBe("403 forbidden");
    const narrowed = await hits("token+scope", `&id=${token.id}`, { libraries: [] });
    expect(narrowed.body.about).toEqual([{ text: "The token", names: ["loses lib-a"] }]);
    expect((await hits("token+revoke", `&id=${other.id}`)).body).toEqual({ about: [] });
  });

  it("sees itself alone: other tokens of its user are not there", async () => {
    const { make } = await startPeople();
    const token = await make({ libraries: ["lib-a"] });
    const other = await make({ libraries: ["lib-secret"] });
    const { body } = await token.ask("GET", "/tokens");
    expect((body.tokens as Holder[]).map(({ id }) => id)).toEqual([token.id]);
    for (const [method, path] of [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
    ]) {
      const answers = await Promise.all(
        [other.id, "nothere0"].map((id) =>
          token.ask(
            method!,
            `/tokens/${id}${path}`,
            method === "PATCH" ? { name: "x" } : undefined,
          ),
        ),
      );
      expect(answers.map(statusOf)).toEqual(["404 not_found", "404 not_found"]);
      expect(answers[0]!.body).toEqual(answers[1]!.body);
    }
  });
});

describe("attacks S1-6: what is revoked or replaced", () => {
  it("T3, T3b: stays so, for a token of its user and for an admin", async () => {
    const { make, admin, counts } = await startPeople();
    const console_ = await make({ kind: "admin" });
    const revoked = await make({ libraries: ["lib-a"] });
    const replaced = await make({ libraries: ["lib-a"] });
    const off = await make({ libraries: ["lib-a"] });
    await admin("DELETE", `/tokens/${revoked.id}`);
    await admin("POST", `/tokens/${replaced.id}/replace`);
    await admin("PATCH", `/tokens/${off.id}`, { body: { active: false } });
    for (const { id, secret } of [revoked, replaced, off]) {
      expect(await counts(secret)).toBe(false);
      const body = { active: true };
      expect(statusOf(await console_.ask("PATCH", `/tokens/${id}`, body))).toBe("422 invalid");
      expect(statusOf(await admin("PATCH", `/tokens/${id}`, { body }))).toBe("422 invalid");
      expect(statusOf(await admin("POST", `/tokens/${id}/replace`))).toBe("422 invalid");
      expect(await counts(secret)).toBe(false);
    }
  });

  it("makes nothing any more, also by a request that was let in before", async () => {
    const { make, admin } = await startPeople();
    const console_ = await make({ kind: "admin" });
    const asked = Array.from({ length: 20 }, (_, each) =>
      console_.ask("POST", "/tokens", { user: "ada", name: `late ${each}` }),
    );
    const revoked = await admin("DELETE", `/tokens/${console_.id}`);
    expect(revoked.status).toBe(200);
    const then = (await admin("GET", "/tokens?user=ada")).body.tokens as Holder[];
    await Promise.all(asked);
    const now = (await admin("GET", "/tokens?user=ada")).body.tokens as Holder[];
    expect(now.length).toBe(then.length);
  });
});

describe("a token that administrates", () => {
  it("is made by admins alone, sees no library, and cannot touch itself or another one", async () => {
    const { make, admin } = await startPeople();
    const first = await make({ kind: "admin", expires_at: later(60_000) });
    const second = await make({ kind: "admin" });
    const body = { user: "ada", name: "t", kind: "admin", libraries: ["lib-a"] };
    expect(statusOf(await admin("POST", "/tokens", { body }))).toBe("422 invalid");
    const input = { user: "ada", name: "t", kind: "admin" };
    expect(statusOf(await first.ask("POST", "/tokens", input))).toBe("403 forbidden");
    for (const { id } of [first, second]) {
      const change = { expires_at: "2099-01-01T00:00:00Z" };
      expect(statusOf(await first.ask("PATCH", `/tokens/${id}`, change))).toBe("403 forbidden");
      expect(statusOf(await first.ask("POST", `/tokens/${id}/replace`))).toBe("403 forbidden");
    }
    expect(statusOf(await first.ask("DELETE", `/tokens/${second.id}`))).toBe("403 forbidden");
    expect((await first.ask("DELETE", `/tokens/${first.id}`)).status).toBe(200);
  });

  it("makes what ends with it at the latest, and prolongs nothing beyond", async () => {
    const { make } = await startPeople();
    const end = later(60_000);
    const console_ = await make({ kind: "admin", expires_at: end });
    const made = await console_.ask("POST", "/tokens", {
      user: "ada",
      name: "t",
      libraries: ["lib-a"],
    });
    expect([made.status, made.body.token.expires_at]).toEqual([201, end]);
    const input = { user: "ada", name: "t", expires_at: later(120_000) };
    expect(statusOf(await console_.ask("POST", "/tokens", input))).toBe("403 forbidden");
    const { id } = made.body.token as Holder;
    const change = { expires_at: later(120_000) };
    expect(statusOf(await console_.ask("PATCH", `/tokens/${id}`, change))).toBe("403 forbidden");
    const endless = await make({ libraries: ["lib-a"] });
    const replaced = await console_.ask("POST", `/tokens/${endless.id}/replace`);
    expect([replaced.status, replaced.body.token.expires_at]).toEqual([201, end]);
  });

  it("attacks S1-6 (sibling: end): adds a library only to what ends with it", async () => {
    const { make } = await startPeople();
    const end = later(60_000);
    const console_ = await make({ kind: "admin", expires_at: end });
    const change = async (id: string, body: object): Promise<string> =>
      statusOf(await console_.ask("PATCH", `/tokens/${id}`, body));
    const libraries = ["lib-a", "lib-secret"];
    for (const expires_at of [undefined, later(120_000)]) {
      const held = await make({ libraries: ["lib-a"], ...(expires_at && { expires_at }) });
      expect(await change(held.id, { libraries })).toBe("403 forbidden");
      expect((await console_.ask("GET", `/tokens/${held.id}`)).body.libraries).toEqual(["lib-a"]);
      expect(await change(held.id, { name: "other", libraries: [] })).toMatch(/^200/);
      expect(await change(held.id, { libraries: ["lib-a"], expires_at: end })).toMatch(/^200/);
    }
    const short = await make({ libraries: ["lib-a"], expires_at: later(30_000) });
    expect(await change(short.id, { libraries })).toMatch(/^200/);
    const endless = await make({ kind: "admin" });
    const held = await make({ libraries: ["lib-a"] });
    expect(statusOf(await endless.ask("PATCH", `/tokens/${held.id}`, { libraries }))).toMatch(
      /^200/,
    );
  });

  it("S3-5: is told nothing of what is not its user's", async () => {
    const { make, admin } = await startPeople();
    const console_ = await make({ kind: "admin" });
    const { body: foreign } = await admin("POST", "/tokens", {
      body: { user: "otto", name: "t", libraries: ["lib-o"] },
    });
    const pairs: (readonly [string, readonly string[], object?])[] = [
      ["GET", [`/tokens/${foreign.token.id as string}`, "/tokens/nothere0"]],
      ["PATCH", [`/tokens/${foreign.token.id as string}`, "/tokens/nothere0"], { name: "x" }],
      ["DELETE", [`/tokens/${foreign.token.id as string}`, "/tokens/nothere0"]],
      ["GET", ["/tokens?user=otto", "/tokens?user=nobody"]],
      ["GET", ["/libraries?scopable=otto", "/libraries?scopable=nobody"]],
      ["GET", ["/memberships?user=otto", "/memberships?user=nobody"]],
      ["GET", ["/memberships?library=lib-o", "/memberships?library=lib-x"]],
      ["PATCH", ["/libraries/lib-o", "/libraries/lib-x"], { name: "x" }],
      ["DELETE", ["/libraries/lib-o", "/libraries/lib-x"]],
    ];
    for (const [method, paths, body] of pairs) {
      const [there, unknown] = await Promise.all(
        paths.map((path) => console_.ask(method, path, body)),
      );
      expect([paths[0], there!.status, there!.body]).toEqual([
        paths[0],
        unknown!.status,
        unknown!.body,
      ]);
    }
    const mint = (input: object): Promise<Received> =>
      console_.ask("POST", "/tokens", { user: "ada", name: "t", ...input });
    const [there, unknown] = await Promise.all(
      ["lib-o", "lib-x"].map((library) => mint({ libraries: ["lib-a", library] })),
    );
    expect([there!.status, there!.body]).toEqual([unknown!.status, unknown!.body]);
    const users = await Promise.all(["otto", "nobody"].map((user) => mint({ user })));
    expect(users[0]!.body).toEqual(users[1]!.body);
  });

  it("is named by the audit as the one that made a change", async () => {
    const { make, admin } = await startPeople();
    const console_ = await make({ kind: "admin" });
    await console_.ask("POST", "/tokens", { user: "ada", name: "t" });
    const { body } = await admin("GET", "/audit?newest=1");
    const row = JSON.parse(body as string) as { actor: string; details: string };
    const details = JSON.parse(row.details) as { by?: string };
    expect([row.actor, details.by]).toEqual(["user:ada", `token:${console_.id}`]);
  });
});

describe("requirements F6: names of service accounts", () => {
  const PATH = "/mcp_server/api/teams/x";
  const wrong = (name: string): Record<string, string> => ({
    authorization: `Basic ${Buffer.from(`${name}:a wrong password`).toString("base64")}`,
  });

  it.each([PATH, "/_meta/team-auth/users", "/mcp"])(
    "are told at %s neither by words nor by the challenge",
    async (path) => {
      const issuer = await startIssuer();
      await makeAccounts(issuer, "console");
      const ask = (name: string): Promise<Received> =>
        issuer.send("GET", path, { bearer: null, headers: wrong(name) });
      const [there, unknown] = [await ask("console"), await ask("nobody")];
      const seen = ({ status, headers, body }: Received): unknown => [
        status,
        headers.get("www-authenticate"),
        body,
      ];
      expect(there.status).toBe(401);
      expect(seen(there)).toEqual(seen(unknown));
      const silent = await issuer.send("GET", PATH, { bearer: null });
      expect(silent.headers.get("www-authenticate")).toBe(
        'Basic realm="propylon", charset="UTF-8"',
      );
    },
  );

  it("are not told by the time either", async () => {
    const issuer = await startIssuer();
    await makeAccounts(issuer, ...Array.from({ length: 6 }, (_, each) => `console-${each}`));
    const times: Record<string, number[]> = { console: [], nobody: [] };
    for (let round = 0; round < 24; round++)
      for (const name of round % 2 === 0 ? ["console", "nobody"] : ["nobody", "console"]) {
        const begun = process.cpuUsage();
        const headers = wrong(`${name}-${round % 6}`);
        await issuer.send("GET", PATH, { bearer: null, headers });
        const { user, system } = process.cpuUsage(begun);
        times[name]!.push(user + system);
      }
    // The time of the processor, since other programs hold up an answer at random; what else this one does only ever adds to it.
    const [there, unknown] = Object.values(times).map((all) => all.toSorted((a, b) => a - b)[3]!);
    expect(unknown! / there!).toBeGreaterThan(0.6);
    expect(unknown! / there!).toBeLessThan(1.6);
  });
});
